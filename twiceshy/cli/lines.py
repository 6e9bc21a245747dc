"""Incidents from JSON lines, each checked before it is sent."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import ValidationError

from twiceshy.cli.output import explained
from twiceshy.events.common import EVENT_BYTES_MAX
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stream.codec import encode

FAULTS_MAX = 3


@dataclass(frozen=True, slots=True)
class Line:
    """A line that can be sent. ``number`` is from 1."""

    number: int
    incident: IncidentConcluded


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that is not sent, and a sentence that says what to change in it."""

    number: int
    reason: str


def read_lines(lines: Iterable[bytes], tenant: str | None = None) -> Iterator[Line | Refused]:
    """Each line that is not blank; with ``tenant``, as an incident of that one, whichever it names."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield Line(number, _incident(line, tenant))
            except ValueError as error:
                yield Refused(number, _reason(error))


def _incident(line: bytes, tenant: str | None) -> IncidentConcluded:
    if tenant is not None:
        given = orjson.loads(line)
        if isinstance(given, dict):
            line = orjson.dumps({**given, "tenant": tenant})
    incident = IncidentConcluded.model_validate_json(line)
    if (size := len(encode(incident))) > EVENT_BYTES_MAX:
        raise ValueError(f"the whole: an event has at most {EVENT_BYTES_MAX} bytes, and this one has {size}")
    return incident


def _reason(error: ValueError) -> str:
    if isinstance(error, orjson.JSONDecodeError):
        return f"the whole: it is not JSON ({error})"
    if not isinstance(error, ValidationError):
        return str(error)
    faults = explained(error)
    more = f"; and {len(faults) - FAULTS_MAX} more" if len(faults) > FAULTS_MAX else ""
    return "; ".join(faults[:FAULTS_MAX]) + more


def count_lines(file: Path) -> int | None:
    """How many lines of ``file`` are not blank; None when it cannot be read."""
    try:
        with file.open("rb") as lines:
            return sum(1 for line in lines if line.strip())
    except OSError:
        return None
