"""What a collection and its payload indexes are made of: Qdrant's descriptions in JSON, as Edge's, and back."""

from typing import Any

import qdrant_edge as qe

from twiceshy.local.edge.wire import (
    Json,
    Schema,
    choice,
    fields,
    malformed,
    present,
    translating,
    whole_number,
)

# Without an approximate index: building one would hold Python's lock for minutes, and 100,000 vectors are
# searched through in 4 ms. A vacuum, too, is only ever asked for; these are the thresholds it then applies.
OPTIMIZERS = qe.EdgeOptimizersConfig(indexing_threshold=10**9, deleted_threshold=0.2, vacuum_min_vector_number=1000)

_DISTANCES = {
    "Cosine": qe.Distance.Cosine,
    "Dot": qe.Distance.Dot,
    "Euclid": qe.Distance.Euclid,
    "Manhattan": qe.Distance.Manhattan,
}
_MODIFIERS = {"idf": qe.Modifier.Idf, "none": None}
_INDEXES: dict[str, Any] = {
    "keyword": qe.KeywordIndexParams,
    "integer": qe.IntegerIndexParams,
    "float": qe.FloatIndexParams,
    "bool": qe.BoolIndexParams,
    "datetime": qe.DatetimeIndexParams,
    "uuid": qe.UuidIndexParams,
}
_INDEX_NAMES = {
    qe.PayloadSchemaType.Keyword: "keyword",
    qe.PayloadSchemaType.Integer: "integer",
    qe.PayloadSchemaType.Float: "float",
    qe.PayloadSchemaType.Bool: "bool",
    qe.PayloadSchemaType.Datetime: "datetime",
    qe.PayloadSchemaType.Uuid: "uuid",
}
_INDEX_PARAMS = ("is_tenant", "is_principal", "lookup", "range", "prefix", "on_disk", "enable_hnsw")

# What tunes storage, replicas or an index is taken, as any client may say it, and changes nothing here.
_VECTOR_TUNING = ("hnsw_config", "quantization_config", "on_disk", "memory", "datatype")
_COLLECTION_TUNING = (
    "shard_number",
    "sharding_method",
    "replication_factor",
    "write_consistency_factor",
    "on_disk_payload",
    "payload",
    "id_tracker",
    "hnsw_config",
    "wal_config",
    "optimizers_config",
    "quantization_config",
    "strict_mode_config",
)


def collection_description(body: Any) -> Json:
    """What create_collection says, checked as far as its field names go."""
    return fields(body, "collection", ("vectors", "sparse_vectors", "metadata", *_COLLECTION_TUNING))


def schema_of(description: Json) -> Schema:
    dense = {name: params["size"] for name, params in description.get("vectors", {}).items()}
    return Schema(dense, frozenset(description.get("sparse_vectors", {})))


def edge_config(description: Json) -> qe.EdgeConfig:
    dense = present(description.get("vectors", {}), "vectors")
    sparse = present(description.get("sparse_vectors", {}), "sparse_vectors")
    with translating("collection"):
        return qe.EdgeConfig(
            vectors={name: _dense_params(name, body) for name, body in dense.items()},
            sparse_vectors={name: _sparse_params(name, body) for name, body in sparse.items()},
            optimizers=OPTIMIZERS,
        )


def _dense_params(name: str, body: Any) -> qe.EdgeVectorParams:
    given = fields(body, f"vectors must be named here: {name}", ("size", "distance", *_VECTOR_TUNING))
    size = whole_number(given.get("size"), f"size of {name}", at_least=1)
    return qe.EdgeVectorParams(size, choice(given.get("distance"), f"distance of {name}", _DISTANCES))


def _sparse_params(name: str, body: Any) -> qe.EdgeSparseVectorParams:
    given = fields(body, f"sparse vector {name}", ("index", "modifier"))
    modifier = choice(given.get("modifier", "none"), f"modifier of {name}", _MODIFIERS)
    return qe.EdgeSparseVectorParams(modifier=modifier)


def collection_json(description: Json, info: "qe.ShardInfo") -> Json:
    """What get_collection answers."""
    params = {
        "vectors": description.get("vectors", {}),
        "sparse_vectors": description.get("sparse_vectors", {}),
        "shard_number": 1,
        "replication_factor": 1,
        "write_consistency_factor": 1,
        "on_disk_payload": True,
    }
    optimizers = {
        "deleted_threshold": OPTIMIZERS.deleted_threshold,
        "vacuum_min_vector_number": OPTIMIZERS.vacuum_min_vector_number,
        "default_segment_number": 1,
        "indexing_threshold": OPTIMIZERS.indexing_threshold,
        "flush_interval_sec": 0,
    }
    return {
        "status": "green",
        "optimizer_status": "ok",
        "points_count": info.points_count,
        "indexed_vectors_count": info.indexed_vectors_count,
        "segments_count": info.segments_count,
        "config": {
            "params": params,
            "hnsw_config": {"m": 0, "ef_construct": 100, "full_scan_threshold": 0},
            "optimizer_config": optimizers,
            "metadata": description.get("metadata"),
        },
        "payload_schema": {name: _index_json(index) for name, index in info.payload_schema.items()},
    }


def field_index(body: Any) -> qe.UpdateOperation:
    """The operation that makes a payload index, of a type's name alone or of a type with parameters."""
    given = fields(body, "index", ("field_name", "field_schema"))
    told = given.get("field_schema")
    params = fields({"type": told} if isinstance(told, str) else told, "field_schema", ("type", *_INDEX_PARAMS))
    kind = choice(params.pop("type", None), "field_schema's type", _INDEXES)
    if not isinstance(given.get("field_name"), str):
        raise malformed("field_name must be a string")
    with translating("index"):
        return qe.UpdateOperation.create_field_index(given["field_name"], kind(**params))


def _index_json(index: "qe.PayloadIndexInfo") -> Json:
    kind = _INDEX_NAMES[index.data_type]
    answer: Json = {"data_type": kind, "points": index.points}
    if index.params is not None:
        params = {name: getattr(index.params, name, None) for name in _INDEX_PARAMS}
        answer["params"] = {"type": kind} | {name: value for name, value in params.items() if value is not None}
    return answer
