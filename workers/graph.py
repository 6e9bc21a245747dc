"""memory.log.v1 → graph → memory.recorded.v1

Writes log entries into the tenant's bi-temporal graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from twiceshy.core.memory import Writes
from twiceshy.core.recording import current, record
from twiceshy.core.temporal import FOREVER
from twiceshy.errors import PoisonError
from twiceshy.events.chain import EntryLogged, EntryRecorded, LogPosition, Recorded
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph, Graphs
from twiceshy.stream.chain import NotesProgress, Stopwatch, entry_key, outcome_output, tenant_output
from twiceshy.stream.codec import decode
from twiceshy.stream.records import Output, Record
from twiceshy.stream.topics import TOPICS
from workers.graph_load import load, load_command

PIECE_ROWS_MAX = 500


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
        results: list[Recorded] = []
        standing: list[bool] = []
        for commands, run in groupby(entries, key=lambda entry: entry.command is not None):
            together = list(run)
            # A command sees the memory otherwise than an incident does, and may take several queries.
            for part in [[entry] for entry in together] if commands else [together]:
                made, stands = await self._record_part(graph, part, commands=commands)
                results += made
                standing += stands
        return results, standing

    async def _record_part(
        self, graph: Graph, entries: Sequence[EntryLogged], *, commands: bool
    ) -> tuple[list[Recorded], list[bool]]:
        memory = await (load_command(graph, entries[0]) if commands else load(graph, entries))
        seen = memory.watermark
        results = [record(memory, entry) for entry in entries]
        if memory.watermark != seen:
            writes = memory.writes
            if commands:
                for piece in writes.pieces(PIECE_ROWS_MAX):
                    rows: dict[str, Any] = {**piece, "forever": FOREVER}
                    await graph.write_piece(cypher.PIECE, stage=self.name, seen=seen, **rows)
                writes = Writes(entries=writes.entries)
            await graph.write_fenced(
                cypher.RECORD,
                stage=self.name,
                seen=seen,
                next_watermark=memory.watermark,
                forever=FOREVER,
                **writes.parameters(),
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
