"""A tenant's memory as canonical JSON lines: equal memories give equal bytes, whatever ids their stores use inside.

    lines = canonical_lines(nodes, points, horizons)                       with every stamp
    lines = canonical_lines(nodes, points, horizons, system_time=False)    the same for equal events at other times

Keys are sorted, and so are lines: nodes, edges, points, the horizon, and last what is held in quarantine, if asked
for, which is no part of a memory. What a line is, one of its keys says:

    {"node": "MemoryEntity", "id": "service:payments", "properties": {…}}
    {"edge": "MENTIONS", "from_node": "MemoryEpisode", "from": …, "to_node": "MemoryEntity", "to": …, "properties": {…}}
    {"edge": "pool_size", "id": …, "from": "service:payments", "to": "20", "to_entity": false, "properties": {…}}
    {"point": …, "payload": {…}, "dense_sha256": …, "lexical_sha256": …}
    {"horizon": {"graph": 1772323200000, "embed": 1772323200000}}
    {"quarantined": …, "state": "pending", "reasons": […], "incident": {…}, …}

A node is known by its label and its ``id``, the first of `IDENTITY` that it has; an edge by its type and its ends.

A version of a fact is an edge as well: its label is the predicate, its ends are subject and object, and
``to_entity`` says whether the object is a thing, with a node, or a mere value. The graph has a node a version,
MemoryFact, with edges SUBJECT and OBJECT. They repeat what it says, and so they are in the one line; a fact whose
edges say anything else, or are missing, is told as the graph has it, by a line for the node and one for each edge.

Left out are the stages' watermarks, which say how far a memory is, and the generation, which names the build: two
builds of one log are equal. Without system time, names are those of `core.timeless`.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

import orjson

from twiceshy.core.timeless import Timeless
from twiceshy.events.quarantine import IncidentQuarantined

Properties = Mapping[str, Any]

IDENTITY = ("version_id", "observation_id", "key", "event_id")
"""The property that identifies a node: the first of these that it has. A purge has the id of its command's event."""

_ENTITY = "MemoryEntity"
_FACT = "MemoryFact"
_REPEATED = ("version_id", "t_valid", "t_invalid", "t_created", "t_expired", "source", "status", "confidence_score")
"""What a fact's edges repeat of it."""
_SAID_BY_THE_EDGE = frozenset({"subject", "predicate", "object"})


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge that leaves a node. ``to`` is the other node's identity."""

    type: str
    properties: Properties
    to_label: str
    to: str


@dataclass(frozen=True, slots=True)
class Node:
    label: str
    properties: Properties
    edges: tuple[Edge, ...] = ()

    @property
    def identity(self) -> str:
        return str(next(self.properties[name] for name in IDENTITY if name in self.properties))


@dataclass(frozen=True, slots=True)
class Point:
    """What the vector store holds of a version. ``lexical`` has weights by term; they are float32 as well."""

    payload: Properties
    dense: Sequence[float] | None
    lexical: Mapping[int, float]


class Names(Protocol):
    """How an export calls what it tells of."""

    def identity(self, identity: str) -> str: ...
    def properties(self, properties: Properties, of: str) -> Properties:
        """The properties of the version ``of``, or of what is made by it; ``of`` is empty when no version is."""

    def horizon(self, horizon: int) -> int | str | None: ...


class Verbatim:
    """Identities and properties as the stores have them."""

    def identity(self, identity: str) -> str:
        return identity

    def properties(self, properties: Properties, of: str) -> Properties:
        return properties

    def horizon(self, horizon: int) -> int | str | None:
        return horizon


Placed = tuple[int, str, str, bytes]
"""What a line is sorted by, and the line."""


def canonical_lines(
    nodes: Sequence[Node],
    points: Iterable[Point],
    horizons: Mapping[str, int] | None = None,
    *,
    held: Iterable[IncidentQuarantined] = (),
    system_time: bool = True,
) -> list[bytes]:
    """A memory, each line without its newline. ``horizons`` is by stage, as of the last compaction."""
    names = Verbatim() if system_time else timeless(nodes)
    placed = [*node_lines(nodes, names), *point_lines(points, names), *horizon_lines(horizons or {}, names)]
    return in_order([*placed, *held_lines(held, system_time=system_time)])


