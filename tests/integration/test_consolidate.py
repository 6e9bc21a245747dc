"""Consolidate reads little of the graph, and makes of it what all the mistakes there make."""

import random
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

import pytest

from tests.entries import entry, placed
from tests.incidents import incident
from tests.memory import Memory, memory
from twiceshy.core.rules import OpenMistake, RuleVersion, consolidate
from twiceshy.events.chain import (
    Consolidated,
    EntryLogged,
    EntryReflected,
    LoggedCommand,
    MistakeResolution,
    OriginInvalidation,
)
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph, Graphs
from workers.fold import Stages

SEED = 20261202
NOW = 1_800_000_000_000
CATEGORIES = ("missing-alert", "ownership")
ASKED: dict[str, Any] = {"tenant": "default", "who": "ada", "why": "It is so."}


@pytest.fixture(scope="module", name="stores")
async def _stores() -> AsyncIterator[Memory]:
    async with memory() as running:
        yield running


def new_memory(stores: Memory) -> tuple[Stages, Graph]:
    parts, generation = stores.stores, f"test-{uuid4().hex[:8]}"
    chain = Stages.of_generation(parts.redis, parts.vectors, parts.embeddings, generation, 5.0)
    return chain, Graphs(parts.redis, generation).of("default")


def said(place: int, number: int, categories: Sequence[str], **stamped: Any) -> EntryLogged:
    """The entry at a place of the log, in which an incident made mistakes of these categories."""
    mistakes = [{"category": category, "statement": f"Mistake {place}."} for category in categories]
    about = incident(number, summary=f"Revision {place}.", facts=[], steps=[], mistakes=mistakes)
    return entry(about, NOW + place, ce_id=str(place), **stamped)


def commanded(place: int, command: LoggedCommand) -> EntryLogged:
    changes = {"event_id": f"command {place}", "kind": command.kind, "incident": None, "command": command}
    return said(place, 0, []).model_copy(update=changes)


async def reflected(chain: Stages, entries: Sequence[EntryLogged], first: int = 0) -> list[EntryReflected]:
    """What lesson passes on of all of them: it is as far ahead of consolidate as it can be."""
    return await chain.lesson.apply(await chain.graph.apply(placed(entries, first)))


async def in_graph(graph: Graph, label: str) -> list[dict[str, Any]]:
    rows = await graph.read(cypher.EXPORT_NODES, after=-1, count=100_000)
    return [properties for _, of, properties in rows if of == label]


async def by_all_mistakes(
    graph: Graph, events: Sequence[EntryReflected]
) -> tuple[dict[int, Consolidated], list[RuleVersion]]:
    """What the entries come to, by transaction time, and all rule versions, when nothing is left unread."""
    names = OpenMistake.__slots__
    mistakes = [OpenMistake(**{name: row[name] for name in names}) for row in await in_graph(graph, "MemoryMistake")]
    rules: list[RuleVersion] = []
    made: dict[int, Consolidated] = {}
    for event in events:
        at = event.recorded.t_created
        made[at] = consolidate(
            tenant="default",
            categories={m.category for m in mistakes if at in (m.t_created, m.t_expired)},
            mistakes=mistakes,
            rules=rules,
            incidents_min=event.entry.settings.rule_incidents_min,
            at=at,
        )
    return made, rules


def random_entries(chance: random.Random, places: range) -> list[EntryLogged]:
    return [
        said(
            place,
            chance.randint(0, 29),
            chance.choices(CATEGORIES, k=chance.randint(0, 2)),
            rule_incidents_min=chance.choice((3,) * 6 + (2, 6, 8)),
        )
        for place in places
    ]


async def with_commands(chain: Stages, chance: random.Random) -> list[EntryReflected]:
    """Incidents revised again and again; then people resolve mistakes as well, and an origin is taken away."""
    events = await reflected(chain, random_entries(chance, range(200)))
    last = {event.entry.incident.fingerprint: event.reflected.mistakes for event in events if event.entry.incident}
    entries = random_entries(chance, range(200, 350))
    for at, mistake in enumerate(mistake for mistakes in last.values() for mistake in mistakes):
        resolution = MistakeResolution(kind="mistake-resolution", id=mistake.version_id, **ASKED)
        entries[2 * at] = commanded(200 + 2 * at, resolution)
    entries[90] = commanded(290, OriginInvalidation(kind="origin-invalidation", origin="pagerduty", **ASKED))
    for start in range(0, len(entries), 50):
        events += await reflected(chain, entries[start : start + 50], 200 + start)
    return events


async def test_random_batches_and_redeliveries_come_to_what_all_mistakes_come_to(stores: Memory) -> None:
    chance = random.Random(SEED)
    chain, graph = new_memory(stores)
    events = await with_commands(chain, chance)
    assert sum(bool(event.reflected.resolved) for event in events) > 10
    expected, rules = await by_all_mistakes(graph, events)
    assert len(rules) > 50
    start = 0
    while start < len(events):
        end = start + chance.randint(1, 8)
        batch = events[max(0, start - chance.randint(0, 5)) : end]
        for event in await chain.consolidate.apply(batch):
            assert event.consolidated == expected[event.recorded.t_created]
        start = end
    fields = ("version_id", "category", "rests_on", "t_created", "t_expired")
    found = [RuleVersion(*(row[name] for name in fields)) for row in await in_graph(graph, "MemoryRule")]
    for version in found:
        version.rests_on = tuple(version.rests_on)
    assert sorted(found, key=lambda r: r.version_id) == sorted(rules, key=lambda r: r.version_id)


async def test_rule_that_takes_more_incidents_than_it_quotes_ends_when_they_are_too_few(stores: Memory) -> None:
    chain, _ = new_memory(stores)
    opened = [said(number, number, ["ownership"], rule_incidents_min=7) for number in range(8)]
    corrected = [said(8, 7, [], rule_incidents_min=7), said(9, 6, [], rule_incidents_min=7)]
    events = await reflected(chain, opened + corrected)
    came_to = [(await chain.consolidate.apply([event]))[0].consolidated for event in events]
    [rule] = came_to[6].made
    assert (rule.incidents, len(rule.rests_on)) == (7, 5)
    assert [bool(result.made) for result in came_to] == [False] * 6 + [True] + [False] * 3
    assert came_to[8] == Consolidated()
    assert came_to[9].withdrawn == (rule.version_id,)


async def test_rule_that_nothing_can_change_costs_no_look_at_the_mistakes(
    stores: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, _ = new_memory(stores)
    events = await reflected(chain, [said(number, number, ["ownership"]) for number in range(12)])
    await chain.consolidate.apply(events[:6])
    asked: list[str] = []
    read = Graph.read

    async def noted(graph: Graph, query: str, **parameters: Any) -> list[Any]:
        asked.append(query)
        return await read(graph, query, **parameters)

    monkeypatch.setattr(Graph, "read", noted)
    await chain.consolidate.apply(events[6:])
    assert cypher.RULES_OF_CATEGORIES in asked
    assert cypher.MISTAKES_LEADING not in asked
