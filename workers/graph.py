"""memory.log.v1 → graph → memory.recorded.v1

Writes log entries into the tenant's bi-temporal graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

from twiceshy.core.recording import current, record
from twiceshy.core.temporal import FOREVER
from twiceshy.errors import PoisonError
from twiceshy.events.chain import EntryLogged, EntryRecorded, LogPosition, Recorded, Switch
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph, Graphs, tables
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


class Switches(Protocol):
    """Which generation the chain writes, and how it comes to write another one."""

    async def live(self, tenant: str) -> str: ...

    async def switch(self, tenant: str, generation: str, position: LogPosition) -> bool:
        """Returns when the generation has all up to and including the entry at ``position``, and is live.

        False: there is no such generation.
        """


class GraphStage:
    """Without ``switches`` it writes the one generation of ``graphs``, and passes over entries that switch."""

    name = "graph"

    def __init__(self, graphs: Graphs, progress: NotesProgress, switches: Switches | None = None) -> None:
        self._graphs = graphs
        self._progress = progress
        self._switches = switches

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
            generation = self._graphs.generation if self._switches is None else await self._switches.live(tenant)
            for alone, run in groupby(indexes, key=lambda index: batch[index].entry.command is not None):
                together = list(run)
                # A command sees the memory otherwise than an incident does, and may take several queries.
                for part in [[index] for index in together] if alone else [together]:
                    generation = await self._switched(batch[part[0]], generation)
                    graph = await self._graphs.in_generation(generation).prepared(tenant)
                    results, standing = await self._record(graph, [batch[index].entry for index in part])
                    for index, recorded, stands in zip(part, results, standing, strict=True):
                        made[index] = EntryRecorded(
                            entry=batch[index].entry,
                            generation=generation,
                            position=batch[index].position,
                            current=stands,
                            recorded=recorded,
                            took_ms={self.name: watch.ms()},
                        )
        return [made[index] for index in range(len(batch))]

    async def _switched(self, logged: Logged, generation: str) -> str:
        """The generation to write from this entry on."""
        command = logged.entry.command
        if self._switches is None or not isinstance(command, Switch) or command.generation == generation:
            return generation
        graph = self._graphs.in_generation(generation).of(logged.entry.tenant)
        if await graph.read(cypher.APPLIED_ENTRIES, event_ids=[logged.entry.event_id]):
            # It comes again, and another one has led elsewhere since.
            return generation
        switched = await self._switches.switch(logged.entry.tenant, command.generation, logged.position)
        return command.generation if switched else generation

    async def _record(self, graph: Graph, entries: Sequence[EntryLogged]) -> tuple[list[Recorded], list[bool]]:
        """What incidents, or one command, come to, and whether each revision is the one that counts."""
        command = entries[0].command is not None
        memory = await (load_command(graph, entries[0]) if command else load(graph, entries))
        seen = memory.watermark
        results = [record(memory, entry) for entry in entries]
        if memory.watermark != seen:
            writes = memory.writes
            if command:
                for piece in writes.pieces(PIECE_ROWS_MAX):
                    rows = {**tables(piece), "forever": FOREVER}
                    await graph.write_piece(cypher.PIECE, stage=self.name, seen=seen, **rows)
                writes = writes.last()
            await graph.write_fenced(
                cypher.RECORD,
                stage=self.name,
                seen=seen,
                next_watermark=memory.watermark,
                forever=FOREVER,
                **tables(writes.parameters()),
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
