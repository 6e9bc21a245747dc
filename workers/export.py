"""A tenant's memory, of one generation, read from the stores and written as canonical JSON lines."""

from collections import defaultdict
from collections.abc import AsyncIterator

from twiceshy.core.canonical import (
    Edge,
    Names,
    Node,
    Placed,
    Point,
    Verbatim,
    held_lines,
    horizon_lines,
    in_order,
    node_lines,
    point_lines,
    timeless,
)
from twiceshy.errors import TransientError
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stores.standing import Standing, standing
from twiceshy.stores.vectors import Vectors

NODES_A_PAGE = 2_000
READS_MAX = 5


async def export_lines(
    graph: Graph,
    vectors: Vectors,
    tenant: str,
    generation: str,
    *,
    system_time: bool = True,
    quarantine: Quarantine | None = None,
) -> list[bytes]:
    """Every node, edge and point of a tenant, one JSON object a line without its newline (see `core.canonical`).

    With ``quarantine`` what it holds of the tenant comes last, marked, and is no part of the memory. The stores are
    read page by page, so a memory is read again when an entry was written meanwhile.

    Raises:
        TransientError: a store is away, or entries kept coming while the memory was read.
    """
    for _ in range(READS_MAX):
        before = await standing(graph)
        placed = await _placed(graph, vectors, tenant, generation, before, system_time=system_time)
        if await standing(graph) == before:
            held = () if quarantine is None else await quarantine.items(tenant)
            return in_order([*placed, *held_lines(held, system_time=system_time)])
    raise TransientError(
        f"The memory of {tenant} changed each of the {READS_MAX} times that it was read: "
        "export it again when nothing is being published."
    )


async def _placed(
    graph: Graph, vectors: Vectors, tenant: str, generation: str, now: Standing, *, system_time: bool
) -> list[Placed]:
    """The lines of a memory. Only without system time are all nodes held at once, for names come from all of them."""
    placed: list[Placed] = []
    names: Names = Verbatim()
    if system_time:
        async for page in _pages(graph):
            placed += node_lines(page, names)
    else:
        nodes = [node async for page in _pages(graph) for node in page]
        names = timeless(nodes)
        placed += node_lines(nodes, names)
    async for payload, dense, lexical in vectors.every(tenant, generation):
        placed += point_lines([Point(payload, dense, lexical)], names)
    placed += horizon_lines(now.horizons, names)
    return placed


async def _pages(graph: Graph) -> AsyncIterator[list[Node]]:
    after = -1
    while rows := await graph.read(cypher.EXPORT_NODES, after=after, count=NODES_A_PAGE):
        until = rows[-1][0]
        edges: dict[int, list[Edge]] = defaultdict(list)
        for source, kind, properties, to_label, to in await graph.read(cypher.EXPORT_EDGES, after=after, until=until):
            edges[source].append(Edge(kind, properties, to_label, to))
        yield [Node(label, properties, tuple(edges[number])) for number, label, properties in rows]
        after = until
