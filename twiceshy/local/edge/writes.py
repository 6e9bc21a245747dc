"""Qdrant's writes in JSON, as operations on a shard.

A write is translated in full before any of its request is applied. All functions raise RefusedError (400).
"""

from collections.abc import Callable
from typing import Any

import qdrant_edge as qe

from twiceshy.local.edge.query import filter_from
from twiceshy.local.edge.wire import (
    PointId,
    Schema,
    fields,
    listed,
    malformed,
    named_vectors,
    payload_of,
    point_id,
    point_ids,
    points,
    present,
    translating,
    update_mode,
)

Write = Callable[[qe.EdgeShard], None]
Operation = qe.UpdateOperation


def upsert(body: Any, schema: Schema) -> Write:
    given = fields(body, "upsert", ("points", "batch", "update_mode"))
    operation = Operation.upsert_points(points(given, schema), update_mode=update_mode(given.get("update_mode")))
    return lambda shard: shard.update(operation)


def delete(body: Any, _: Schema) -> Write:
    given = fields(body, "delete", ("points", "filter"))
    match given:
        case {"points": ids, **rest} if not rest:
            operation = Operation.delete_points(point_ids(ids))
        case {"filter": condition, **rest} if not rest:
            operation = Operation.delete_points_by_filter(filter_from(condition))
        case _:
            raise malformed("delete takes points or a filter")
    return lambda shard: shard.update(operation)


def set_payload(body: Any, _: Schema) -> Write:
    given = fields(body, "set_payload", ("payload", "key", "points", "filter"))
    payload, key = payload_of(given), given.get("key")
    match given:
        case {"filter": condition} if "points" not in given:
            with translating("set_payload"):
                operation = Operation.set_payload_by_filter(filter_from(condition), payload, key)
            return lambda shard: shard.update(operation)
        case {"points": values} if "filter" not in given:
            ids = point_ids(values)
            with translating("set_payload"):
                Operation.set_payload(ids, payload, key)
        case _:
            raise malformed("set_payload takes points or a filter")

    def write(shard: qe.EdgeShard) -> None:
        if there := _existing(shard, ids):
            shard.update(Operation.set_payload(there, payload, key))

    return write


def update_vectors(body: Any, schema: Schema) -> Write:
    given = fields(body, "update_vectors", ("points",))
    vectors: dict[PointId, qe.PointVectors] = {}
    for raw in listed(given.get("points"), "points"):
        point = fields(raw, "point", ("id", "vector"))
        identity = point_id(point.get("id"))
        vectors[identity] = qe.PointVectors(identity, named_vectors(point.get("vector"), schema))

    def write(shard: qe.EdgeShard) -> None:
        if there := _existing(shard, list(vectors)):
            shard.update(Operation.update_vectors([vectors[identity] for identity in there]))

    return write


def _existing(shard: qe.EdgeShard, ids: list[PointId]) -> list[PointId]:
    """Those of the ids that are there: Edge fails on the first that is not, having changed the ones before it."""
    return [record.id for record in shard.retrieve(ids, False, False)]


_OPERATIONS = {
    "upsert": upsert,
    "set_payload": set_payload,
    "update_vectors": update_vectors,
    "delete": delete,
}


def batch(body: Any, schema: Schema) -> list[Write]:
    operations = listed(fields(body, "batch", ("operations",)).get("operations"), "operations")
    return [_batched(operation, schema) for operation in operations]


def _batched(operation: Any, schema: Schema) -> Write:
    match list(present(operation, "operation").items()):
        case [(name, body)] if name in _OPERATIONS:
            return _OPERATIONS[name](body, schema)
        case _:
            raise malformed(f"an operation is one of {', '.join(_OPERATIONS)}")
