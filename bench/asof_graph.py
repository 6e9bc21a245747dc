"""Milliseconds of three kinds of read in a graph of 10,000 things that changed ten times each.

Each change is an incident with one fact, written as the worker of the graph writes it (`core.facts`, `cypher.RECORD`),
round by round. So the graph holds what folding 100,000 incidents leaves of their facts: 100,000 versions that are
believed, of which 10,000 hold today, and 90,000 that were believed for a while and have expired.

current     what holds now, as known now
as of       what held at an old event time, as known now
both axes   what held at an old event time, as known at an old time between then and now
nothing     no fact at all, ``RETURN 1``: what the round trip costs on this machine just then

They are asked in turn, one question after the other, by `cypher.FACTS_AT` through `Graph.read`; answers are checked.
"""

import random
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bench.falkordb import falkordb
from bench.machine import machine
from twiceshy.core.aliases import folded_ref, place
from twiceshy.core.facts import fact_rows, observe, rewrite_slots
from twiceshy.core.memory import Memory, Writes
from twiceshy.core.temporal import FOREVER
from twiceshy.events.chain import Admission, EntryLogged, StampedSettings
from twiceshy.events.common import instant, milliseconds
from twiceshy.events.incident import FactClaim, IncidentConcluded, Origin
from twiceshy.stores import cypher
from twiceshy.stores.connection import connect
from twiceshy.stores.graph import Graph, graph_name, tables

TENANT = "bench"
PREDICATE = "owner"
OBJECT = 4  # where it is in a row of `cypher.FACTS_AT`
CHANGES = 10
BATCH = 500
WARM = 200
ASKED = 2_000
P95_MS_MAX = 2.0
RATIO_MAX = 1.3
DELETED_AT_ONCE = 10_000

BEGINNING = milliseconds(datetime(2020, 1, 1, tzinfo=UTC))
MONTH_MS = 30 * 86_400_000
HEARD_AFTER_MS = 86_400_000

# What compaction will do.
COMPACT = """
MATCH (f:MemoryFact)
WHERE f.t_expired < $forever
WITH f
LIMIT $count
DELETE f
RETURN count(f)
"""

# What a round trip of the client costs without any of it.
NOTHING = """
RETURN 1
"""

COUNT = """
MATCH (f:MemoryFact)
RETURN count(f), sum(CASE WHEN f.t_expired = $forever THEN 1 ELSE 0 END),
       sum(CASE WHEN f.t_expired = $forever AND f.t_invalid = $forever THEN 1 ELSE 0 END)
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a thing, and the change whose object is the answer."""

    thing: int
    as_of: int
    known_at: int
    change: int


def changed_at(change: int) -> int:
    return BEGINNING + change * MONTH_MS


def subject(thing: int) -> str:
    return f"service:thing-{thing}"


def entry_of(thing: int, change: int) -> tuple[EntryLogged, IncidentConcluded]:
    """The log entry of one change, admitted a day after it; a millisecond apart, so that each has its own stamp."""
    admitted_at = changed_at(change) + HEARD_AFTER_MS + thing
    claim = FactClaim(
        subject=subject(thing),
        predicate=PREDICATE,
        object=f"the team of change {change}",
        valid_from=instant(changed_at(change)),
    )
    incident = IncidentConcluded(
        tenant=TENANT,
        fingerprint=f"{thing}/{change}",
        title=f"thing {thing} changed hands",
        concluded_at=instant(admitted_at),
        origin=Origin(name="bench"),
        facts=(claim,),
    )
    entry = EntryLogged(
        event_id=f"{thing}/{change}",
        tenant=TENANT,
        kind="incident",
        ce_source="bench",
        ce_id=f"{thing}/{change}",
        revised_at=admitted_at,
        admitted_at=admitted_at,
        settings=StampedSettings(origin_trust=0.3),
        admission=Admission(how="clean"),
        content_hash="",
        incident=incident,
    )
    return entry, incident


