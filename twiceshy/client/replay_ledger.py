"""What a replay has sent and not yet done with, in order, so that its progress passes nothing that is unfinished."""

from collections import deque
from dataclasses import dataclass

from twiceshy.client.outcomes import SEEN_MAX
from twiceshy.client.replay_state import REMEMBERED, State
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.stream.records import Record
from twiceshy.stream.replaying import Picked, Selected, Why, digest

FAULTS_MAX = 50


@dataclass(frozen=True, slots=True)
class Fault:
    """An event that is not in memory, and why."""

    event_id: str
    tenant: str | None
    fingerprint: str | None
    outcome: str
    reason: str | None
    detail: str | None


@dataclass(slots=True)
class _Item:
    partition: int
    next: int
    record: tuple[int, str] | None
    picked: Picked
    waits: bool
    outcome: str | None = None


class Ledger:
    """Moves ``state`` on over what is finished: acknowledged by the broker and, when following, told of."""

    def __init__(self, state: State, *, following: bool) -> None:
        self.state = state
        self.faults: list[Fault] = []
        self._following = following
        self._items: deque[_Item] = deque()
        self._waiting: dict[str, list[_Item]] = {}
        # The same event may stand in a topic twice, and is told of once.
        self._settled: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._items)

    @property
    def unheard(self) -> list[Selected]:
        """What was sent and not told of."""
        return [item.picked for item in self._items if item.waits and isinstance(item.picked, Selected)]

    def add(self, record: Record, picked: Picked) -> None:
        """Notes a record that is sent and acknowledged, passed over, or not asked for."""
        item = _Item(record.partition, record.offset + 1, (record.offset, digest(record)), picked, waits=False)
        self._items.append(item)
        if not self._following or not isinstance(picked, Selected):
            return
        item.outcome = self._settled.get(picked.event_id)
        item.waits = item.outcome is None
        if item.waits:
            self._waiting.setdefault(picked.event_id, []).append(item)

    def end(self, partition: int) -> None:
        """Notes that a partition has nothing more. Gaps behind its last record count as read."""
        self._items.append(_Item(partition, self.state.partitions[partition].end, None, None, waits=False))

    def settle(self, outcome: IncidentOutcome) -> bool:
        """Whether the outcome is of an event that was waited for."""
        items = self._waiting.pop(outcome.event_id, None)
        if items is None:
            return False
        for item in items:
            item.waits, item.outcome = False, outcome.outcome
        self._settled[outcome.event_id] = outcome.outcome
        if len(self._settled) > SEEN_MAX:
            del self._settled[next(iter(self._settled))]
        if outcome.outcome not in REMEMBERED and len(self.faults) < FAULTS_MAX:
            picked = items[0].picked
            fingerprint = picked.fingerprint if isinstance(picked, Selected) else None
            self.faults.append(
                Fault(outcome.event_id, outcome.tenant, fingerprint, outcome.outcome, outcome.reason, outcome.detail)
            )
        return True

    def move(self) -> bool:
        """Moves the state on to before the first record that is not finished; whether it moved."""
        before = len(self._items)
        while self._items and not self._items[0].waits:
            self._finish(self._items.popleft())
        return len(self._items) < before

    def _finish(self, item: _Item) -> None:
        position, tally = self.state.partitions[item.partition], self.state.tally
        position.next = max(position.next, item.next)
        if item.record is not None:
            position.last, position.last_digest = item.record
        if isinstance(item.picked, Selected):
            tally.sent += 1
            if item.outcome is not None:
                tally.outcomes[item.outcome] += 1
        elif isinstance(item.picked, Why):
            tally.passed_over[item.picked] += 1
