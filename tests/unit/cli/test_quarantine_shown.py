"""Text that is held back, on a terminal: nothing in it acts, and nothing in it hides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiceshy.cli.quarantine_shown import marked


@given(st.text())
def test_nothing_is_printed_but_what_can_be_seen(text: str) -> None:
    assert all(letter.isprintable() or letter == "\n" for letter in marked(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kube\u200bctl", "kube‹U+200B›ctl"),
        ("\x1b[2Jgone", "‹U+001B›[2Jgone"),
        ("a\u202eb", "a‹U+202E›b"),
        ("\U000e0049gnore", "‹U+E0049›gnore"),
        ("ok\ufe0f", "ok‹U+FE0F›"),
        ("\u3164", "‹U+3164›"),
        ("two\nlines", "two\nlines"),
        ("naïve 数据库 😀", "naïve 数据库 😀"),
    ],
)
def test_what_cannot_be_seen_is_written_as_its_code(text: str, shown: str) -> None:
    assert marked(text) == shown
