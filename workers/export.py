"""A tenant's memory, of one generation, read from the stores and written as canonical JSON lines."""

from collections import defaultdict

from twiceshy.core.canonical import Edge, Node, Point, canonical_lines
from twiceshy.errors import TransientError
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph
from twiceshy.stores.vectors import Vectors

NODES_A_PAGE = 2_000
READS_MAX = 5


async def export_lines(
    graph: Graph, vectors: Vectors, tenant: str, generation: str, *, system_time: bool = True
) -> list[bytes]:
    """Every node, edge and point of a tenant, one JSON object a line without its newline (see `core.canonical`).

    All but the stages' watermarks is in it. The stores are read page by page, so it is read again when an entry was
    written meanwhile.

    Raises:
        TransientError: a store is away, or entries kept coming while the memory was read.
    """
    for _ in range(READS_MAX):
        before = await graph.watermarks()
        nodes = await _nodes(graph)
        points = [Point(payload, dense, lexical) async for payload, dense, lexical in vectors.every(tenant, generation)]
        if await graph.watermarks() == before:
            return canonical_lines(nodes, points, system_time=system_time)
    raise TransientError(
        f"The memory of {tenant} changed each of the {READS_MAX} times that it was read: "
        "export it again when nothing is being published."
    )


async def _nodes(graph: Graph) -> list[Node]:
    nodes: list[Node] = []
    after = -1
    while rows := await graph.read(cypher.EXPORT_NODES, after=after, count=NODES_A_PAGE):
        until = rows[-1][0]
        edges: dict[int, list[Edge]] = defaultdict(list)
        for source, kind, properties, to_label, to in await graph.read(cypher.EXPORT_EDGES, after=after, until=until):
            edges[source].append(Edge(kind, properties, to_label, to))
        nodes += [Node(label, properties, tuple(edges[number])) for number, label, properties in rows]
        after = until
    return nodes
