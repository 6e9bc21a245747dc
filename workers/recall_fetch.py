"""recall.requests.v1 → recall, items by their ids → recall.replies.<tenant>

Versions of items, also of what memory no longer believes. What was purged is as good as unknown.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from twiceshy.core.aliases import Names, place
from twiceshy.core.episodes import superseded_slot
from twiceshy.core.facts import claimed
from twiceshy.core.memory import Row
from twiceshy.core.purges import purged
from twiceshy.core.temporal import FOREVER
from twiceshy.events.items import (
    Episode,
    Fact,
    Lesson,
    MistakeItem,
    Playbook,
    Rule,
    Why,
)
from twiceshy.events.recall import ItemsReplied, ItemsRequested
from twiceshy.stores import cypher
from workers.recall_doubts import read_doubted
from workers.recall_facts import EVER, Told, known_again, read_evidence, read_observations, told_of, withheld_at_last
from workers.recall_shapes import lesson, mistake, playbook, remembered, rule, superseded_by
from workers.recall_standing import Reading, bound

AnyItem: TypeAlias = Episode | Lesson | Playbook | MistakeItem | Rule | Fact

TAUGHT: tuple[Callable[..., Lesson | Playbook | MistakeItem], ...] = (lesson, playbook, mistake)
"""In the order in which the query has their rows."""


async def items(question: ItemsRequested, reading: Reading) -> ItemsReplied:
    """The items that memory has, in the order of their ids; and the ids that it has nothing to show for."""
    ids = list(dict.fromkeys(question.ids))
    rows = await reading.graph.read(cypher.ITEMS, ids=ids, **bound(reading.scope))
    found: dict[str, AnyItem] = {}
    withheld = False
    for episodes, *taught, rules, facts in rows:
        shown = [_unpurged(of_kind, reading) for of_kind in (episodes, *taught)]
        told = [Told(*row) for row in facts]
        said = await _said(reading, [row[2] for row in shown[0]], told)
        incidents = {row[2] for of_kind in shown[1:] for row in of_kind}
        derived_from = {row[1]: row[0] for row in shown[0] if row[0]}
        doubted, judged = await asyncio.gather(
            read_doubted(reading.graph, reading.scope, incidents, derived_from), _facts(reading, told, said)
        )
        made: list[AnyItem] = [*judged]
        made += [_episode(row, reading, said, doubted, ids) for row in shown[0]]
        for shape, of_kind in zip(TAUGHT, shown[1:], strict=True):
            made += [shape(_as_known(row, reading), doubted=row[2] in doubted) for row in of_kind]
        quoting = [(row[0], *row[2:]) for row in rules if not row[1]]
        made += [rule(_as_known(row, reading)) for row in quoting]
        found = {item.id: item for item in made}
        withheld = len(found) < sum(map(len, (episodes, *taught, rules, facts)))
    return ItemsReplied(
        **reading.envelope(withheld=withheld),
        items=tuple(found[item_id] for item_id in ids if item_id in found),
        missing_ids=tuple(item_id for item_id in ids if item_id not in found),
    )


def _unpurged(rows: Sequence[Any], reading: Reading) -> list[Any]:
    """Rows of what an incident says, which have its origin and when it was said in the same columns."""
    return [row for row in rows if not purged(reading.scope.purges, row[3], row[4])]


async def _said(reading: Reading, incidents: Sequence[str], facts: Sequence[Told]) -> list[Row]:
    """What was said of incidents' successors and of facts, in one round trip; of the past where a purge is possible."""
    spans = {superseded_slot(incident): EVER for incident in incidents}
    ever = Names(reading.ground.standing.aliases)
    spans |= {place(ref, fact.predicate): EVER for fact in facts for ref in ever.group(fact.subject)}
    known_at = reading.scope.known_at
    return await read_observations(reading.graph, spans, known_at, unless_by=0 if reading.scope.purges else known_at)


async def _facts(reading: Reading, facts: Sequence[Told], said: Sequence[Row]) -> list[Fact]:
    scope, names = reading.scope, reading.names
    live = [claimed(row, names) for row in said if row["t_retracted"] > scope.known_at]
    evidence = await read_evidence(reading.graph, scope, live)
    found = []
    for told in facts:
        if not scope.purges or not withheld_at_last(told, said, reading.ground.standing, scope):
            version = told.as_known(scope.known_at)
            found.append(Fact(**told_of(version, evidence, *known_again(version, names), scope.known_at)))
    return found


def _episode(
    row: Sequence[Any], reading: Reading, said: Sequence[Row], doubted: Collection[str], ids: Sequence[str]
) -> Episode:
    found = remembered(_as_known(row[1:], reading))
    claims = [
        (one["object"], one["trust"], one["valid_from"])
        for one in said
        if one["slot"] == superseded_slot(found.key)
        and one["t_retracted"] > reading.scope.known_at
        and not purged(reading.scope.purges, one["origin"], one["said_at"])
    ]
    told = replace(found, doubted=found.version_id in doubted, superseded_by=superseded_by(claims, found.trust))
    return told.episode(ids.index(found.version_id) + 1, 0.0, Why())


def _as_known(row: Sequence[Any], reading: Reading) -> list[Any]:
    """The row without a closing that memory does not know of yet: it ends with ``t_expired``."""
    return [*row[:-1], row[-1] if row[-1] <= reading.scope.known_at else FOREVER]
