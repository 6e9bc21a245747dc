"""Qdrant's JSON as objects of Qdrant Edge, and back.

Everything is checked before it becomes an object: Edge takes NaN and zero vectors without a word, and a sparse
vector with fewer values than indices makes it panic, then and at every later start, for it is in the log by then.
Whatever is not understood is refused, never ignored, unless it only tunes an index that does not exist here.
All functions raise RefusedError (400), or 422 for a number out of its range, as Qdrant does.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import qdrant_edge as qe

from twiceshy.local.http import RefusedError

Json = dict[str, Any]
PointId = int | UUID | str  # as Edge's types have it; ours are int or UUID
NamedVectors = dict[str, Any]  # a dense vector is list[float], a sparse one qe.SparseVector

FLOAT32_MIN, FLOAT32_MAX = 1.1754944e-38, 3.4028234e38
UNSIGNED64_END = 2**64

_SELECTORS = {"include": qe.PayloadSelector.Include, "exclude": qe.PayloadSelector.Exclude}
_DIRECTIONS = {"asc": qe.Direction.Asc, "desc": qe.Direction.Desc}
_UPDATE_MODES = {
    "upsert": qe.UpdateMode.Upsert,
    "insert_only": qe.UpdateMode.InsertOnly,
    "update_only": qe.UpdateMode.UpdateOnly,
}


@dataclass(frozen=True)
class Schema:
    """A collection's vectors: the dimension of each dense one by name, and the names of the sparse ones."""

    dense: Mapping[str, int]
    sparse: frozenset[str]


def present(body: Any, what: str) -> Json:
    """The fields of an object that are not null."""
    if not isinstance(body, dict):
        raise malformed(f"{what} must be an object")
    return {name: value for name, value in body.items() if value is not None}


def fields(body: Any, what: str, known: Iterable[str]) -> Json:
    """The fields of an object that are not null. Raises RefusedError when there is one that is not ``known``."""
    given = present(body, what)
    if unknown := given.keys() - set(known):
        raise malformed(f"{what}: not understood here: {', '.join(sorted(unknown))}")
    return given


def malformed(reason: str) -> RefusedError:
    return RefusedError(400, f"Format error in JSON body: {reason}")


