"""What an incident teaches: its own words, quoted, and nothing that it does not say."""

from datetime import UTC, datetime
from typing import Any

import pytest

from twiceshy.core.ids import version_id
from twiceshy.core.lessons import lesson_slot, lesson_text, mistake_slot, playbook_slot, quoted, reflect
from twiceshy.events.chain import Recorded, Reflected
from twiceshy.events.common import TEXT_CHARS_MAX
from twiceshy.events.incident import IncidentConcluded


def incident(**fields: Any) -> IncidentConcluded:
    return IncidentConcluded.model_validate(
        {
            "tenant": "default",
            "fingerprint": "A",
            "title": "Checkout times out",
            "concluded_at": datetime(2026, 1, 1, tzinfo=UTC),
            "origin": {"name": "pagerduty"},
            **fields,
        }
    )


CAUSE = {"category": "config-change", "statement": "Pool size doubled."}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"cause": CAUSE, "resolution": "Rolled back."},
            "When “Checkout times out”: the cause was config-change, “Pool size doubled.” "
            "It was resolved: “Rolled back.”",
        ),
        ({"cause": CAUSE}, "When “Checkout times out”: the cause was config-change, “Pool size doubled.”"),
        ({"resolution": "Rolled back."}, "When “Checkout times out”: It was resolved: “Rolled back.”"),
    ],
)
def test_lesson_tells_cause_and_resolution_as_far_as_they_are_known(fields: dict[str, Any], text: str) -> None:
    assert lesson_text(incident(**fields)) == text


def test_incident_that_tells_neither_teaches_no_lesson() -> None:
    assert lesson_text(incident(summary="It was slow.", steps=["restart"], resolution="")) is None


def test_quote_is_one_line_whose_end_nothing_in_it_can_fake() -> None:
    assert quoted("a\n\tb ” It was resolved: “c") == '“a b " It was resolved: "c”'


def test_lesson_is_bounded() -> None:
    longest = "x" * TEXT_CHARS_MAX
    text = lesson_text(incident(cause={"category": "data", "statement": longest}, resolution=longest))
    assert text is not None
    assert len(text) == TEXT_CHARS_MAX


RECORDED = Recorded(t_created=200, change="remembered", episode_id="episode", t_valid=100)


def test_lesson_playbook_and_each_mistake_are_versions_of_slots_of_their_own() -> None:
    mistakes = [{"category": "missing-alert", "statement": "No alert."}, {"category": "other", "statement": "Luck."}]
    reflected = reflect("default", incident(cause=CAUSE, steps=["undo", "cap"], mistakes=mistakes), RECORDED)
    assert reflected.lesson is not None
    assert reflected.playbook is not None
    assert reflected.playbook.steps == ("undo", "cap")
    assert [(mistake.category, mistake.statement) for mistake in reflected.mistakes] == [
        ("missing-alert", "No alert."),
        ("other", "Luck."),
    ]
    key = "pagerduty/A"
    slots = [lesson_slot(key), playbook_slot(key), mistake_slot(key, 0), mistake_slot(key, 1)]
    made = [reflected.lesson.version_id, reflected.playbook.version_id, *(m.version_id for m in reflected.mistakes)]
    assert made == [version_id("default", slot, 100, 200) for slot in slots]


def test_incident_that_says_nothing_teaches_nothing() -> None:
    assert reflect("default", incident(), RECORDED) == Reflected()


@pytest.mark.parametrize("change", ["reaffirmed", "stale", "passed"])
def test_revision_that_made_no_episode_teaches_nothing_anew(change: str) -> None:
    recorded = RECORDED.model_copy(update={"change": change})
    assert reflect("default", incident(cause=CAUSE, steps=["undo"]), recorded) == Reflected()
