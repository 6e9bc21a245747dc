"""Incidents from JSON lines, and what every reader makes of a record: an incident that is checked, or why not."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from twiceshy.cli.output import explained
from twiceshy.events.common import EVENT_BYTES_MAX
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stream.codec import encode

FAULTS_MAX = 3


@dataclass(frozen=True, slots=True)
class Line:
    """A record that can be sent. ``number`` is from 1; ``file`` is set where each record is a file of its own."""

    number: int
    incident: IncidentConcluded
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that is not sent, and a sentence that says what to change in it."""

    number: int
    reason: str
    file: str | None = None


def read_lines(lines: Iterable[bytes], tenant: str | None = None) -> Iterator[Line | Refused]:
    """Each line that is not blank; with ``tenant``, as an incident of that one, whichever it names."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield Line(number, _incident(line, tenant))
            except ValueError as error:
                yield Refused(number, reason_of(error))


def incident_of(body: dict[str, Any]) -> IncidentConcluded:
    """The incident of a ``body``.

    Raises:
        ValueError: it is none, or is longer than an event may be; `reason_of` says it in a sentence.
    """
    return _bounded(IncidentConcluded.model_validate(body))


def _incident(line: bytes, tenant: str | None) -> IncidentConcluded:
    if tenant is not None:
        given = orjson.loads(line)
        if isinstance(given, dict):
            line = orjson.dumps({**given, "tenant": tenant})
    return _bounded(IncidentConcluded.model_validate_json(line))


def _bounded(incident: IncidentConcluded) -> IncidentConcluded:
    if (size := len(encode(incident))) > EVENT_BYTES_MAX:
        raise ValueError(f"the whole: an event has at most {EVENT_BYTES_MAX} bytes, and this one has {size}")
    return incident


def reason_of(error: ValueError) -> str:
    """The first faults that ``error`` tells of, in a sentence of bounded length."""
    if isinstance(error, orjson.JSONDecodeError):
        return f"the whole: it is not JSON ({error})"
    if not isinstance(error, ValidationError):
        return str(error)
    return joined(explained(error))


def joined(faults: list[str]) -> str:
    more = f"; and {len(faults) - FAULTS_MAX} more" if len(faults) > FAULTS_MAX else ""
    return "; ".join(faults[:FAULTS_MAX]) + more


def count_lines(file: Path) -> int | None:
    """How many lines of ``file`` are not blank; None when it cannot be read."""
    try:
        with file.open("rb") as lines:
            return sum(1 for line in lines if line.strip())
    except OSError:
        return None
