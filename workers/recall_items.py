"""recall.requests.v1 → recall, what is read of what was found → recall.replies.<tenant>

Reads the items that a reply holds: from FalkorDB side by side, or the episodes alone from Qdrant's payloads.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from twiceshy.core.aliases import Names
from twiceshy.core.purges import hides, purged
from twiceshy.events.items import Denied, Fact, Lesson, MistakeItem, Playbook, Rule
from twiceshy.events.recall import Include
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph
from twiceshy.stores.points import Scope
from twiceshy.stores.vectors import Vectors
from workers.recall_doubts import read_doubted
from workers.recall_facts import Facts, read_facts
from workers.recall_shapes import Remembered, lesson, mistake, playbook, remembered, rule, superseded_by
from workers.recall_standing import bound

TAUGHT: frozenset[Include] = frozenset({"lessons", "playbooks"})
MADE: frozenset[Include] = frozenset({"mistakes", "rules"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """The episodes ``ids``; and of those in ``beside`` what they taught, and the rules and facts that go with them.

    ``rules`` were found by themselves, and ``asked`` are the entities that the question names.
    """

    ids: Sequence[str]
    beside: Sequence[str]
    rules: Sequence[str]
    asked: Sequence[str]
    include: frozenset[Include]


@dataclass(slots=True)
class Items:
    """What was read: episodes by version, and what stands beside them."""

    episodes: dict[str, Remembered] = field(default_factory=dict)
    lessons: list[Lesson] = field(default_factory=list)
    playbooks: list[Playbook] = field(default_factory=list)
    mistakes: list[MistakeItem] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    facts: Sequence[Fact] = ()
    denied: Sequence[Denied] = ()
    withheld: bool = False


async def read_graph(graph: Graph, scope: Scope, names: Names, wanted: Wanted) -> Items:
    """What is wanted, as far as the scope sees it.

    Raises:
        TransientError: FalkorDB is away.
    """

    async def facts() -> Facts:
        if "facts" not in wanted.include:
            return Facts()
        return await read_facts(graph, scope, names, wanted.asked, wanted.beside)

    items, about = await asyncio.gather(_incidents(graph, scope, wanted), facts())
    items.facts, items.denied = about.facts, about.denied
    items.withheld = about.withheld or hides(scope.purges, scope.known_at)
    return items


async def _incidents(graph: Graph, scope: Scope, wanted: Wanted) -> Items:
    rows = await graph.read(
        cypher.RECALLED,
        episodes=wanted.ids,
        teaching=() if wanted.include.isdisjoint(TAUGHT) else wanted.beside,
        mistaken=() if wanted.include.isdisjoint(MADE) else wanted.beside,
        rules=wanted.rules,
        ruling="rules" in wanted.include,
        **bound(scope),
    )
    items = Items()
    for episodes, claims, lessons, playbooks, mistakes, rules in rows:
        doubted = await read_doubted(graph, scope, (), {row[1]: row[0] for row in episodes if row[0]})
        for _, *row in episodes:
            found = remembered(row)
            about_it = [(successor, trust, since) for of, successor, trust, since in claims if of == found.version_id]
            items.episodes[found.version_id] = replace(
                found,
                doubted=found.version_id in doubted,
                superseded_by=superseded_by(about_it, found.trust),
            )
        # What the best episode taught comes first.
        places = {version_id: place for place, version_id in enumerate(wanted.ids)}
        items.lessons = [lesson(row, doubted=row[0] in doubted) for row in _in_order(lessons, places)]
        items.playbooks = [playbook(row, doubted=row[0] in doubted) for row in _in_order(playbooks, places)]
        items.mistakes = [mistake(row, doubted=row[0] in doubted) for row in _in_order(mistakes, places)]
        items.rules = [rule(row) for row in rules]
    return items


def _in_order(rows: Iterable[Any], places: Mapping[str, int]) -> list[Any]:
    return sorted(rows, key=lambda row: places[row[0]])


async def read_payloads(vectors: Vectors, scope: Scope, ids: Sequence[str]) -> Items:
    """The episodes alone, from what was indexed with them.

    Raises:
        TransientError: Qdrant is away.
    """
    items = Items(withheld=hides(scope.purges, scope.known_at))
    origins = {purge.origin for purge in scope.purges}
    names = ("version_id", "incident", "origin", "said_at", "trust", "body")
    stamps = ("t_valid", "t_invalid", "t_created", "t_expired")
    for version_id, told in (await vectors.payloads(scope.generation, ids)).items():
        found = remembered([*(told[name] for name in names), True, *(told[stamp] for stamp in stamps)])
        if not purged(scope.purges, found.origin, found.said_at):
            items.episodes[version_id] = replace(
                found,
                # The body has no details; the text has. It is the title alone when nobody said what happened.
                incomplete=told["text"] == found.incident.title,
                # What others between derive from cannot be read now.
                doubted=any(named.origin in origins for named in found.incident.derived_from),
            )
    return items
