"""W3C trace context: what a record leads to carries the trace that the record came with."""

import re
from collections.abc import Iterable
from dataclasses import replace

from twiceshy.stream.codec import claimed
from twiceshy.stream.records import RECORD_BYTES_MAX, Headers, Output, Record, size

_PARENT = re.compile(rb"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_STATE = re.compile(rb"[\x20-\x7e]{1,512}")


def trace_headers(parent: bytes | None, state: bytes | None = None) -> Headers:
    """The headers of a trace. None where ``parent`` is no traceparent of W3C's version 00: that says nothing."""
    if parent is None or not _PARENT.fullmatch(parent):
        return ()
    headers = (("traceparent", parent),)
    return headers if state is None or not _STATE.fullmatch(state) else (*headers, ("tracestate", state))


def told_trace(traceparent: str | None) -> Headers:
    """The headers of the trace in which a caller says that it works. A malformed one costs no event: it is left out."""
    return trace_headers((traceparent or "").encode("utf-8", "replace"))


def trace_of(record: Record) -> Headers:
    """The trace that a record came with, in its own headers or as an extension of CloudEvents."""
    headers = claimed(record).headers
    for prefix in ("", "ce_"):
        if trace := trace_headers(headers.get(f"{prefix}traceparent"), headers.get(f"{prefix}tracestate")):
            return trace
    return ()


def traced(record: Record, outputs: Iterable[Output]) -> list[Output]:
    """``outputs`` with the trace of the record that led to them."""
    trace = trace_of(record)
    return [_with(output, trace) for output in outputs]


def _with(output: Output, trace: Headers) -> Output:
    # A dead letter keeps the headers of the original as they came, and no output is lost for its trace.
    if not trace or any(name == "traceparent" for name, _ in output.headers):
        return output
    carrying = replace(output, headers=(*output.headers, *trace))
    return carrying if size(carrying) <= RECORD_BYTES_MAX else output