def timeless(nodes: Iterable[Node]) -> Timeless:
    """Names for all that has to do with these nodes."""
    return Timeless((node.label, node.properties) for node in nodes)


def in_order(placed: Iterable[Placed]) -> list[bytes]:
    return [line for *_, line in sorted(placed)]


def node_lines(nodes: Iterable[Node], names: Names) -> Iterator[Placed]:
    """Nodes, and the edges that leave them."""
    for node in nodes:
        identity = names.identity(node.identity)
        if _told_by_its_edges(node):
            yield _fact_line(node, identity, names)
            continue
        told = names.properties(node.properties, of=node.identity)
        yield 0, node.label, identity, _line({"node": node.label, "id": identity, "properties": told})
        for edge in node.edges:
            yield _edge_line(node, identity, edge, names)


def _told_by_its_edges(node: Node) -> bool:
    """Whether a node is a fact, and its edges say what it says and no more."""
    if node.label != _FACT or not node.properties.keys() >= _SAID_BY_THE_EDGE:
        return False
    said = node.properties
    ends = [("SUBJECT", said["subject"])] + [("OBJECT", said["object"])] * (len(node.edges) > 1)
    repeated = _line({name: said[name] for name in _REPEATED if name in said})
    edges = sorted(node.edges, key=lambda edge: edge.type, reverse=True)
    # As text, for 1 is 1.0 and True otherwise.
    return [(edge.type, edge.to) for edge in edges] == ends and all(
        edge.to_label == _ENTITY and _line(edge.properties) == repeated for edge in edges
    )


def _fact_line(node: Node, identity: str, names: Names) -> Placed:
    said = node.properties
    rest = {name: value for name, value in said.items() if name not in _SAID_BY_THE_EDGE}
    line = {
        "edge": said["predicate"],
        "id": identity,
        "from": said["subject"],
        "to": said["object"],
        "to_entity": len(node.edges) > 1,
        "properties": names.properties(rest, of=node.identity),
    }
    return 1, str(said["predicate"]), identity, _line(line)


def _edge_line(node: Node, identity: str, edge: Edge, names: Names) -> Placed:
    # From when on one incident takes the place of another is not said by the version of either.
    of = "" if edge.type == "SUPERSEDES" else node.identity
    line = {
        "edge": edge.type,
        "from_node": node.label,
        "from": identity,
        "to_node": edge.to_label,
        "to": names.identity(edge.to),
        "properties": names.properties(edge.properties, of=of),
    }
    return 1, edge.type, identity, _line(line)


def point_lines(points: Iterable[Point], names: Names) -> Iterator[Placed]:
    for point in points:
        version_id: str = point.payload["version_id"]
        payload = {name: value for name, value in point.payload.items() if name != "generation"}
        identity = names.identity(version_id)
        dense, lexical = point.dense, point.lexical
        weights = (struct.pack("<If", term, lexical[term]) for term in sorted(lexical))
        line = {
            "point": identity,
            "payload": names.properties(payload, of=version_id),
            "dense_sha256": None if dense is None else _sha256(struct.pack(f"<{len(dense)}f", *dense)),
            "lexical_sha256": _sha256(b"".join(weights)),
        }
        yield 2, "", identity, _line(line)


def horizon_lines(horizons: Mapping[str, int], names: Names) -> Iterator[Placed]:
    """One line once something was compacted; what lies before is not in the memory any more."""
    told = {stage: names.horizon(horizon) for stage, horizon in horizons.items() if horizon}
    if told:
        yield 3, "", "", _line({"horizon": told})


def held_lines(held: Iterable[IncidentQuarantined], *, system_time: bool) -> Iterator[Placed]:
    """What is held back of a memory, in any state. Its times are those of a clock, and a decision is an event."""
    clock: dict[str, Any] = {"held_at": True, "expires_at": True, "decisions": {"__all__": {"at", "event_id"}}}
    for item in held:
        hidden = {"item_id": True} if system_time else {"item_id": True, **clock}
        told = item.model_dump(mode="json", exclude=hidden, exclude_defaults=True)
        line = {"quarantined": item.item_id, **told, "state": item.state.value}
        yield 4, "", item.item_id, _line(line)


def _line(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _sha256(data: bytes) -> str:
    return sha256(data).hexdigest()
