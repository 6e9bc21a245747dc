"""CloudEvents in either mode: what is read, what is refused, and that a refusal says what to change."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.incidents import incident
from tests.records import SOURCE, enveloped, structured
from tests.records import record as incident_record
from twiceshy.errors import PoisonError
from twiceshy.events.catalogue import EVENT_TYPES
from twiceshy.events.common import TEXT_CHARS_MAX
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stream.codec import (
    Attributes,
    attributes,
    binary,
    claimed,
    decode,
    encode,
    event_headers,
    event_model,
)
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


def refused_envelope(record: Record) -> PoisonError:
    with pytest.raises(PoisonError) as raised:
        binary(record)
    return raised.value


ATTRIBUTE = st.text(min_size=1, max_size=50)
TIMES = st.none() | st.datetimes(timezones=st.timezones(), allow_imaginary=False).map(lambda time: time.isoformat())


def understood(record: Record) -> tuple[Attributes, IncidentConcluded]:
    opened = binary(record)
    return attributes(opened), decode(opened, IncidentConcluded)


def outcome_of(record: Record) -> Any:
    """What is understood, or the code of the refusal's kind: a header and an attribute are at fault alike."""
    try:
        return understood(record)
    except PoisonError as error:
        return error.code.removeprefix("malformed_").replace("attribute", "header")


@given(st.integers(0, 1_000_000), ATTRIBUTE, ATTRIBUTE, TIMES, st.booleans())
def test_incident_is_the_same_event_in_either_mode(
    number: int, name: str, source: str, time: str | None, as_base64: bool
) -> None:
    said = incident(number)
    in_headers = incident_record(said, ce_time=time, ce_id=name.encode(), ce_source=source.encode())
    in_envelope = structured(encode(said) if as_base64 else said, id=name, source=source, time=time)
    assert outcome_of(in_headers) == outcome_of(in_envelope)


def test_incident_in_an_envelope_is_read() -> None:
    time_ms = 1_793_588_520_000
    expected = Attributes("1", SOURCE, "incident.concluded.v1", time_ms), incident(1)
    assert understood(structured(incident(1), time="2026-11-02T04:02:00+01:00")) == expected


def test_record_in_binary_mode_is_left_as_it_is() -> None:
    for came in (record(), record(None), record(b"{"), record(**{"content-type": b"application/json"})):
        assert binary(came) is came
        assert claimed(came) is came


@pytest.mark.parametrize(
    "content_type",
    [
        b"application/cloudevents+json; charset=utf-8",
        b"Application/CloudEvents+JSON",
        b" application/cloudevents+json ;a",
    ],
)
def test_content_type_of_an_envelope_may_have_parameters_and_any_case(content_type: bytes) -> None:
    opened = binary(enveloped(structured(incident(1)).value, content_type))
    assert opened.value == encode(incident(1))


def test_envelope_becomes_headers_and_a_value() -> None:
    came = enveloped(
        b'{"specversion": "1.0", "id": "1", "source": "here", "type": "a.v1", "subject": null, "retry": 2, '
        b'"dry": true, "traceparent": "00-1", "tracestate": "a=1", "data": {"b": 1, "a": "\\u00fc"}}',
        kafka_correlationId=b"\xff",
        ce_id=b"another",
        ce_time=b"yesterday",
    )
    opened = binary(came)
    assert opened.headers == {
        "content-type": b"application/json",
        "ce_specversion": b"1.0",
        "ce_id": b"1",
        "ce_source": b"here",
        "ce_type": b"a.v1",
        "ce_retry": b"2",
        "ce_dry": b"true",
        "traceparent": b"00-1",
        "tracestate": b"a=1",
        "kafka_correlationId": b"\xff",
    }
    assert opened.value == '{"b":1,"a":"ü"}'.encode()
    assert replace(opened, value=came.value, headers=came.headers) == came
    assert binary(opened) is opened


def test_trace_in_the_records_own_headers_is_the_later_one() -> None:
    came = structured(incident(1), traceparent="of the envelope")
    later = enveloped(came.value, traceparent=b"of the record")
    assert binary(later).headers["traceparent"] == b"of the record"


def test_type_of_the_data_is_the_content_type() -> None:
    opened = binary(structured(b"<a/>", datacontenttype="text/xml"))
    assert (opened.headers["content-type"], opened.value) == (b"text/xml", b"<a/>")


@pytest.mark.parametrize("name", ["specversion", "id", "source", "type"])
@pytest.mark.parametrize("text", [None, ""])
def test_missing_attribute_is_named(name: str, text: str | None) -> None:
    error = refused_envelope(structured(incident(1), **{name: text}))
    assert (error.code, error.detail) == ("missing_attribute", f"Set the attribute {name}: events are CloudEvents 1.0.")


