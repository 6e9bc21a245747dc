"""Random histories through FalkorDB: batches and killed commands leave, row for row, what the core leaves in tables."""

import os
from collections.abc import AsyncIterator, Sequence
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.entries import placed
from tests.memory import Memory, memory
from tests.unit.core.random_histories import histories
from tests.unit.core.recorded_tables import Tables
from tests.unit.core.temporal_histories import (
    PREDICATE,
    TENANT,
    Aliased,
    Entry,
    Published,
    Purged,
    Statement,
    Superseded,
    Unaliased,
    Unblocked,
    logged,
    remember,
)
from twiceshy.core.recording import record
from twiceshy.core.temporal import FOREVER
from twiceshy.events.chain import EntryLogged, EntryRecorded
from twiceshy.stores import cypher
from twiceshy.stores.graph import STAGES, Graph, Graphs, tables
from twiceshy.stores.notes import Progress
from workers.graph import GraphStage
from workers.graph_load import load_command

EXAMPLES = 300 if os.environ.get("CI") == "true" else 20

EMPTY = """
MATCH (n)
DETACH DELETE n
"""
NODES = """
MATCH (n)
WHERE NOT n:Meta
RETURN labels(n)[0], properties(n)
"""
EDGES = """
MATCH (a)-[x]->(b)
RETURN type(x), coalesce(a.version_id, a.key), coalesce(b.version_id, b.key), properties(x)
"""

KEPT = (b'["MemoryEpisode"', b'["SUPERSEDES"')

piece_sizes = st.sampled_from([1, 4, 500])


@pytest.fixture(scope="module", name="stores")
async def _stores() -> AsyncIterator[Memory]:
    async with memory() as running:
        yield running


@pytest.fixture(scope="module", name="stage")
async def _stage(stores: Memory) -> tuple[GraphStage, Graph]:
    """The worker, and the graph that it writes."""
    redis, generation = stores.stores.redis, f"test-{uuid4().hex[:8]}"
    graphs = Graphs(redis, generation)
    return GraphStage(graphs, Progress(redis, generation)), await graphs.prepared(TENANT)


@given(histories(), st.lists(st.integers(1, 6), min_size=16, max_size=16), piece_sizes)
@settings(max_examples=EXAMPLES)
async def test_graph_has_row_for_row_what_the_core_leaves_in_tables(
    stage: tuple[GraphStage, Graph], history: list[Entry], sizes: list[int], piece_rows: int
) -> None:
    worker, graph = stage
    await empty(graph)
    told: list[EntryRecorded] = []
    with patch("workers.graph.PIECE_ROWS_MAX", piece_rows):
        for batch in split(logged(history), sizes):
            told += await worker.apply(placed(batch))
    tables = remember(history).tables
    assert [one.recorded for one in told] == [tables.result(one.entry.event_id) for one in told]
    assert await rows_of(graph) == rows_of_tables(tables)


def said(incident: str, *says: Statement, number: int = 1, **fields: Any) -> Published:
    return Published(incident, f"{incident} {number}", 1_000 + number, number, says, **fields)


HAND_MADE: dict[str, list[Entry]] = {
    "the other successors of a target stay": [
        said("p/1"),
        said("q/1", supersedes=("p/1",)),
        said("r/1", number=2),
        Superseded("p/1", "r/1", 7, 1_010),
        said("p/1", number=20, title="Again"),
    ],
    "a reference with a colon in it is found": [
        said("p/1", Statement("x", 0, subject="host:db:5432")),
        said("p/1", number=2),
    ],
    "a predicate comes to be many-valued": [
        said("p/1", Statement("x", 0)),
        said("p/1", Statement("y", 0), number=2, many_valued=(PREDICATE,)),
    ],
    "a capital letter makes no type": [
        said("p/1", Statement("x", 0, subject="Service:a")),
        Aliased("service:a", "service:b", 1_005),
        Aliased("Service:a", "service:b", 1_006),
        said("q/1", Statement("y", 5, subject="service:b"), number=10),
    ],
    "an alias goes on through a type": [
        said("p/1", Statement("service:x", 0, subject="service:x")),
        Aliased("x", "y", 1_005),
        Aliased("service:y", "service:z", 1_006),
        said("q/1", Statement("service:z", 5, subject="service:z"), number=10),
        Unaliased("x", "y", 1_020),
    ],
    "an edge changes its status between the same versions": [
        said("p/1", trust=0.9),
        said("r/1", supersedes=("p/1",), starts_at=5, trust=0.9),
        said("q/1", supersedes=("p/1",), starts_at=9),
        Superseded("p/1", "q/1", 9, 1_010),
    ],
    "a purge gives back what was said before": [
        said("p/1", Statement("x", 0), supersedes=("q/1",)),
        said("q/1"),
        said("p/1", Statement("y", 0), number=5, title="Again"),
        Purged("p", 1_010, since=1_005),
    ],
    "an origin is blocked and unblocked": [
        said("p/1"),
        Purged("p", 1_005, block=True),
        said("p/2", number=6),
        Unblocked("p", 1_010),
        said("p/3", number=12),
    ],
}


