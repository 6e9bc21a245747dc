"""How far a replay has come, in a small file: whoever gives the same command again goes on there."""

from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from twiceshy.errors import NotReadyError
from twiceshy.stream.replay_sources import SourceName
from twiceshy.stream.replaying import UNSENT, Why

REMEMBERED = frozenset({"remembered", "reaffirmed", "corrected", "stale"})


class Asked(BaseModel):
    """What makes two commands the same replay."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kafka: str
    topic: str
    begin: str | None = None
    until: str | None = None
    tenant: str | None = None
    as_new_events: bool = False


class Position(BaseModel):
    """How far it has come in a partition: all before ``next`` is done with, and at ``end`` it stops.

    ``last`` and ``last_digest`` are of the last record it has done with, and tell whether the topic is still the same.
    """

    model_config = ConfigDict(extra="forbid")

    next: int
    end: int
    last: int | None = None
    last_digest: str | None = None


class Tally(BaseModel):
    """What became of the records so far. ``outcomes`` are those of events that were followed."""

    model_config = ConfigDict(extra="forbid")

    sent: int = 0
    passed_over: Counter[Why] = Counter()
    outcomes: Counter[str] = Counter()

    @property
    def all_sent(self) -> bool:
        """Whether all that should be sent was, and what was followed is in memory."""
        return not UNSENT.keys() & self.passed_over.keys() and self.outcomes.keys() <= REMEMBERED


class State(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    asked: Asked
    source: SourceName
    partitions: dict[int, Position]
    tally: Tally = Tally()

    @property
    def left(self) -> int:
        """How many offsets it has still to read."""
        return sum(position.end - position.next for position in self.partitions.values())

    @property
    def begun(self) -> bool:
        return any(position.last is not None for position in self.partitions.values())


class StateFile:
    """Written whole and then renamed, so that a kill at any point leaves the one before or the one after."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, asked: Asked) -> State | None:
        """The state of the replay that was asked for; None when there is none.

        Raises:
            NotReadyError: the file is of another replay, or no state at all.
        """
        try:
            state = State.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not what a replay writes"
            raise NotReadyError(
                f"{self.path}, which says how far a replay has come, cannot be read: {reason}. "
                "Begin anew with --restart, or name another file with --state."
            ) from None
        if state.asked != asked:
            raise NotReadyError(
                f"{self.path} is of another replay, of {state.asked.topic}, that has not come to its end. "
                "Name another file with --state, or give that one up with --restart."
            )
        return state

    def save(self, state: State) -> None:
        """Raises NotReadyError: the disk did not take it."""
        unfinished = self.path.with_name(f"{self.path.name}.new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_text(state.model_dump_json(exclude_defaults=True))
            unfinished.replace(self.path)
        except OSError as error:
            raise NotReadyError(
                f"{self.path}, which says how far the replay has come, cannot be written: {error.strerror}. "
                "Name another file with --state."
            ) from error

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
