"""Publishing many incidents, and following each event to its outcome, with a bounded number under way."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from twiceshy.cli.lines import Line, Refused
from twiceshy.client.outcomes import OutcomeFollower
from twiceshy.client.publisher import IncidentPublisher
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.settings import Settings

UNDER_WAY_MAX = 1_000
CHUNK_LINES = 100


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


@dataclass(frozen=True, slots=True)
class Lost:
    """A line that was published and of which nothing was heard."""

    number: int
    event_id: str
    fingerprint: str


@dataclass(slots=True)
class Report:
    """Every line is in one of the three."""

    outcomes: list[Told] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def lines(self) -> int:
        return len(self.outcomes) + len(self.refused) + len(self.lost)