async def load(graph: Graph, things: int) -> None:
    """Folds every change in."""
    memory = Memory(watermark=0)
    for change in range(CHANGES):
        for first in range(0, things, BATCH):
            seen, memory.writes = memory.watermark, Writes()
            for thing in range(first, min(first + BATCH, things)):
                entry, incident = entry_of(thing, change)
                touched = observe(memory, fact_rows(entry, incident, entry.admitted_at))
                rewrite_slots(memory, entry, touched, entry.admitted_at)
                memory.watermark = entry.admitted_at
            await graph.write_fenced(
                cypher.RECORD,
                stage="graph",
                seen=seen,
                next_watermark=memory.watermark,
                forever=FOREVER,
                **tables(memory.writes.parameters()),
            )


def questions(things: int, seed: int) -> list[dict[str, Asked]]:
    """A question of each kind about a thing of its own, so many times."""
    chance = random.Random(seed)
    now = changed_at(CHANGES + 1)
    asked = []
    for _ in range(WARM + ASKED):
        held = chance.randrange(CHANGES - 1)
        known = chance.randrange(held, CHANGES - 1)
        old_time = changed_at(held) + chance.randrange(MONTH_MS)
        old_knowledge = changed_at(known) + HEARD_AFTER_MS + things + chance.randrange(MONTH_MS - things)
        asked.append(
            {
                "current": Asked(chance.randrange(things), now, now, CHANGES - 1),
                "as of": Asked(chance.randrange(things), old_time, now, held),
                "both axes": Asked(chance.randrange(things), old_time, old_knowledge, held),
            }
        )
    return asked


async def timed(graph: Graph, rounds: Sequence[dict[str, Asked]]) -> dict[str, list[float]]:
    """Milliseconds of every question by its kind, but for the first ones, and of as many reads of nothing."""
    taken: dict[str, list[float]] = defaultdict(list)
    for asked in rounds:
        for kind, one in asked.items():
            where = place(folded_ref(subject(one.thing)), PREDICATE)
            started = time.perf_counter()
            rows = await graph.read(cypher.FACTS_AT, places=[where], as_of=one.as_of, known_at=one.known_at)
            taken[kind].append((time.perf_counter() - started) * 1_000)
            assert [row[OBJECT] for row in rows] == [f"the team of change {one.change}"], (kind, one, rows)
        started = time.perf_counter()
        await graph.read(NOTHING)
        taken["nothing"].append((time.perf_counter() - started) * 1_000)
    return {kind: of_kind[WARM:] for kind, of_kind in taken.items()}


def report(taken: dict[str, list[float]]) -> None:
    print(f"  {machine()}")
    current = _cuts(taken["current"])
    for kind, of_kind in taken.items():
        p50, p95 = _cuts(of_kind)
        ratios = f"{p50 / current[0]:.2f} and {p95 / current[1]:.2f} of current"
        print(f"  {kind:10} p50 {p50:6.3f} ms   p95 {p95:6.3f} ms   {ratios}")


def _cuts(taken: Sequence[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(taken, n=100, method="inclusive")
    return cuts[49], cuts[94]


async def compact(graph: Graph) -> None:
    deleted = DELETED_AT_ONCE
    while deleted == DELETED_AT_ONCE:
        [[deleted]] = await graph.write(COMPACT, forever=FOREVER, count=DELETED_AT_ONCE)


async def measure(things: int) -> None:
    async with falkordb() as port:
        redis = connect(f"redis://127.0.0.1:{port}")
        try:
            graph = Graph(redis, graph_name(TENANT, "bench"))
            await graph.prepare()
            started = time.perf_counter()
            await load(graph, things)
            print(f"graph: {await counted(graph)}, loaded in {time.perf_counter() - started:.0f} s", end="")
            print(f"; {ASKED} reads of a kind (goals: p95 {P95_MS_MAX:g} ms, as of {RATIO_MAX:g} of current)")
            report(await timed(graph, questions(things, seed=1)))
            await compact(graph)
            print(f"without the expired versions: {await counted(graph)}")
            left = [{kind: asked[kind] for kind in ("current", "as of")} for asked in questions(things, seed=2)]
            report(await timed(graph, left))
        finally:
            await redis.aclose()


async def counted(graph: Graph) -> str:
    [[versions, believed, holding]] = await graph.read(COUNT, forever=FOREVER)
    return f"{versions:,} versions, {believed:,.0f} of them believed and {holding:,.0f} holding today"
