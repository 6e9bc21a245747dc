"""When a question is new to memory."""

import pytest

from twiceshy.core.lexical import spellings
from twiceshy.core.novelty import share, shared, similar


def test_shared_words_are_told_as_the_query_has_them() -> None:
    query = spellings("Redis lost its pools, redis restarts")
    assert shared(query, "The redis pool was restarted") == ("redis", "pools")


def test_share_is_that_of_the_item_with_most_words() -> None:
    query = spellings("certificate expired on the gateway")
    assert share(query, [("certificate",), ("certificate", "gateway"), ()]) == pytest.approx(2 / 3)


def test_share_of_nothing_is_zero() -> None:
    assert share({}, [("a",)]) == 0.0
    assert share({"a": "a"}, []) == 0.0


@pytest.mark.parametrize(
    ("cosine", "words", "expected"),
    [
        (0.36, 0.0, True),
        (0.30, 0.0, False),
        (0.30, 0.5, True),
        (0.20, 0.5, False),
        (0.16, 0.9, False),
        (0.0, 1.0, True),
        (0.08, 0.2, False),
    ],
)
def test_cosine_and_words_make_up_for_each_other(cosine: float, words: float, expected: bool) -> None:
    assert similar(cosine, words, similarity=0.25) is expected


def test_more_of_either_never_makes_a_question_new() -> None:
    for step in range(20):
        cosine, words = step / 20, step / 20
        if similar(cosine, words, 0.25):
            assert similar(cosine + 0.05, words, 0.25)
            assert similar(cosine, words + 0.05, 0.25)
