"""Publishing many incidents, and following each event to its outcome, with a bounded number under way."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from twiceshy.cli.lines import Line, Refused
from twiceshy.client import IncidentPublisher, OutcomeFollower
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.settings import Settings

UNDER_WAY_MAX = 1_000
CHUNK_LINES = 100
IN_MEMORY = ("remembered", "reaffirmed", "corrected", "stale")


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a line."""

    number: int
    event_id: str
    tenant: str | None
    fingerprint: str
    outcome: str
    current: bool
    reason: str | None
    detail: str | None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """A line that was published and of which nothing was heard."""

    number: int
    event_id: str
    fingerprint: str
    file: str | None = None


@dataclass(slots=True)
class Report:
    """Every line is in one of the first three; ``unsent`` counts those that were left when others had been lost."""

    outcomes: list[Told] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    unsent: int = 0
    seconds: float = 0.0

    @property
    def lines(self) -> int:
        return len(self.outcomes) + len(self.refused) + len(self.lost) + self.unsent

    @property
    def all_in_memory(self) -> bool:
        """True when memory has what every line says: from now on, since before, or as an older revision."""
        return self._all_ended_in(IN_MEMORY)

    @property
    def nothing_to_correct(self) -> bool:
        """True when every line is in memory, or held until a person decides on it."""
        return self._all_ended_in((*IN_MEMORY, "quarantined"))

    def _all_ended_in(self, outcomes: Collection[str]) -> bool:
        return sum(told.outcome in outcomes for told in self.outcomes) == self.lines


class Following:
    """One run over many lines. ``changed_at`` is the events' ``ce_time``."""

    def __init__(
        self, settings: Settings, *, backfill: bool, changed_at: datetime | None = None, patience_seconds: float
    ) -> None:
        self._settings = settings
        self._backfill = backfill
        self._changed_at = changed_at
        self._patience_seconds = patience_seconds
        self._report = Report()
        # The same incident twice in a file is one event, and so one outcome for several lines.
        self._under_way: dict[str, list[Line]] = {}
        self._settled: dict[str, IncidentOutcome] = {}

    async def publish(self, lines: Iterable[Line | Refused], advance: Callable[[int], None]) -> Report:
        """Publishes ``lines`` and returns when each has its outcome, or nothing came for too long.

        ``advance`` is called with the number of lines that are done with.

        Raises:
            TransientError: the broker is away.
        """
        started = time.monotonic()
        good = self._good(lines)
        async with OutcomeFollower(self._settings) as outcomes, IncidentPublisher(self._settings) as publisher:
            while True:
                while len(self._under_way) <= UNDER_WAY_MAX - CHUNK_LINES and (
                    chunk := list(islice(good, CHUNK_LINES))
                ):
                    await self._send(publisher, chunk)
                if not self._under_way:
                    break
                came = await outcomes.next(self._patience_seconds)
                if not came:
                    self._lose()
                    self._report.unsent = sum(1 for _ in good)
                    break
                for outcome in came:
                    self._settle(outcome)
                advance(self._report.lines)
        self._report.seconds = round(time.monotonic() - started, 3)
        self._report.outcomes.sort(key=lambda told: told.number)
        return self._report

    def _good(self, lines: Iterable[Line | Refused]) -> Iterator[Line]:
        for line in lines:
            if isinstance(line, Refused):
                self._report.refused.append(line)
            else:
                yield line

    async def _send(self, publisher: IncidentPublisher, chunk: list[Line]) -> None:
        incidents = [line.incident for line in chunk]
        event_ids = await publisher.publish_many(incidents, changed_at=self._changed_at, backfill=self._backfill)
        for line, event_id in zip(chunk, event_ids, strict=True):
            if event_id in self._settled:
                self._report.outcomes.append(_told(line, self._settled[event_id]))
            else:
                self._under_way.setdefault(event_id, []).append(line)

    def _settle(self, outcome: IncidentOutcome) -> None:
        if outcome.event_id in self._under_way:
            self._settled[outcome.event_id] = outcome
            self._report.outcomes += [_told(line, outcome) for line in self._under_way.pop(outcome.event_id)]

    def _lose(self) -> None:
        for event_id, lines in self._under_way.items():
            self._report.lost += [Lost(line.number, event_id, line.incident.fingerprint, line.file) for line in lines]
        self._under_way.clear()


def _told(line: Line, outcome: IncidentOutcome) -> Told:
    return Told(
        number=line.number,
        event_id=outcome.event_id,
        tenant=outcome.tenant,
        fingerprint=line.incident.fingerprint,
        outcome=outcome.outcome,
        current=outcome.current,
        reason=outcome.reason,
        detail=outcome.detail,
        file=line.file,
    )
