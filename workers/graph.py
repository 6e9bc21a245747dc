"""memory.log.v1 → graph → memory.recorded.v1

Writes log entries into the tenant's bi-temporal graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from twiceshy.core.facts import slot_of
from twiceshy.core.memory import Claimed, IncidentState, Memory, key_of
from twiceshy.core.recording import current, record
from twiceshy.core.temporal import FOREVER, Observation, Version
from twiceshy.errors import PoisonError
from twiceshy.events.chain import EntryLogged, EntryRecorded, LogPosition, Recorded
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph, Graphs
from twiceshy.stream.chain import NotesProgress, Stopwatch, entry_key, outcome_output, tenant_output
from twiceshy.stream.codec import decode
from twiceshy.stream.records import Output, Record
from twiceshy.stream.topics import TOPICS


@dataclass(frozen=True, slots=True)
class Logged:
    """An entry and where in the log it stands."""

    entry: EntryLogged
    position: LogPosition


class GraphStage:
    name = "graph"

    def __init__(self, graphs: Graphs, progress: NotesProgress) -> None:
        self._graphs = graphs
        self._progress = progress

    def decode(self, record: Record) -> Logged | None:
        if record.value is None:
            return None
        position = LogPosition(partition=record.partition, offset=record.offset, key=_text(record.key))
        return Logged(decode(record, EntryLogged), position)

    async def has_room(self, batch: Sequence[Logged]) -> bool:
        return True

    async def apply(self, batch: Sequence[Logged]) -> list[EntryRecorded]:
        """Writes a batch, one query a tenant, and says what each entry came to."""
        watch = Stopwatch()
        made: dict[int, EntryRecorded] = {}
        tenants: dict[str, list[int]] = {}
        for index, logged in enumerate(batch):
            tenants.setdefault(logged.entry.tenant, []).append(index)
        for tenant, indexes in tenants.items():
            entries = [batch[index].entry for index in indexes]
            results, standing = await self._record(tenant, entries)
            for index, recorded, stands in zip(indexes, results, standing, strict=True):
                made[index] = EntryRecorded(
                    entry=batch[index].entry,
                    generation=self._graphs.generation,
                    position=batch[index].position,
                    current=stands,
                    recorded=recorded,
                    took_ms={self.name: watch.ms()},
                )
        return [made[index] for index in range(len(batch))]

    async def _record(self, tenant: str, entries: Sequence[EntryLogged]) -> tuple[list[Recorded], list[bool]]:
        graph = await self._graphs.prepared(tenant)
        memory = await load(graph, entries)
        seen = memory.watermark
        results = [record(memory, entry) for entry in entries]
        if memory.watermark != seen:
            await graph.write_fenced(
                cypher.RECORD,
                stage=self.name,
                seen=seen,
                next_watermark=memory.watermark,
                **memory.writes.parameters(),
            )
        return results, [current(memory, entry) for entry in entries]

    async def handle(self, batch: Sequence[Logged]) -> list[list[Output]]:
        return [
            [
                tenant_output(
                    TOPICS.memory_recorded,
                    made,
                    tenant=made.entry.tenant,
                    key=entry_key(made.entry),
                    event_id=made.entry.event_id,
                    worker=self.name,
                )
            ]
            for made in await self.apply(batch)
        ]

    def give_up(self, record: Record, error: PoisonError) -> list[Output]:
        try:
            logged = self.decode(record)
        except PoisonError:
            return []
        if logged is None:
            return []
        entry = logged.entry
        outcome = IncidentOutcome(
            event_id=entry.event_id,
            tenant=entry.tenant,
            origin=entry.incident.origin.name if entry.incident else None,
            fingerprint=entry.incident.fingerprint if entry.incident else None,
            outcome="dead_lettered",
            reason=error.code,
            detail=error.detail,
        )
        return [outcome_output(outcome, self.name)]

    async def finished(self, batch: Sequence[Logged], records: Sequence[Record]) -> None:
        last = {record.partition: (record.offset, _text(record.key)) for record in records}
        await self._progress.note_positions(self.name, last)

    def describe(self, entry: Logged) -> dict[str, Any]:
        return {"event_id": entry.entry.event_id, "tenant": entry.entry.tenant, "kind": entry.entry.kind}


def _text(key: bytes | None) -> str:
    return (key or b"").decode("utf-8", "replace")


async def load(graph: Graph, entries: Sequence[EntryLogged]) -> Memory:
    """What of the memory a batch needs. The watermark first: what is read after it can only be newer."""
    memory = Memory(watermark=(await graph.watermarks()).get("graph", 0))
    event_ids = list(dict.fromkeys(entry.event_id for entry in entries))
    for event_id, result in await graph.read(cypher.APPLIED_ENTRIES, event_ids=event_ids):
        memory.applied[event_id] = Recorded.model_validate_json(result)
    incidents = list(dict.fromkeys(key_of(entry.incident) for entry in entries if entry.incident))
    if not incidents:
        return memory
    for key, revised_at, event_id, content_hash, episode_id, t_valid in await graph.read(
        cypher.INCIDENTS, incidents=incidents
    ):
        memory.incidents[key] = IncidentState(revised_at, event_id, content_hash, episode_id, t_valid)
    slots = [row[0] for row in await graph.read(cypher.SLOTS_OF_INCIDENTS, incidents=incidents, forever=FOREVER)]
    slots += [
        slot_of(fact, entry.settings.many_valued)
        for entry in entries
        if entry.incident
        for fact in entry.incident.facts
    ]
    if slots:
        await _load_slots(graph, memory, sorted(set(slots)))
    return memory


async def _load_slots(graph: Graph, memory: Memory, slots: list[str]) -> None:
    for row in await graph.read(cypher.LIVE_OBSERVATIONS, slots=slots, forever=FOREVER):
        (
            slot, said, holds, valid_from, valid_to, incident, revised_at, event_id, trust, confidence,
            t_created, t_retracted, observation_id, subject, predicate, origin,
        ) = row  # fmt: skip
        seen = Observation(
            slot=slot,
            object=said,
            holds=holds,
            valid_from=valid_from,
            valid_to=valid_to,
            incident=incident,
            revised_at=revised_at,
            event_id=event_id,
            trust=float(trust),
            confidence=float(confidence),
            t_created=t_created,
            t_retracted=t_retracted,
        )
        memory.observations[slot].append(Claimed(seen, observation_id, subject, predicate, origin))
    for slot, said, t_valid, t_invalid, t_created, t_expired, founder, source in await graph.read(
        cypher.CURRENT_FACTS, slots=slots, forever=FOREVER
    ):
        memory.versions[slot].append(
            Version(
                slot=slot,
                object=said,
                t_valid=t_valid,
                t_invalid=t_invalid,
                t_created=t_created,
                t_expired=t_expired,
                founder=founder,
                event_id=source,
            )
        )
