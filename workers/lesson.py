"""memory.recorded.v1 → lesson → memory.reflected.v1

Renders the Reflexion lesson, the playbook and the mistakes of each incident into the graph.
"""

from collections.abc import Sequence
from typing import Any

from twiceshy.core.lessons import lesson_slot, mistake_slot, playbook_slot, reflect
from twiceshy.core.memory import key_of
from twiceshy.core.temporal import FOREVER
from twiceshy.events.chain import EntryRecorded, EntryReflected, Reflected
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graphs
from twiceshy.stream.chain import ChainStage, NotesProgress, Stopwatch, by_tenant, extended, fresh
from twiceshy.stream.topics import TOPICS

Row = dict[str, Any]


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
        for tenant, indexes in by_tenant(batch).items():
            await self._write(tenant, [(batch[index], made[index]) for index in indexes])
        return [
            extended(event, EntryReflected, reflected=reflected, took_ms={**event.took_ms, self.name: watch.ms()})
            for event, reflected in zip(batch, made, strict=True)
        ]

    def without_part(self, event: EntryRecorded) -> EntryReflected:
        skipped = (*event.skipped, self.name)
        return extended(event, EntryReflected, skipped=skipped, reflected=Reflected())

    async def _write(self, tenant: str, events: Sequence[tuple[EntryRecorded, Reflected]]) -> None:
        graph = await self._graphs.prepared(tenant)
        seen = (await graph.watermarks())[self.name]
        new = fresh([event for event, _ in events], seen)
        if not new:
            return
        rows: dict[str, list[Row]] = {"lessons": [], "playbooks": [], "mistakes": [], "closed": []}
        for index in new:
            _add_rows(rows, *events[index])
        last = max(events[index][0].recorded.t_created for index in new)
        await graph.write_fenced(
            cypher.REFLECT, stage=self.name, seen=seen, next_watermark=last, forever=FOREVER, **rows
        )


def _reflected(event: EntryRecorded) -> Reflected:
    if event.entry.incident is None:
        return Reflected()
    return reflect(event.entry.tenant, event.entry.incident, event.recorded)


def _add_rows(rows: dict[str, list[Row]], event: EntryRecorded, reflected: Reflected) -> None:
    incident = event.entry.incident
    if incident is None or event.recorded.change not in ("remembered", "corrected"):
        return
    key = key_of(incident)
    if event.recorded.change == "corrected":
        _close(rows, key, event.recorded.t_created)
    common = {
        "incident": key,
        "episode_id": event.recorded.episode_id,
        "origin": incident.origin.name,
        "trust": event.entry.settings.origin_trust,
        "t_valid": event.recorded.t_valid,
        "t_invalid": FOREVER,
        "t_created": event.recorded.t_created,
        "t_expired": FOREVER,
        "source": event.entry.event_id,
        "status": "active",
        "confidence_score": 1.0,
    }
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
