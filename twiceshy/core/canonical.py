"""A tenant's memory as canonical JSON lines: equal memories give equal bytes, whatever ids their stores use inside.

    lines = canonical_lines(nodes, points)                       with every stamp
    lines = canonical_lines(nodes, points, system_time=False)    the same for equal events at other times

A line is one node with the edges that leave it, or one point of the vector store. Keys are sorted, edges and
lines too. Without system time, whatever derives from when an event was admitted is told by that event's id:
a stamp is the event that set it, a version is its slot, its ``t_valid`` and the event that made it. Only
``revised_at`` is left out, for it may be the time of admission and does not say whether it is.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson

from twiceshy.core.temporal import FOREVER
from twiceshy.events.common import milliseconds

Properties = Mapping[str, Any]

IDENTITY = ("version_id", "observation_id", "key", "event_id")
"""The property that identifies a node: the first of these that it has."""

# What each stamp of the system axis is called once it names the event that set it.
_SET_BY = {
    "t_created": "created_by",
    "t_expired": "expired_by",
    "t_retracted": "retracted_by",
    "invalidated_at": "invalidated_by",
}
_LEFT_OUT = frozenset({"version_id", "revised_at"})


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


def canonical_lines(nodes: Sequence[Node], points: Sequence[Point], *, system_time: bool = True) -> list[bytes]:
    """Every node and point as one line of JSON without its newline, in a stable order."""
    names = _Verbatim() if system_time else _Timeless(nodes)
    placed = [_node_line(node, names) for node in nodes] + [_point_line(point, names) for point in points]
    return [line for *_, line in sorted(placed)]


class _Verbatim:
    """Identities and properties as the stores have them."""

    def identity(self, identity: str) -> str:
        return identity

    def properties(self, properties: Properties, of: str) -> Properties:
        return properties


class _Timeless:
    """Identities and properties in which no time of admission is left."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._events: dict[int, str] = {
            node.properties["t_created"]: node.properties["event_id"] for node in nodes if node.label == "Entry"
        }
        self._starts = _claimed_starts(nodes)
        self._names = {node.identity: self._name(node.properties) for node in nodes if "version_id" in node.properties}

    def identity(self, identity: str) -> str:
        return self._names.get(identity, identity)

    def properties(self, properties: Properties, of: str) -> Properties:
        told: dict[str, Any] = {}
        for name, value in properties.items():
            if name in _SET_BY:
                told[_SET_BY[name]] = None if value == FOREVER else self._events.get(value, value)
            elif name == "result":
                told[name] = self._result(orjson.loads(value))
            elif name == "t_valid":
                told[name] = self._starts.get(properties.get("episode_id", of), value)
            elif name not in _LEFT_OUT:
                told[name] = self._renamed(value)
        return told

    def _name(self, properties: Properties) -> str:
        start = self._starts.get(properties["version_id"], properties["t_valid"])
        made_by = self._events.get(properties["t_created"], properties["t_created"])
        return f"{properties['slot']}@{start}/{made_by}"

    def _result(self, recorded: dict[str, Any]) -> Any:
        """What an entry came to, as it is stored beside it."""
        versions = {
            part: [{**version, "version_id": self.identity(version["version_id"])} for version in recorded[part]]
            for part in ("facts_made", "facts_expired")
            if part in recorded
        }
        return {**self.properties(recorded, of=""), **versions}

    def _renamed(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.identity(value)
        if isinstance(value, list):
            return [self._renamed(part) for part in value]
        return value


def _claimed_starts(nodes: Sequence[Node]) -> dict[str, int]:
    """By version id, when its incident says that it began.

    An episode's ``t_valid``, and so that of all that rests on it, is this unless it was admitted before: then
    it is the time of admission.
    """
    starts: dict[str, int] = {}
    for node in nodes:
        if node.label == "MemoryEpisode":
            started_at = orjson.loads(node.properties["body"]).get("started_at")
            concluded_at: int = node.properties["concluded_at"]
            starts[node.identity] = milliseconds(datetime.fromisoformat(started_at)) if started_at else concluded_at
    for node in nodes:
        episode = node.properties.get("episode_id")
        if "version_id" in node.properties and episode in starts:
            starts[node.identity] = starts[episode]
    for node in nodes:
        if node.label == "MemoryRule":
            quoted = [starts[mistake] for mistake in node.properties["rests_on"] if mistake in starts]
            starts[node.identity] = min(quoted, default=node.properties["t_valid"])
    return starts


Placed = tuple[str, str, bytes]
"""What a line is sorted by, and the line."""


def _node_line(node: Node, names: _Verbatim | _Timeless) -> Placed:
    edges = [
        {
            "edge": edge.type,
            "to": {"node": edge.to_label, "id": names.identity(edge.to)},
            "properties": names.properties(edge.properties, of=node.identity),
        }
        for edge in node.edges
    ]
    identity = names.identity(node.identity)
    line = {
        "node": node.label,
        "id": identity,
        "properties": names.properties(node.properties, of=node.identity),
        "edges": sorted(edges, key=_line),
    }
    return node.label, identity, _line(line)


def _point_line(point: Point, names: _Verbatim | _Timeless) -> Placed:
    version_id: str = point.payload["version_id"]
    # The generation names the build and not the memory: two builds of one log are to be equal.
    payload = {name: value for name, value in point.payload.items() if name != "generation"}
    identity = names.identity(version_id)
    weights = (struct.pack("<If", term, point.lexical[term]) for term in sorted(point.lexical))
    line = {
        "point": identity,
        "payload": names.properties(payload, of=version_id),
        "dense_sha256": None if point.dense is None else _sha256(struct.pack(f"<{len(point.dense)}f", *point.dense)),
        "lexical_sha256": _sha256(b"".join(weights)),
    }
    return "point", identity, _line(line)


def _line(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _sha256(data: bytes) -> str:
    return sha256(data).hexdigest()