@pytest.mark.parametrize("name", ["id", "source", "type", "time", "subject", "dataschema", "datacontenttype"])
@pytest.mark.parametrize("value", [7, True, {}, [], "x" * 2_049])
def test_attribute_that_is_no_short_text_is_named(name: str, value: Any) -> None:
    error = refused_envelope(structured(incident(1), **{name: value}))
    assert error.code == "malformed_attribute"
    assert error.detail.startswith(f"The attribute {name} must ")


@pytest.mark.parametrize(
    ("changes", "code", "detail"),
    [
        ({"specversion": "0.3"}, "unknown_specversion", 'The attribute specversion must be "1.0".'),
        ({"time": "yesterday"}, "malformed_attribute", "The attribute time must be an RFC 3339 time with an offset."),
        ({"data_base64": "e30="}, "two_data", "Send data or data_base64, not both."),
        ({"data": None}, "missing_attribute", "Set data: it is the event itself."),
        ({"data": None, "data_base64": "e30"}, "malformed_base64", "data_base64 must be text in base64 (RFC 4648)."),
        ({"data": None, "data_base64": "é"}, "malformed_base64", "data_base64 must be text in base64 (RFC 4648)."),
        ({"data": None, "data_base64": {}}, "malformed_base64", "data_base64 must be text in base64 (RFC 4648)."),
        ({"labels": {"a": 1}}, "malformed_attribute", "The attribute labels must be text."),
        (
            {"traceParent": "x"},
            "malformed_attribute",
            "The attribute traceParent must have a name of at most 200 lower-case letters and digits.",
        ),
        (
            {"datacontenttype": "application/cloudevents+json"},
            "malformed_attribute",
            "The attribute datacontenttype must not be that of another envelope.",
        ),
    ],
)
def test_faulty_envelope_is_refused_with_what_to_change(changes: dict[str, Any], code: str, detail: str) -> None:
    error = refused_envelope(structured(incident(1), **changes))
    assert (error.code, error.detail) == (code, detail)


@pytest.mark.parametrize(
    ("content_type", "value", "code"),
    [
        (b"application/cloudevents-batch+json", b"[]", "batch"),
        (b"Application/CloudEvents-Batch+JSON; charset=utf-8", b"[{}]", "batch"),
        (b"application/cloudevents+json", b"[{}]", "batch"),
        (b"application/cloudevents+protobuf", b"x", "unknown_format"),
        (b"application/cloudevents", b"{}", "unknown_format"),
        (b"application/cloudevents+json", None, "tombstone"),
        (b"application/cloudevents+json", b"7", "malformed_json"),
        (b"application/cloudevents+json", b"", "malformed_json"),
        (b"application/cloudevents+json", b"{", "malformed_json"),
        (b"application/cloudevents+json", "{}".encode("utf-16"), "malformed_json"),
        (b"application/cloudevents+json", b"[" * 100_000, "malformed_json"),
    ],
)
def test_what_is_no_envelope_of_one_event_is_refused(content_type: bytes, value: bytes | None, code: str) -> None:
    assert refused_envelope(enveloped(value, content_type)).code == code


def test_batch_is_refused_with_what_to_do() -> None:
    error = refused_envelope(enveloped(b"[]", b"application/cloudevents-batch+json"))
    assert error.detail == "Send one event a record: a batch of events is not taken."


def test_data_that_are_nested_too_deeply_are_refused() -> None:
    """They can be read and not be written, which would be a bug of ours and not a fault of theirs."""
    nested = b'{"specversion":"1.0","id":"1","source":"a","type":"b","data":' + b"[" * 500 + b"]" * 500 + b"}"
    error = refused_envelope(enveloped(nested))
    assert (error.code, error.detail) == ("malformed_json", "The data are nested too deeply.")


def test_refusal_of_an_envelope_is_bounded_and_shows_no_value() -> None:
    for changes in ({"x" * 100_000: "hunter2"}, {"ID": "hunter2"}, {"time": "hunter2"}, {"specversion": "hunter2"}):
        detail = refused_envelope(structured(incident(1), **changes)).detail
        assert len(detail) < 500
        assert "hunter2" not in detail


def test_what_a_refused_envelope_claims_is_read() -> None:
    told = claimed(structured(incident(1), type=None, labels={}, traceparent="00-1"))
    headers = [told.headers[name] for name in ("ce_id", "ce_source", "traceparent")]
    assert headers == [b"1", SOURCE.encode(), b"00-1"]
    assert told.value == encode(incident(1))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
MEMBERS = st.sampled_from(
    ["specversion", "id", "source", "type", "time", "datacontenttype", "data", "data_base64", "traceparent"]
)
ENVELOPES = st.binary() | (
    st.dictionaries(MEMBERS | st.text(max_size=5), JSON | st.just("1.0")).map(lambda told: json.dumps(told).encode())
)


@given(ENVELOPES)
def test_envelope_of_any_content_is_opened_or_refused(value: bytes) -> None:
    came = enveloped(value)
    told = claimed(came)
    try:
        opened = binary(came)
    except PoisonError:
        return
    assert opened == told
    assert binary(opened) is opened
