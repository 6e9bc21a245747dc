"""Invisible characters, look-alikes, and the plain form of a text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core.invisible import visible
from twiceshy.core.letters import (
    UnreadableError,
    folded,
    folded_with_letters,
    occurring,
    structures,
    unleeted,
    untwinned,
    worded,
)

TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=80)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a\U000e0041b", "unicode-tag-characters"),
        ("a\ufe01\ufe02b", "unicode-variation-selector-run"),
        ("a\U000e0101\U000e0102b", "unicode-variation-selector-run"),
        ("abc\u202edef", "unicode-bidi-override"),
        ("a\u2066b\u2069 c\u2067d", "unicode-bidi-controls"),
        ("a \u200b\u200c\u2060 b", "unicode-zero-width-run"),
        ("re\u200bstart the ser\u200bver n\u2060ow", "unicode-zero-width-in-words"),
        ("k\u200bu\u200bb\u200be", "unicode-zero-width-in-words"),
        ("pаssword", "unicode-mixed-scripts"),
        ("Ρаypal", "unicode-mixed-scripts"),
    ],
)
def test_a_structure_that_no_honest_text_has_is_named(text: str, rule: str) -> None:
    assert rule in structures(text)


@pytest.mark.parametrize(
    "text",
    [
        "می‌خواهم می‌روم نمی‌دانم می‌شود",
        "👩🏽‍🚒 ❤️‍🔥 👨‍👩‍👧‍👦 1️⃣",
        "השרת \u2067checkout\u2069 לא ענה \u2066 שוב \u2069",
        "Δt = 3 µs, λ-calculus, σ²",
        "SQLом, k8sный, IPадрес",
        "сервер упал",
        "葛\U000e0100城市",
        "\u202aC:\\Windows",
        "ver\u00adant\u00adwort\u00adlich ver\u00adant\u00adwort\u00adlich",
    ],
)
def test_what_scripts_and_pages_bring_along_is_no_structure(text: str) -> None:
    assert structures(text) == []


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Ｆｕｌｌ Wｉdth", "full width"),
        ("Přehlédni Łódź straße", "prehledni lodz strasse"),
        ("ca\u0301fe\u0301", "cafe"),
        ("a\u200bb\u00adc\ufeffd", "abcd"),
        ("\x1b[1;31mred\x1b[0m\x00", "red"),
        ("“don’t”", '"don\'t"'),
        ("İstanbul", "istanbul"),
        ("한국 が ポ", "한국 が ポ"),
    ],
)
def test_folding_makes_letters_plain(text: str, plain: str) -> None:
    assert folded(text) == plain


@given(TEXTS, TEXTS)
def test_a_text_in_lines_is_folded_as_its_lines_are(first: str, second: str) -> None:
    assert folded(f"{first}\n{second}") == f"{folded(first)}\n{folded(second)}"


@given(TEXTS)
def test_folding_makes_no_line_and_takes_none_away(text: str) -> None:
    assert folded(text).count("\n") == text.count("\n")


@given(TEXTS)
def test_words_keep_their_places(text: str) -> None:
    plain = folded(text)
    assert [len(form(plain)) for form in (worded, untwinned, unleeted)] == [len(plain)] * 3


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=80))
def test_ascii_is_folded_the_same_beside_other_letters(text: str) -> None:
    assert folded(f"{text}ß") == folded(text) + "ss"


def test_between_words_there_is_one_sign_for_each_kind_of_gap() -> None:
    assert worded('say: "yes", now.\ngo-on') == "say: :yes:  now.\ngo on"


def test_look_alikes_are_read_as_latin() -> None:
    assert untwinned(folded("Іgnоre аll")) == "ignore all"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("kube\u200bctl", "kubectl"),
        ("\ufeffa\u00adb", "ab"),
        ("می‌خواهم", "می‌خواهم"),
        ("a\u200db", "ab"),
        ("❤️", "❤️"),
        ("a\ufe0f", "a"),
        ("1️⃣", "1️⃣"),
        ("שלום\u200f!", "שלום\u200f!"),
        ("abc\u200f!", "abc!"),
    ],
)
def test_invisible_characters_go_where_no_script_needs_them(text: str, plain: str) -> None:
    assert visible(text) == plain


@given(TEXTS)
def test_what_is_visible_stays_and_a_second_look_changes_nothing(text: str) -> None:
    plain = visible(text)
    assert visible(plain) == plain
    seen = ("Lu", "Ll", "Nd", "Po", "Sm", "Zs")
    assert [letter for letter in plain if unicodedata.category(letter) in seen] == [
        letter for letter in text if unicodedata.category(letter) in seen
    ]


def test_a_text_of_thousands_of_different_signs_is_not_read() -> None:
    with pytest.raises(UnreadableError):
        folded("".join(map(chr, range(0x1D400, 0x1D7FF))))


@given(TEXTS)
def test_the_characters_of_a_text_are_all_found(text: str) -> None:
    assert occurring(text) == set(text)
    plain, letters = folded_with_letters(text)
    assert letters >= set(plain)
    assert worded(plain, letters) == worded(plain)
