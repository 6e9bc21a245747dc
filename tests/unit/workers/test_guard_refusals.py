"""What guard refuses before it asks any store, and that its producer is told which field to change."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.incidents import incident
from tests.records import NOW, SOURCE, Clock, body, enveloped, record, structured
from twiceshy.core.ids import event_id
from twiceshy.errors import PoisonError
from twiceshy.events.common import EVENT_BYTES_MAX, instant
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.settings import Settings
from twiceshy.stores.connection import connect
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.notes import Progress
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.codec import encode
from twiceshy.stream.records import Record
from workers.guard import GuardStage

TENANT = "payments"


@pytest.fixture
def stage() -> GuardStage:
    """Its stores are nowhere: nothing here may ask one."""
    redis = connect("redis://127.0.0.1:1")

    async def log_end(partition: int) -> int:
        raise AssertionError

    return GuardStage(
        Settings(tenants=(TENANT,)),
        Decisions(redis),
        Quarantine(redis),
        Progress(redis, "none"),
        log_end,
        backfill=False,
        clock_ms=Clock(),
    )


@pytest.mark.parametrize("name", ["ce_id", "ce_source", "ce_type"])
def test_event_without_its_attributes_is_refused_by_name(stage: GuardStage, name: str) -> None:
    with pytest.raises(PoisonError, match=f"missing_header: Set the header {name}"):
        stage.decode(record(incident(1, TENANT), **{name: None}))


def test_event_of_another_type_is_refused(stage: GuardStage) -> None:
    with pytest.raises(PoisonError, match=r"unknown_type: This topic takes incident\.concluded\.v1, not 'x\.v1'"):
        stage.decode(record(incident(1, TENANT), ce_type=b"x.v1"))


def test_event_of_an_unknown_tenant_is_refused_with_how_to_add_it(stage: GuardStage) -> None:
    with pytest.raises(PoisonError, match=r"unknown_tenant: There is no tenant 'other'\. Add it to `tenants` in twice"):
        stage.decode(record(incident(1, "other")))


def test_event_over_the_limit_is_refused_before_it_is_read(stage: GuardStage) -> None:
    with pytest.raises(PoisonError, match=f"too_large: An event has at most {EVENT_BYTES_MAX} bytes: this one has"):
        stage.decode(record(b"x" * (EVENT_BYTES_MAX + 1)))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"title": ""}, "title: "),
        ({"title": None}, "title: "),
        ({"concluded_at": "2026-01-01T00:00:00"}, "concluded_at: "),
        ({"started_at": "2027-01-01T00:00:00Z"}, "started_at must not be later than concluded_at"),
        ({"origin": {}}, "origin.name: Field required"),
        ({"steps": ["x"] * 33}, "steps: "),
        ({"mistakes": [{"category": "bad luck", "statement": "x"}]}, "mistakes.0.category: "),
        ({"summary": "x" * 16_385}, "summary: "),
        ({"runbook": "x"}, "runbook: Extra inputs are not permitted"),
        (
            {"facts": [{"subject": "s", "predicate": "p", "object": "o", "valid_from": "2026-01-01T00:00:00Z",
                        "valid_to": "2026-01-01T00:00:00Z"}]},
            "facts.0: Value error, valid_to must be later than valid_from",
        ),
    ],
)  # fmt: skip
def test_event_that_breaks_the_schema_is_refused_by_field(
    stage: GuardStage, changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(PoisonError) as refused:
        stage.decode(record(body(TENANT, **changes)))
    assert refused.value.code == "schema"
    assert named in refused.value.detail


def test_event_of_the_day_after_tomorrow_is_refused_by_field(stage: GuardStage) -> None:
    ahead = instant(NOW + 24 * 3_600_000)
    stage.decode(record(incident(1, TENANT, concluded_at=ahead)))
    with pytest.raises(PoisonError, match="in_the_future: concluded_at is more than 24 h ahead"):
        stage.decode(record(incident(1, TENANT, concluded_at=ahead + timedelta(milliseconds=1))))
    fact = {"subject": "s", "predicate": "p", "object": "o", "valid_from": ahead + timedelta(milliseconds=1)}
    with pytest.raises(PoisonError, match=r"in_the_future: facts\.0\.valid_from is more than 24 h ahead"):
        stage.decode(record(incident(1, TENANT, facts=[fact])))


def test_outcome_of_what_is_refused_has_the_id_that_its_publisher_waits_for(stage: GuardStage) -> None:
    refused = record(body(TENANT, title=""))
    with pytest.raises(PoisonError) as raised:
        stage.decode(refused)
    [output, _] = stage.give_up(refused, raised.value)
    outcome = IncidentOutcome.model_validate_json(output.value or b"")
    assert (outcome.outcome, outcome.reason, outcome.tenant) == ("dead_lettered", "schema", TENANT)
    assert outcome.event_id == event_id(TENANT, SOURCE, "1", refused.value or b"")
    assert (outcome.detail or "").startswith("title: ")


@pytest.mark.parametrize("value", [b"", b"{", b"\xff", b"[]", b'{"tenant": 7}', b'{"tenant": "nobody"}', None])
@pytest.mark.parametrize("headers", [{}, {"ce_id": None, "ce_source": b"\xff"}])
def test_outcome_of_what_is_no_event_is_told_without_a_tenant(
    stage: GuardStage, value: bytes | None, headers: dict[str, Any]
) -> None:
    junk = record(value, **headers)
    with pytest.raises(PoisonError) as raised:
        stage.decode(junk)
    [output, _] = stage.give_up(junk, raised.value)
    assert IncidentOutcome.model_validate_json(output.value or b"").tenant is None


def test_outcome_can_be_told_whatever_a_field_is_called(stage: GuardStage) -> None:
    refused = record(body(TENANT, **{"x" * 100_000: 1}))
    with pytest.raises(PoisonError) as raised:
        stage.decode(refused)
    [output, _] = stage.give_up(refused, raised.value)
    assert IncidentOutcome.model_validate_json(output.value or b"").reason == "schema"


def told(stage: GuardStage, refused: Record) -> IncidentOutcome:
    """The outcome of a record that guard refuses."""
    with pytest.raises(PoisonError) as raised:
        stage.decode(refused)
    [output, _] = stage.give_up(refused, raised.value)
    return IncidentOutcome.model_validate_json(output.value or b"")


def test_incident_in_structured_mode_is_the_event_that_it_is_in_binary_mode(stage: GuardStage) -> None:
    said = incident(1, TENANT)
    assert stage.decode(structured(said)) == stage.decode(record(said))
    assert stage.decode(structured(body(TENANT))) == stage.decode(record(body(TENANT)))


def test_spacing_of_an_envelope_does_not_make_another_event(stage: GuardStage) -> None:
    dense = structured(incident(1, TENANT))
    spaced = enveloped(json.dumps(json.loads(dense.value or b""), indent=2).encode())
    assert stage.decode(spaced) == stage.decode(dense)


def test_refused_incident_in_structured_mode_has_the_same_outcome_as_in_binary_mode(stage: GuardStage) -> None:
    value = body(TENANT, title="")
    in_envelope = structured(value)
    assert told(stage, in_envelope) == told(stage, record(value))
    assert told(stage, replace(in_envelope, offset=99)) == told(stage, in_envelope)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"type": None}, "missing_attribute"),
        ({"specversion": "2.0"}, "unknown_specversion"),
        ({"type": "x.v1"}, "unknown_type"),
    ],
)
def test_outcome_of_a_refused_envelope_is_told_to_the_tenant_that_it_claims(
    stage: GuardStage, changes: dict[str, Any], reason: str
) -> None:
    said = incident(1, TENANT)
    outcome = told(stage, structured(said, **changes))
    assert (outcome.outcome, outcome.reason, outcome.tenant) == ("dead_lettered", reason, TENANT)
    assert outcome.event_id == event_id(TENANT, SOURCE, "1", encode(said))


@pytest.mark.parametrize(
    "value", [b"", b"{", b"[]", b"7", None, b'{"data": {"tenant": 7}}', b'{"data": 1, "data_base64": 2}']
)
def test_outcome_of_what_is_no_envelope_is_told_without_a_tenant(stage: GuardStage, value: bytes | None) -> None:
    assert told(stage, enveloped(value)).tenant is None


def test_limit_of_an_event_is_that_of_its_data(stage: GuardStage) -> None:
    padding = {f"x{number}": "y" * 2_000 for number in range(200)}
    roomy = structured(incident(1, TENANT), **padding)
    assert len(roomy.value or b"") > EVENT_BYTES_MAX
    assert stage.decode(roomy).incident == incident(1, TENANT)
    with pytest.raises(PoisonError, match=f"too_large: An event has at most {EVENT_BYTES_MAX} bytes: this one has"):
        stage.decode(structured(b"x" * (EVENT_BYTES_MAX + 1)))
