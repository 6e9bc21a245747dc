"""memory.reflected.v1 → consolidate → memory.consolidated.v1, memory.rules.v1

Makes, extends and withdraws the rules that repeated mistakes come to.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from twiceshy.core.memory import key_of
from twiceshy.core.rules import QUOTES_MAX, OpenMistake, RuleVersion, Window, consolidate, counted, rule_slot, settled
from twiceshy.core.temporal import FOREVER
from twiceshy.events.chain import Consolidated, EntryConsolidated, EntryReflected, RuleChanged
from twiceshy.events.incident import MistakeCategory
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph, Graphs
from twiceshy.stream.chain import ChainStage, NotesProgress, Stopwatch, by_memory, extended, fresh, tenant_output
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.records import Output
from twiceshy.stream.topics import TOPICS

Row = dict[str, Any]


class ConsolidateStage(ChainStage[EntryReflected, EntryConsolidated]):
    name = "consolidate"
    model = EntryReflected
    topic = TOPICS.memory_consolidated

    def __init__(self, graphs: Graphs, progress: NotesProgress) -> None:
        super().__init__(progress)
        self._graphs = graphs

    async def apply(self, batch: Sequence[EntryReflected]) -> list[EntryConsolidated]:
        watch = Stopwatch()
        made: dict[int, Consolidated] = {}
        for (tenant, generation), indexes in by_memory(batch).items():
            graph = await self._graphs.in_generation(generation).prepared(tenant)
            results = await self._consolidate(graph, tenant, [batch[index] for index in indexes])
            made.update(zip(indexes, results, strict=True))
        return [
            extended(
                event, EntryConsolidated, consolidated=made[index], took_ms={**event.took_ms, self.name: watch.ms()}
            )
            for index, event in enumerate(batch)
        ]

    def without_part(self, event: EntryReflected) -> EntryConsolidated:
        skipped = (*event.skipped, self.name)
        return extended(event, EntryConsolidated, skipped=skipped, consolidated=Consolidated())

    async def handle(self, batch: Sequence[EntryReflected]) -> list[list[Output]]:
        made = await self.apply(batch)
        standing = await self._standing(made)
        return [
            [*rule_outputs(out, standing[out.entry.tenant, out.generation], self.name), self.pass_on(came, out)]
            for came, out in zip(batch, made, strict=True)
        ]

    def outputs(self, came: EntryReflected, made: EntryConsolidated) -> list[Output]:
        return [self.pass_on(came, made)]

    async def _standing(self, made: Sequence[EntryConsolidated]) -> dict[tuple[str, str], dict[str, str]]:
        """By memory, the rule that stands in each category in which one was made or ended."""
        standing: dict[tuple[str, str], dict[str, str]] = {}
        for (tenant, generation), indexes in by_memory(made).items():
            told = [made[index].consolidated for index in indexes]
            categories = {rule.category.value for one in told for rule in one.made}
            categories |= {category.value for one in told for category in one.ended}
            graph = self._graphs.in_generation(generation).of(tenant)
            asked = {"categories": sorted(categories), "forever": FOREVER}
            rows = await graph.read(cypher.RULES_STANDING, **asked) if categories else []
            standing[tenant, generation] = dict(rows)
        return standing

    async def _consolidate(self, graph: Graph, tenant: str, events: Sequence[EntryReflected]) -> list[Consolidated]:
        seen = (await graph.watermarks())[self.name]
        touched = await _touched(graph, events)
        window = Window.of((e.recorded.t_created, e.entry.settings.rule_incidents_min) for e in events)
        standing, unsettled = await _unsettled(graph, set().union(*touched.values()), window)
        mistakes = await _mistakes(graph, unsettled, window)
        results = [
            consolidate(
                tenant=tenant,
                categories=touched[event.recorded.t_created] & unsettled,
                mistakes=mistakes,
                rules=standing,
                incidents_min=event.entry.settings.rule_incidents_min,
                at=event.recorded.t_created,
            )
            for event in events
        ]
        results = await _counted(graph, events, results)
        await self._write(graph, seen, events, results)
        return results

    async def _write(
        self, graph: Graph, seen: int, events: Sequence[EntryReflected], results: Sequence[Consolidated]
    ) -> None:
        rows: dict[str, list[Row]] = {"rules": [], "rests_on": [], "withdrawn": []}
        new = fresh(events, seen)
        if not new:
            return
        for index in new:
            _add_rows(rows, events[index], results[index])
        last = max(events[index].recorded.t_created for index in new)
        await graph.write_fenced(cypher.CONSOLIDATE, stage=self.name, seen=seen, next_watermark=last, **rows)


def rule_outputs(made: EntryConsolidated, standing_now: Mapping[str, str], worker: str) -> list[Output]:
    """memory.rules.v1: the rules that an entry made; a tombstone for each that it withdrew without a successor.

    What a later entry has replaced is left out: an entry that comes again must not put it back.
    """
    tenant, at = made.entry.tenant, made.recorded.t_created
    outputs = []
    for standing in made.consolidated.made:
        if standing_now.get(standing.category.value) != standing.version_id:
            continue
        changed = RuleChanged(tenant=tenant, rule=standing, t_created=at)
        key = f"{tenant}/{standing.category.value}".encode()
        outputs.append(
            tenant_output(
                TOPICS.memory_rules, changed, tenant=tenant, key=key, event_id=standing.version_id, worker=worker
            )
        )
    for category in made.consolidated.ended:
        if category.value in standing_now:
            continue
        partition = tenant_partition(tenant, TOPICS.memory_rules)
        key = f"{tenant}/{category.value}".encode()
        outputs.append(Output(TOPICS.memory_rules.name, key, None, (), partition))
    return outputs


async def _touched(graph: Graph, events: Sequence[EntryReflected]) -> dict[int, set[str]]:
    """By transaction time, the categories in which an entry opened or closed mistakes."""
    touched = {event.recorded.t_created: {m.category.value for m in event.reflected.mistakes} for event in events}
    closed = [
        {"incident": key_of(event.entry.incident), "at": event.recorded.t_created}
        for event in events
        if event.entry.incident and event.recorded.change == "corrected"
    ]
    if closed:
        for at, category in await graph.read(cypher.MISTAKES_CLOSED, closed=closed):
            touched[at].add(category)
    # Commands open and close mistakes that no incident of the batch tells of.
    moved = [event.recorded.t_created for event in events if event.recorded.wide or event.reflected.resolved]
    if moved:
        for at, category in await graph.read(cypher.MISTAKES_MOVED, moved=moved):
            touched[at].add(category)
    for categories in touched.values():
        categories.discard(MistakeCategory.OTHER.value)
    return touched


async def _unsettled(graph: Graph, categories: set[str], window: Window) -> tuple[list[RuleVersion], set[str]]:
    """Rules of ``categories``, and those of them in which an entry may make or end one.

    The others take one short read, however many mistakes they have.
    """
    if not categories:
        return [], set()
    rows = await graph.read(
        cypher.RULES_OF_CATEGORIES, categories=sorted(categories), since=window.since, until=window.until
    )
    rules = [RuleVersion(row[0], row[1], tuple(row[2]), *row[3:5]) for row in rows]
    at_rest = settled(rules, {row[0]: row[5] for row in rows}, window)
    if at_rest and window.enough > QUOTES_MAX:
        # The quotes alone do not show that the incidents are as many as it takes.
        rows = await graph.read(cypher.CATEGORIES_WITH_ENOUGH, categories=sorted(at_rest), **asdict(window))
        at_rest = {row[0] for row in rows}
    return rules, categories - at_rest


async def _mistakes(graph: Graph, categories: set[str], window: Window) -> list[OpenMistake]:
    """The mistakes that decide about the rules of ``categories``."""
    if not categories:
        return []
    rows = await graph.read(cypher.MISTAKES_LEADING, categories=sorted(categories), **asdict(window))
    return [OpenMistake(*row) for row in rows]


async def _counted(graph: Graph, events: Sequence[EntryReflected], results: list[Consolidated]) -> list[Consolidated]:
    """``results``, with all the incidents of what was made, which is rare: only the mistakes that decide were read."""
    made = [
        {"category": rule.category.value, "at": event.recorded.t_created}
        for event, result in zip(events, results, strict=True)
        for rule in result.made
    ]
    if not made:
        return results
    incidents: dict[int, dict[str, int]] = defaultdict(dict)
    for category, at, count in await graph.read(cypher.INCIDENTS_MISTAKEN, made=made):
        incidents[at][category] = count
    return [
        counted(result, incidents[event.recorded.t_created]) if result.made else result
        for event, result in zip(events, results, strict=True)
    ]


def _add_rows(rows: dict[str, list[Row]], event: EntryReflected, result: Consolidated) -> None:
    at, source = event.recorded.t_created, event.entry.event_id
    provenance = {"source": source, "status": "active", "confidence_score": 1.0}
    for standing in result.made:
        rows["rules"].append(
            {
                "version_id": standing.version_id,
                "slot": rule_slot(standing.category),
                "category": standing.category.value,
                "statement": standing.statement,
                "incidents": standing.incidents,
                "rests_on": list(standing.rests_on),
                "t_valid": standing.t_valid,
                "t_invalid": FOREVER,
                "t_created": at,
                "t_expired": FOREVER,
                **provenance,
            }
        )
        rows["rests_on"] += [
            {"from": standing.version_id, "to": mistake, "t_created": at, "source": source}
            for mistake in standing.rests_on
        ]
    rows["withdrawn"] += [{"version_id": version_id, "at": at} for version_id in result.withdrawn]
