"""Text that is held back, on a terminal: nothing in it acts, and nothing in it hides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.held import item
from twiceshy.cli.quarantine_shown import mark_line, marked
from twiceshy.core.quarantine import mark
from twiceshy.events.quarantine import IncidentQuarantined, QuarantineState


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


def test_group_that_was_shown_is_told_with_the_mark_to_decide_on_it_by() -> None:
    shown = [item(1, "payments"), item(2, "payments")]
    assert mark_line(shown) == (
        "To approve or deny these 2 items as all of the group, which is refused when it has others by then: "
        f"--group pagerduty 'checkout times out @ service:checkout' --seen {mark(shown)}"
    )
    out = [item(1, "payments", state=QuarantineState.REJECTED), item(2, "payments", state=QuarantineState.EXPIRED)]
    assert (mark_line(out) or "").startswith("To reopen these 2 items as all of the group")
    assert (mark_line(shown[:1]) or "").startswith("To approve or deny this item as all of the group")


@pytest.mark.parametrize(
    "shown",
    [
        [],
        [item(1, "payments"), item(2, "payments", subject="another")],
        [item(1, "payments"), item(2, "payments", state=QuarantineState.EXPIRED)],
        [item(1, "payments", state=QuarantineState.RELEASED)],
    ],
    ids=["nothing", "two groups", "two decisions", "released"],
)
def test_what_no_one_decision_is_about_has_no_mark(shown: list[IncidentQuarantined]) -> None:
    assert mark_line(shown) is None
