"""What is told of an item whose event comes again: how it stands by now."""

import pytest

from tests.held import item, outcomes, values
from twiceshy.events.quarantine import AuditRecorded, IncidentQuarantined, QuarantineState
from twiceshy.stream.topics import TOPICS
from workers.guard_settled import held

TENANT = "payments"
AT = 1_800_000_000_000


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (QuarantineState.PENDING, ("quarantined", "override", "It is held until a person decides on it: ")),
        (QuarantineState.REJECTED, ("rejected", "quarantine_reject", "A person looked at it, ")),
        (QuarantineState.EXPIRED, ("rejected", "quarantine_expired", "Nobody decided on it in time. ")),
    ],
)
def test_outcome_of_an_event_that_is_held_says_how_its_item_stands(
    state: QuarantineState, told: tuple[str, str, str]
) -> None:
    one = item(1, TENANT, state=state)
    [outcome] = outcomes(held(one, AT))
    assert (outcome.outcome, outcome.reason, (outcome.detail or "")[: len(told[2])]) == told
    assert (outcome.event_id, outcome.origin) == (one.event_id, "pagerduty")


def test_of_an_item_that_was_released_no_outcome_is_told_but_memorys() -> None:
    one = item(1, TENANT, state=QuarantineState.RELEASED)
    outputs = held(one, AT)
    assert outcomes(outputs) == []
    [said] = values(outputs, TOPICS.incidents_quarantined)
    assert IncidentQuarantined.model_validate_json(said) == one
    [audit] = [AuditRecorded.model_validate_json(value) for value in values(outputs, TOPICS.audit)]
    assert (audit.kind, audit.subject_id, audit.at) == ("prompt_injection", one.item_id, AT)
