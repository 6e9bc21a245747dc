"""Words of a trick in disguise: the cheap look at a text sees all that there is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core.disguises import may_be_disguised, undisguises
from twiceshy.core.letters import unleeted
from twiceshy.core.views import WITHIN_WORDS, unmarked

WORDS = ("ignore", "override", "previous", "never", "user", "users")
PARTS = st.sampled_from((*WITHIN_WORDS, "\r", "\n", " ", "<b>", "<", "x"))


def spread(word: str, inserted: list[tuple[int, str]]) -> str:
    for place, part in inserted:
        at = place % (len(word) + 1)
        word = word[:at] + part + word[at:]
    return word


@given(st.sampled_from(WORDS), st.lists(st.tuples(st.integers(0, 20), PARTS), max_size=4))
def test_what_may_be_disguised_is_all_that_can_be_put_together(word: str, inserted: list[tuple[int, str]]) -> None:
    text = spread(word, inserted)
    assert may_be_disguised(text) or not undisguises(text, unmarked(text))


@given(st.sampled_from(WORDS), st.lists(st.integers(0, 20), max_size=3))
def test_words_with_digits_may_be_disguised(word: str, places: list[int]) -> None:
    digits = str.maketrans("oieast", "013457")
    for place in places:
        at = place % len(word)
        word = word[:at] + word[at].translate(digits) + word[at + 1 :]
    assert may_be_disguised(word) == undisguises(word, unleeted(word))


@pytest.mark.parametrize(
    "text", ["config-change of pool_size", "the previous version 2.0.1 (5)", "a user's v1 - never"]
)
def test_honest_signs_and_digits_need_no_second_look(text: str) -> None:
    assert not may_be_disguised(text)
