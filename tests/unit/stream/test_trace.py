"""The trace of a record: which one it came with, and that what it leads to carries it."""

from typing import Any

import pytest

from tests.incidents import incident
from tests.records import enveloped, record, structured
from tests.unit.stream.deliveries import output
from twiceshy.stream.records import RECORD_BYTES_MAX, Output, Record, size
from twiceshy.stream.trace import told_trace, trace_headers, trace_of, traced

PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = b"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-00"
TRACE = (("traceparent", PARENT), ("tracestate", b"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"))
MALFORMED = [
    b"",
    b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
    b"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    b"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    b"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
    b"00-00000000000000000000000000000000-b7ad6b7169203331-01",
    b"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    b"00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
    PARENT + b"-01",
    PARENT + b"\n",
    b" " + PARENT,
    b"\xff",
]


def with_headers(**headers: Any) -> Record:
    return record(incident(1), **headers)


def test_trace_is_read_from_headers() -> None:
    assert trace_of(with_headers(**dict(TRACE))) == TRACE
    assert trace_of(with_headers(traceparent=PARENT)) == TRACE[:1]
    assert trace_of(with_headers()) == ()


def test_trace_is_read_from_an_extension_of_either_mode() -> None:
    assert trace_of(with_headers(**{f"ce_{name}": text for name, text in TRACE})) == TRACE
    assert trace_of(structured(incident(1), **{name: text.decode() for name, text in TRACE})) == TRACE


def test_trace_of_the_last_hop_comes_before_that_of_the_event() -> None:
    both = {"traceparent": PARENT, "ce_traceparent": OTHER, "ce_tracestate": b"a=1"}
    assert trace_of(with_headers(**both)) == TRACE[:1]
    in_envelope = structured(incident(1), traceparent=OTHER.decode())
    assert trace_of(enveloped(in_envelope.value, traceparent=PARENT)) == TRACE[:1]
    assert trace_of(with_headers(traceparent=b"00-1", ce_traceparent=OTHER)) == (("traceparent", OTHER),)


@pytest.mark.parametrize("parent", MALFORMED)
def test_malformed_trace_is_not_carried(parent: bytes) -> None:
    assert trace_of(with_headers(traceparent=parent, tracestate=b"a=1")) == ()
    assert told_trace(parent.decode("latin-1")) == ()


@pytest.mark.parametrize("state", [b"", b"a=\xff", b"a=1\n", b"a" * 513])
def test_malformed_state_of_a_trace_costs_the_trace_nothing(state: bytes) -> None:
    assert trace_headers(PARENT, state) == TRACE[:1]


def test_state_without_a_trace_is_not_carried() -> None:
    assert trace_of(with_headers(tracestate=b"a=1")) == ()


def test_refused_envelope_has_its_trace() -> None:
    assert trace_of(structured(incident(1), type=None, traceparent=PARENT.decode())) == TRACE[:1]
    assert trace_of(enveloped(b"{", traceparent=PARENT)) == TRACE[:1]


def test_caller_tells_its_trace() -> None:
    assert told_trace(PARENT.decode()) == TRACE[:1]
    assert told_trace(None) == ()
    assert told_trace("\ud800") == ()


def test_outputs_carry_the_trace_of_their_record() -> None:
    outputs = [output("a", b"1"), output("b", b"2")]
    expected = [Output(sent.topic, sent.key, sent.value, TRACE, sent.partition) for sent in outputs]
    assert traced(with_headers(**dict(TRACE)), outputs) == expected
    assert traced(with_headers(), outputs) == outputs


def test_output_that_has_a_trace_keeps_it() -> None:
    letter = Output("a", b"key", b"1", (("traceparent", OTHER),), 0)
    assert traced(with_headers(traceparent=PARENT), [letter]) == [letter]


def test_output_never_becomes_too_large_by_its_trace() -> None:
    """It could not be sent, however often: not even as a dead letter."""
    largest = output("a", b"x" * (RECORD_BYTES_MAX - 3))
    assert size(largest) == RECORD_BYTES_MAX
    assert traced(with_headers(traceparent=PARENT), [largest]) == [largest]
