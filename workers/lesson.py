"""memory.recorded.v1 → lesson → memory.reflected.v1

Renders the Reflexion lesson, the playbook and the mistakes of each incident into the graph.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from twiceshy.core.lessons import lesson_slot, mistake_slot, playbook_slot, reflect
from twiceshy.core.memory import key_of
from twiceshy.core.temporal import FOREVER
from twiceshy.events.chain import (
    EntryRecorded,
    EntryReflected,
    MistakeResolution,
    OriginInvalidation,
    Recorded,
    Reflected,
)
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph, Graphs, tables
from twiceshy.stream.chain import ChainStage, NotesProgress, Stopwatch, by_memory, extended, fresh
from twiceshy.stream.topics import TOPICS

Row = dict[str, Any]
PIECE_ROWS_MAX = 500


class LessonStage(ChainStage[EntryRecorded, EntryReflected]):
    name = "lesson"
    model = EntryRecorded
    topic = TOPICS.memory_reflected

    def __init__(self, graphs: Graphs, progress: NotesProgress) -> None:
        super().__init__(progress)
        self._graphs = graphs

    async def apply(self, batch: Sequence[EntryRecorded]) -> list[EntryReflected]:
        watch = Stopwatch()
        made = [_reflected(event) for event in batch]
        for (tenant, generation), indexes in by_memory(batch).items():
            graph = await self._graphs.in_generation(generation).prepared(tenant)
            for alone, run in groupby(indexes, key=lambda index: _of_command(batch[index])):
                if not alone:
                    await self._write(graph, [(batch[index], made[index]) for index in run])
                    continue
                for index in run:
                    made[index] = await self._command(graph, batch[index])
        return [
            extended(event, EntryReflected, reflected=reflected, took_ms={**event.took_ms, self.name: watch.ms()})
            for event, reflected in zip(batch, made, strict=True)
        ]

    def without_part(self, event: EntryRecorded) -> EntryReflected:
        skipped = (*event.skipped, self.name)
        return extended(event, EntryReflected, skipped=skipped, reflected=Reflected())

    async def _write(self, graph: Graph, events: Sequence[tuple[EntryRecorded, Reflected]]) -> None:
        seen = (await graph.watermarks())[self.name]
        new = fresh([event for event, _ in events], seen)
        if not new:
            return
        rows = _no_rows()
        for index in new:
            _add_rows(rows, *events[index])
        last = max(events[index][0].recorded.t_created for index in new)
        await self._reflect(graph, seen, last, rows)

    async def _reflect(self, graph: Graph, seen: int, following: int, rows: dict[str, list[Row]]) -> None:
        await graph.write_fenced(
            cypher.REFLECT,
            stage=self.name,
            seen=seen,
            next_watermark=following,
            forever=FOREVER,
            **tables(rows),
        )

    async def _command(self, graph: Graph, event: EntryRecorded) -> Reflected:
        seen, at = (await graph.watermarks())[self.name], event.recorded.t_created
        command = event.entry.command
        if isinstance(command, MistakeResolution):
            if at > seen:
                await graph.write_fenced(
                    cypher.RESOLVE_MISTAKE,
                    stage=self.name,
                    seen=seen,
                    next_watermark=at,
                    version_id=command.id,
                    at=at,
                    forever=FOREVER,
                )
            rows = await graph.read(cypher.MISTAKE_RESOLVED, version_id=command.id, at=at)
            return Reflected(resolved=tuple(row[0] for row in rows))
        if isinstance(command, OriginInvalidation) and at > seen:
            await self._invalidate(graph, event, command, seen)
        return Reflected()

    async def _invalidate(self, graph: Graph, event: EntryRecorded, command: OriginInvalidation, seen: int) -> None:
        """Closes what purged revisions taught, and teaches again what earlier ones did that are believed once more."""
        at = event.recorded.t_created
        since = 0 if command.since is None else milliseconds(command.since)
        purged = await graph.read(cypher.EPISODES_PURGED, origin=command.origin, since=since, at=at)
        closed = {row[0] for row in purged}
        rows = _no_rows()
        rows["closed"] = [{"incident": incident, "at": at} for incident in sorted(closed)]
        for incident, episode_id, body, t_valid, said_at, trust in await graph.read(cypher.EPISODES_MADE, at=at):
            if incident in closed:
                again = Recorded(t_created=at, change="corrected", episode_id=episode_id, t_valid=t_valid)
                told = IncidentConcluded.model_validate_json(body)
                reflected = reflect(event.entry.tenant, told, again)
                taught = _taught(event.entry.event_id, told, again, reflected, trust, said_at)
                for name, of_name in taught.items():
                    rows[name] += of_name
        for piece in _pieces(rows):
            await self._reflect(graph, seen, seen, piece)
        await self._reflect(graph, seen, at, _no_rows())


def _of_command(event: EntryRecorded) -> bool:
    return isinstance(event.entry.command, MistakeResolution | OriginInvalidation)


def _reflected(event: EntryRecorded) -> Reflected:
    if event.entry.incident is None:
        return Reflected()
    return reflect(event.entry.tenant, event.entry.incident, event.recorded)


def _no_rows() -> dict[str, list[Row]]:
    return {"lessons": [], "playbooks": [], "mistakes": [], "closed": []}


def _pieces(rows: dict[str, list[Row]]) -> list[dict[str, list[Row]]]:
    """The rows, what is made before what it closes, so many at a time. Each can be written again."""
    return [
        _no_rows() | {name: of_name[start : start + PIECE_ROWS_MAX]}
        for name, of_name in rows.items()
        for start in range(0, len(of_name), PIECE_ROWS_MAX)
    ]


def _add_rows(rows: dict[str, list[Row]], event: EntryRecorded, reflected: Reflected) -> None:
    incident, recorded = event.entry.incident, event.recorded
    if incident is None or recorded.change not in ("remembered", "corrected"):
        return
    if recorded.change == "corrected":
        _close(rows, key_of(incident), recorded.t_created)
    trust = event.entry.settings.origin_trust
    taught = _taught(event.entry.event_id, incident, recorded, reflected, trust, recorded.t_created)
    for name, of_name in taught.items():
        rows[name] += of_name


def _taught(
    source: str, incident: IncidentConcluded, recorded: Recorded, reflected: Reflected, trust: float, said_at: int
) -> dict[str, list[Row]]:
    """Rows of what a revision taught, by the name of their list."""
    key = key_of(incident)
    common = {
        "incident": key,
        "episode_id": recorded.episode_id,
        "origin": incident.origin.name,
        "trust": trust,
        "said_at": said_at,
        "t_valid": recorded.t_valid,
        "t_invalid": FOREVER,
        "t_created": recorded.t_created,
        "t_expired": FOREVER,
        "source": source,
        "status": "active",
        "confidence_score": 1.0,
    }
    rows: dict[str, list[Row]] = {"lessons": [], "playbooks": [], "mistakes": []}
    if reflected.lesson is not None:
        lesson = {"version_id": reflected.lesson.version_id, "slot": lesson_slot(key), "text": reflected.lesson.text}
        rows["lessons"].append({**lesson, **common})
    if reflected.playbook is not None:
        steps = list(reflected.playbook.steps)
        playbook = {"version_id": reflected.playbook.version_id, "slot": playbook_slot(key), "steps": steps}
        rows["playbooks"].append({**playbook, **common})
    for index, mistake in enumerate(reflected.mistakes):
        row = {
            "version_id": mistake.version_id,
            "slot": mistake_slot(key, index),
            "category": mistake.category.value,
            "statement": mistake.statement,
        }
        rows["mistakes"].append({**row, **common})
    return rows


def _close(rows: dict[str, list[Row]], incident: str, at: int) -> None:
    """Closes what earlier revisions of an incident taught: what this batch makes of it in place, the rest in the graph.

    That is for the first correction of a batch alone. The graph matches before it sets, so that a second one
    would close again, later, what the first one closed.
    """
    for made in (*rows["lessons"], *rows["playbooks"], *rows["mistakes"]):
        if made["incident"] == incident and made["t_expired"] == FOREVER:
            made["t_expired"] = at
    if all(closing["incident"] != incident for closing in rows["closed"]):
        rows["closed"].append({"incident": incident, "at": at})
