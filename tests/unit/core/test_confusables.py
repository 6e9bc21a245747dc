"""What a text reads as, whatever it is written with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core.confusables import folded


@pytest.mark.parametrize(
    "text", ["system", "SYSTEM", "ｓｙｓｔｅｍ", "𝐬𝐲𝐬𝐭𝐞𝐦", "ѕуѕтем", "Ꮪystem", "🅢🅨🅢🅣🅔🅜", "s̶y̶s̶t̶e̶m̶", "ṡÿštėm", "ꜱʏꜱᴛᴇᴍ"]
)
def test_what_looks_alike_folds_alike(text: str) -> None:
    assert folded(text).text == "system"


@pytest.mark.parametrize("text", ["0o0", "OoΟ", "𝟎о〇", "⓿օ०"])
def test_letters_and_digits_that_look_alike_are_one(text: str) -> None:
    assert folded(text).text == "ooo"


@pytest.mark.parametrize("letter", "：﹕︓︰׃܃܄ःઃ։∶ꓽ")
def test_a_sign_that_looks_like_a_colon_is_one(letter: str) -> None:
    assert folded(letter).text == ":"


def test_a_position_leads_back_to_what_was_written() -> None:
    told = folded("aﬁx\u0301Ъ")
    assert (told.text, list(told.positions)) == ("aflxъ", [0, 1, 1, 2, 4])


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=20))
def test_a_folded_text_is_as_it_is(text: str) -> None:
    told = folded(text)
    assert folded(told.text).text == told.text
    assert len(told.positions) == len(told.text)
    assert all(0 <= position < len(text) for position in told.positions)
    assert list(told.positions) == sorted(told.positions)
