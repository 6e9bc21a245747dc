"""CloudEvents in binary mode: what is read, what is refused, and that a refusal says what to change."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.incidents import incident
from twiceshy.errors import PoisonError
from twiceshy.events.catalogue import EVENT_TYPES
from twiceshy.events.common import TEXT_CHARS_MAX
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stream.codec import Attributes, attributes, decode, encode, event_headers, event_model
from twiceshy.stream.records import Record

HEADERS = {"ce_id": b"1", "ce_source": b"/pagerduty", "ce_type": b"incident.concluded.v1"}


def record(value: bytes | None = b"{}", **headers: bytes | None) -> Record:
    """A record with the headers that must be there, changed as told; None takes one away."""
    told = {name: text for name, text in {**HEADERS, **headers}.items() if text is not None}
    return Record("topic", 0, 0, b"key", value, told, 0)


def refused(value: bytes | None) -> PoisonError:
    with pytest.raises(PoisonError) as raised:
        decode(record(value), IncidentConcluded)
    return raised.value


def body(**changes: Any) -> bytes:
    return json.dumps({**json.loads(encode(incident(1))), **changes}).encode()


def test_attributes_are_read_from_headers() -> None:
    read = attributes(record(ce_time=b"2026-11-02T04:02:00+01:00"))
    assert read == Attributes("1", "/pagerduty", "incident.concluded.v1", 1_793_588_520_000)


def test_time_of_an_event_may_be_left_out() -> None:
    assert attributes(record()).time_ms is None


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("text", [None, b""])
def test_missing_header_is_named(name: str, text: bytes | None) -> None:
    with pytest.raises(PoisonError, match=f"missing_header: Set the header {name}"):
        attributes(record(**{name: text}))


@pytest.mark.parametrize("name", [*HEADERS, "ce_time"])
@pytest.mark.parametrize("text", [b"\xff", b"x" * 2_049])
def test_header_that_is_no_short_text_is_named(name: str, text: bytes) -> None:
    with pytest.raises(PoisonError, match=f"malformed_header: The header {name} must"):
        attributes(record(**{name: text}))


@pytest.mark.parametrize("text", [b"2026-11-02T04:02:00", b"yesterday", b"2026-13-01T00:00:00Z"])
def test_time_without_an_offset_or_sense_is_refused(text: bytes) -> None:
    with pytest.raises(PoisonError, match="malformed_header: The header ce_time must be an RFC 3339 time"):
        attributes(record(ce_time=text))


@given(st.integers(0, 1_000_000))
def test_event_reads_back_as_it_was_written(number: int) -> None:
    written = incident(number)
    assert decode(record(encode(written)), IncidentConcluded) == written


def test_what_has_its_default_costs_no_bytes() -> None:
    assert b"null" not in encode(incident(1))
    assert b"holds" not in encode(incident(1))


def test_tombstone_is_refused_where_it_means_nothing() -> None:
    assert refused(None).code == "tombstone"


@pytest.mark.parametrize("value", [b"", b"{", b"\xff\xfe", b'{"title": "\\ud800"}', b"[" * 100_000, b'{"a": NaN'])
def test_what_is_no_json_is_refused(value: bytes) -> None:
    assert refused(value).code == "malformed_json"


@pytest.mark.parametrize("value", [b"null", b"[]", b'"text"', b"1"])
def test_json_that_is_no_object_is_refused(value: bytes) -> None:
    assert refused(value).code == "schema"


def test_refusal_names_each_field_and_no_secret() -> None:
    error = refused(body(tenant="Not A Slug hunter2", facts=[{"subject": "s", "predicate": "hunter2 ", "object": "o"}]))
    assert error.code == "schema"
    assert "tenant: " in error.detail
    assert "facts.0.predicate: " in error.detail
    assert "facts.0.valid_from: Field required" in error.detail
    assert "hunter2" not in error.detail


def test_unknown_field_is_refused_by_name() -> None:
    assert refused(body(runbook="x")).detail == "runbook: Extra inputs are not permitted"


def test_refusal_of_many_faults_names_five_and_counts_the_rest() -> None:
    detail = refused(body(**{f"unknown_{number}": 1 for number in range(8)})).detail
    assert detail.count("Extra inputs") == 5
    assert detail.endswith("; and 3 more")


def test_refusal_is_bounded_whatever_a_field_is_called() -> None:
    detail = refused(body(**{"x" * 100_000: 1}, labels={"y" * 100_000: 1})).detail
    assert len(detail) < TEXT_CHARS_MAX


def test_headers_of_an_event_read_back_as_its_attributes() -> None:
    headers = event_headers(IncidentConcluded, event_id="é", source="here", time="2026-01-01T00:00:00Z")
    written = Record("topic", 0, 0, None, b"{}", dict(headers), 0)
    assert attributes(written) == Attributes("é", "here", "incident.concluded.v1", 1_767_225_600_000)


@pytest.mark.parametrize("name", EVENT_TYPES)
def test_type_of_an_event_leads_to_its_model(name: str) -> None:
    assert event_model(Attributes("1", "here", name, None)) is EVENT_TYPES[name]


def test_type_that_is_not_of_the_contract_is_refused() -> None:
    with pytest.raises(PoisonError, match=r"unknown_type: 'incident\.concluded\.v2' is no event type"):
        event_model(Attributes("1", "here", "incident.concluded.v2", None))