@contextmanager
def translating(what: str) -> Iterator[None]:
    """Turn Edge's complaints about an argument of a constructor into RefusedError."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise malformed(f"{what}: {error}") from error


def listed(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise malformed(f"{what} must be a list")
    return value


def whole_number(value: Any, what: str, at_least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise malformed(f"{what} must be a whole number")
    if value < at_least:
        raise RefusedError(422, f"Validation error in JSON body: [{what}: must be {at_least} or larger, got {value}]")
    return value


def point_id(value: Any) -> PointId:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < UNSIGNED64_END:
        return value
    try:
        return UUID(value)
    except (AttributeError, TypeError, ValueError) as error:
        raise malformed(f"{value!r} is not a point id: an unsigned integer or a UUID") from error


def point_ids(values: Any) -> list[PointId]:
    return [point_id(value) for value in listed(values, "points")]


def named_vectors(body: Any, schema: Schema) -> NamedVectors:
    if not isinstance(body, dict):
        raise malformed("vectors must be named here: an object of name to vector")
    return {name: named_vector(name, value, schema) for name, value in body.items()}


def named_vector(name: str, value: Any, schema: Schema) -> Any:
    """A vector, checked against what the collection says of its name.

    The dimension must match and the norm be finite and above zero: a cosine with anything else means nothing.
    """
    if name in schema.sparse:
        return _sparse_vector(name, value)
    if name not in schema.dense:
        raise RefusedError(400, f"Wrong input: Not existing vector name error: {name}")
    size = schema.dense[name]
    if len(listed(value, f"vector {name}")) != size:
        raise RefusedError(400, f"Wrong input: Vector dimension error: expected dim: {size}, got {len(value)}")
    with translating(f"vector {name}"):
        norm = math.hypot(*value)
    if not FLOAT32_MIN < norm < FLOAT32_MAX:
        raise RefusedError(400, f"Wrong input: vector {name} is zero or not finite")
    return value


def _sparse_vector(name: str, value: Any) -> qe.SparseVector:
    parts = fields(value, f"sparse vector {name}", ("indices", "values"))
    indices = listed(parts.get("indices"), f"indices of {name}")
    values = listed(parts.get("values"), f"values of {name}")
    if len(indices) != len(values):
        raise RefusedError(400, f"Wrong input: {name} has {len(indices)} indices and {len(values)} values")
    with translating(f"sparse vector {name}"):
        if len(set(indices)) != len(indices):
            raise ValueError("an index comes more than once")
        if not math.hypot(*values) < FLOAT32_MAX:
            raise ValueError("a value is not finite")
        return qe.SparseVector(indices, values)


def points(body: Json, schema: Schema) -> list[qe.Point]:
    """The points of an upsert, given as a list or as columns."""
    return [
        qe.Point(point_id(raw.get("id")), named_vectors(raw.get("vector", {}), schema), _payload(raw.get("payload")))
        for raw in _rows(body)
    ]


def _rows(body: Json) -> Iterator[Json]:
    if "points" in body:
        for raw in listed(body["points"], "points"):
            yield fields(raw, "point", ("id", "vector", "payload"))
        return
    batch = fields(body.get("batch"), "batch", ("ids", "vectors", "payloads"))
    ids = listed(batch.get("ids"), "ids")
    columns = present(batch.get("vectors"), "vectors")
    payloads = listed(batch.get("payloads", [None] * len(ids)), "payloads")
    if any(len(listed(column, "vectors")) != len(ids) for column in (*columns.values(), payloads)):
        raise malformed("a batch has as many vectors of each name, and payloads, as ids")
    for at, identity in enumerate(ids):
        vector = {name: column[at] for name, column in columns.items() if column[at] is not None}
        yield {"id": identity, "vector": vector, "payload": payloads[at]}


def _payload(value: Any) -> Json:
    if value is not None and not isinstance(value, dict):
        raise malformed("a payload must be an object")
    return value or {}


def payload_of(body: Json) -> Json:
    if "payload" not in body:
        raise malformed("payload is missing")
    return _payload(body["payload"])


def update_mode(value: str | None) -> qe.UpdateMode | None:
    return None if value is None else choice(value, "update_mode", _UPDATE_MODES)


def choice(value: Any, what: str, choices: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise malformed(f"{what} must be one of {', '.join(choices)}")
    return choices[value]


def payload_selector(value: Any) -> Any:
    if isinstance(value, dict):
        [(kind, keys)] = value.items() if len(value) == 1 else [("", None)]
        with translating("with_payload"):
            return choice(kind, "with_payload", _SELECTORS)(keys)
    return _bool_or_names(value, "with_payload")


def vector_selector(value: Any) -> bool | list[str]:
    return _bool_or_names(value, "with_vector")


def _bool_or_names(value: Any, what: str) -> bool | list[str]:
    if isinstance(value, bool):
        return value
    if all(isinstance(name, str) for name in listed(value, what)):
        return list(value)
    raise malformed(f"{what} must be a bool or a list of names")


def order_by(value: Any) -> qe.OrderBy:
    order = fields({"key": value} if isinstance(value, str) else value, "order_by", ("key", "direction", "start_from"))
    with translating("order_by"):
        direction = choice(order.get("direction", "asc"), "direction", _DIRECTIONS)
        return qe.OrderBy(order.get("key", ""), direction, order.get("start_from"))


def record_json(record: qe.Record | qe.ScoredPoint) -> Json:
    """A record or a hit as Qdrant writes it; UUIDs are left to the JSON encoder."""
    answer: Json = {"id": record.id, "payload": record.payload}
    if isinstance(record.vector, dict):
        answer["vector"] = {name: _vector_json(vector) for name, vector in record.vector.items()}
    if isinstance(record, qe.ScoredPoint):
        return answer | {"version": record.version, "score": record.score}
    return answer if record.order_value is None else answer | {"order_value": record.order_value}


def _vector_json(vector: Any) -> Any:
    if isinstance(vector, qe.SparseVector):
        return {"indices": vector.indices, "values": vector.values}
    return vector
