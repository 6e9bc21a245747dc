"""What the stages of the chain have in common: one typed event in, one out, in the tenant's partition."""

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

from twiceshy.core.memory import key_of
from twiceshy.errors import PoisonError
from twiceshy.events.chain import ChainEvent, EntryLogged
from twiceshy.events.common import Event, instant
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.stream.codec import decode, encode, event_headers
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.records import Output, Record
from twiceshy.stream.topics import TOPICS, Topic

In = TypeVar("In", bound=ChainEvent)
Out = TypeVar("Out", bound=Event)


class NotesProgress(Protocol):
    """Where a stage notes how far it has come in the log."""

    async def note_positions(self, stage: str, positions: dict[int, tuple[int, str]]) -> None: ...


def entry_key(entry: EntryLogged) -> bytes:
    """The key from graph on: the incident, else the event."""
    of = entry.event_id if entry.incident is None else key_of(entry.incident)
    return f"{entry.tenant}/{of}".encode()


def tenant_output(topic: Topic, event: Event, *, tenant: str, key: bytes, event_id: str, worker: str) -> Output:
    """``event`` for ``topic``, in the tenant's partition."""
    return Output(
        topic=topic.name,
        key=key,
        value=encode(event),
        headers=event_headers(type(event), event_id=event_id, source=f"twiceshy/{worker}"),
        partition=tenant_partition(tenant, topic),
    )


def outcome_output(outcome: IncidentOutcome, worker: str) -> Output:
    return tenant_output(
        TOPICS.incidents_outcomes,
        outcome,
        tenant=outcome.tenant or "",
        key=outcome.event_id.encode(),
        event_id=f"{outcome.event_id}/{outcome.outcome}",
        worker=worker,
    )


def chain_outcome(
    event: ChainEvent,
    *,
    outcome: Literal["applied", "rejected"] | None = None,
    vector: bool | None = None,
    skipped: tuple[str, ...] = (),
) -> IncidentOutcome:
    """What became of the entry of a chain event; ``outcome`` is that of a command that a stage after graph decides."""
    incident = event.entry.incident
    return IncidentOutcome(
        event_id=event.entry.event_id,
        tenant=event.entry.tenant,
        origin=incident.origin.name if incident else None,
        fingerprint=incident.fingerprint if incident else None,
        outcome=outcome or event.recorded.change,
        current=event.current,
        known_at=instant(event.recorded.t_created),
        vector=vector,
        reason=event.recorded.reason,
        detail=event.recorded.detail,
        counts=event.recorded.counts,
        skipped=event.skipped + skipped,
        took_ms=event.took_ms,
    )


class ChainStage(Generic[In, Out]):
    """A stage after graph: the delivery side of one, around its plain async handler `apply`."""

    name: str
    model: type[In]
    topic: Topic

    def __init__(self, progress: NotesProgress) -> None:
        self._progress = progress

    async def apply(self, batch: Sequence[In]) -> list[Out]:
        """What this stage makes of each event. Repeating it changes nothing and gives the same."""
        raise NotImplementedError

    def without_part(self, event: In) -> Out:
        """What goes on when this stage cannot do its part for an event."""
        raise NotImplementedError

    def outputs(self, came: In, made: Out) -> list[Output]:
        return [self.pass_on(came, made)]

    def pass_on(self, came: In, made: Out) -> Output:
        entry = came.entry
        return tenant_output(
            self.topic,
            made,
            tenant=entry.tenant,
            key=entry_key(entry),
            event_id=entry.event_id,
            worker=self.name,
        )

    def decode(self, record: Record) -> In:
        return decode(record, self.model)

    async def has_room(self, batch: Sequence[In]) -> bool:
        return True

    async def handle(self, batch: Sequence[In]) -> list[list[Output]]:
        made = await self.apply(batch)
        return [self.outputs(came, out) for came, out in zip(batch, made, strict=True)]

    def give_up(self, record: Record, error: PoisonError) -> list[Output]:
        try:
            event = self.decode(record)
        except PoisonError:
            return []
        return self.outputs(event, self.without_part(event))

    async def finished(self, batch: Sequence[In], records: Sequence[Record]) -> None:
        last: dict[int, tuple[int, str]] = {}
        for event in batch:
            place = event.position
            last[place.partition] = max(last.get(place.partition, (-1, "")), (place.offset, place.key))
        await self._progress.note_positions(self.name, last)

    def describe(self, entry: In) -> dict[str, Any]:
        return {
            "event_id": entry.entry.event_id,
            "tenant": entry.entry.tenant,
            "kind": entry.entry.kind,
            "change": entry.recorded.change,
            "t_created": entry.recorded.t_created,
        }


def by_memory(batch: Sequence[In]) -> dict[tuple[str, str], list[int]]:
    """Indexes into ``batch`` by tenant and generation, in order."""
    indexes: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, event in enumerate(batch):
        indexes[event.entry.tenant, event.generation].append(index)
    return indexes


def fresh(events: Sequence[ChainEvent], watermark: int) -> list[int]:
    """Indexes of the events that a stage has not applied yet, the first of each when one came twice."""
    first: dict[int, int] = {}
    for index, event in enumerate(events):
        if event.recorded.t_created > watermark:
            first.setdefault(event.recorded.t_created, index)
    return list(first.values())


def extended(event: ChainEvent, model: type[Out], **added: Any) -> Out:
    """``event`` as the next stage's event, with what a stage added. Its parts were validated when they came."""
    fields = {name: getattr(event, name) for name in type(event).model_fields}
    return model.model_construct(**{**fields, **added})


class Stopwatch:
    """Milliseconds since it was made."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def ms(self) -> float:
        return round((time.perf_counter() - self._started) * 1_000, 3)