@pytest.mark.parametrize("piece_rows", [1, 500])
@pytest.mark.parametrize("history", HAND_MADE.values(), ids=HAND_MADE.keys())
async def test_graph_has_what_the_core_leaves_where(
    stage: tuple[GraphStage, Graph], history: list[Entry], piece_rows: int
) -> None:
    worker, graph = stage
    await empty(graph)
    with patch("workers.graph.PIECE_ROWS_MAX", piece_rows):
        for entry in logged(history):
            for _ in range(2 if entry.command else 0):
                await begin(graph, entry, piece_rows, 1_000)
            await worker.apply(placed([entry]))
    assert await rows_of(graph) == rows_of_tables(remember(history).tables)


@given(histories(), st.lists(st.integers(0, 40), min_size=16, max_size=16), piece_sizes, piece_sizes)
@settings(max_examples=EXAMPLES)
async def test_command_that_is_killed_in_the_middle_and_comes_again_leaves_what_an_undisturbed_one_leaves(
    stage: tuple[GraphStage, Graph], history: list[Entry], killed_after: list[int], first_rows: int, then_rows: int
) -> None:
    worker, graph = stage
    await empty(graph)
    with patch("workers.graph.PIECE_ROWS_MAX", then_rows):
        for entry, pieces in zip(logged(history), killed_after, strict=False):
            if entry.command is not None:
                await begin(graph, entry, first_rows, pieces)
            await worker.apply(placed([entry]))
    assert await rows_of(graph) == rows_of_tables(remember(history).tables)


async def test_compaction_leaves_the_versions_that_an_edge_joins_which_is_believed(
    stage: tuple[GraphStage, Graph],
) -> None:
    worker, graph = stage
    await empty(graph)
    history = [said("p/1"), said("q/1", supersedes=("p/1",), starts_at=9), said("p/1", number=2, title="Again")]
    await worker.apply(placed(logged(history)))
    before = 1_005
    [counted] = await graph.read(cypher.EXPIRED_BEFORE, before=before)
    for label, expected in zip(cypher.VERSIONED, counted, strict=True):
        expired = [row[0] for row in await graph.read(cypher.EXPIRED_VERSIONS[label], before=before)]
        assert len(expired) == expected
        await graph.write_piece(cypher.DROP_VERSIONS[label], stage="embed", seen=0, version_ids=expired)
    tables = remember(history).tables
    dropped = f'"version_id":"{next(iter(tables.episodes))}"'.encode()
    left = [row for row in rows_of_tables(tables) if row.startswith(KEPT) and dropped not in row]
    assert counted[0] == 1
    assert [row for row in await rows_of(graph) if row.startswith(KEPT)] == left


async def begin(graph: Graph, entry: EntryLogged, piece_rows: int, pieces_max: int) -> None:
    """Does with a command what the worker does, until it is killed after so many pieces."""
    begun = await load_command(graph, entry)
    seen = begun.watermark
    record(begun, entry)
    if begun.watermark != seen:
        for piece, _ in zip(begun.writes.pieces(piece_rows), range(pieces_max), strict=False):
            rows = {**tables(piece), "forever": FOREVER}
            await graph.write_piece(cypher.PIECE, stage=GraphStage.name, seen=seen, **rows)


async def empty(graph: Graph) -> None:
    await graph.write(EMPTY)
    for stage in STAGES:
        await graph.write(cypher.MAKE_META, stage=stage)


def split(entries: Sequence[EntryLogged], sizes: Sequence[int]) -> list[Sequence[EntryLogged]]:
    """The entries in batches of these sizes, each of which begins with the last entry of the one before, come again."""
    batches: list[Sequence[EntryLogged]] = []
    start = 0
    for size in sizes:
        if start < len(entries):
            batches.append(entries[max(0, start - (size > 3)) : start + size])
            start += size
    return batches


async def rows_of(graph: Graph) -> list[bytes]:
    nodes = [[label, properties] for label, properties in await graph.read(NODES)]
    return canonical([*nodes, *await graph.read(EDGES)])


def rows_of_tables(tables: Tables) -> list[bytes]:
    nodes = [[label, row] for label, rows in tables.by_label().items() for row in rows]
    edges = [
        [kind, edge["from"], edge["to"], {name: value for name, value in edge.items() if name not in ("from", "to")}]
        for kind, edge in tables.edges
    ]
    return canonical([*nodes, *edges])


def canonical(rows: Sequence[list[Any]]) -> list[bytes]:
    """Each as one line, in order. A property that is null is none."""
    for row in rows:
        row[-1] = {name: value for name, value in row[-1].items() if value is not None}
    return sorted(orjson.dumps(row, option=orjson.OPT_SORT_KEYS) for row in rows)
