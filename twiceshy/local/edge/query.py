"""Qdrant's filters and queries in JSON, as objects of Qdrant Edge. All functions raise RefusedError (400 or 422)."""

from collections.abc import Mapping
from typing import Any

import numpy
import qdrant_edge as qe

from twiceshy.local.edge.wire import (
    Json,
    Schema,
    fields,
    listed,
    malformed,
    named_vector,
    order_by,
    payload_selector,
    point_id,
    present,
    translating,
    vector_selector,
    whole_number,
)
from twiceshy.local.http import RefusedError

LIMIT_DEFAULT = 10

_QUERY_FIELDS = ("query", "using", "filter", "params", "score_threshold", "limit", "offset")
_SELECTING = ("with_payload", "with_vector")
_INDEX_TUNING = ("hnsw_ef", "indexed_only", "quantization", "acorn")  # there is no index to tune


def filter_from(body: Any) -> qe.Filter:
    given = fields(body, "filter", ("must", "should", "must_not"))
    clauses = {clause: _conditions(conditions) for clause, conditions in given.items()}
    return qe.Filter(clauses.get("must"), clauses.get("should"), clauses.get("must_not"))


def optional_filter(body: Json) -> qe.Filter | None:
    return filter_from(body["filter"]) if body.get("filter") is not None else None


def _conditions(given: Any) -> list[Any]:
    """A clause is a list of conditions or a single one."""
    return [_condition(condition) for condition in (given if isinstance(given, list) else [given])]


def _condition(body: Any) -> Any:
    given = present(body, "condition")
    if "key" in given:
        rest = {name: test for name, test in given.items() if name != "key"}
        if len(rest) != 1:
            raise malformed("a field condition has a key and one test")
        with translating(f"condition on {given['key']}"):
            return _field_condition(given["key"], rest)
    with translating("condition"):
        match given:
            case {"has_id": list(ids), **rest} if not rest:
                return qe.HasIdCondition({point_id(value) for value in ids})
            case {"has_vector": str(name), **rest} if not rest:
                return qe.HasVectorCondition(name)
            case {"is_empty": {"key": key}, **rest} if not rest:
                return qe.IsEmptyCondition(key)
            case {"is_null": {"key": key}, **rest} if not rest:
                return qe.IsNullCondition(key)
    return filter_from(body)


def _field_condition(key: str, test: Mapping[str, Any]) -> qe.FieldCondition:
    match test:
        case {"match": {"value": value, **rest}} if not rest:
            # Edge reads a bool as an integer, and then nothing matches; it does know numpy's bool for one.
            matched: Any = numpy.bool_(value) if isinstance(value, bool) else value
            return qe.FieldCondition(key, match=qe.MatchValue(matched))
        case {"match": {"any": values, **rest}} if not rest:
            return qe.FieldCondition(key, match=qe.MatchAny(values))
        case {"match": {"except": values, **rest}} if not rest:
            return qe.FieldCondition(key, match=qe.MatchExcept(values))
        case {"range": bounds}:
            # Edge's ranges are floats: exact for whole numbers below 2^53, and so for every stamp of ours.
            return qe.FieldCondition(key, range=qe.RangeFloat(**fields(bounds, "range", ("gt", "gte", "lt", "lte"))))
        case {"is_empty": bool(wanted)}:
            return qe.FieldCondition(key, is_empty=wanted)
        case {"is_null": bool(wanted)}:
            return qe.FieldCondition(key, is_null=wanted)
        case _:
            raise malformed(f"this test of {key} is not understood here: {test}")


def query_request(body: Any, schema: Schema) -> qe.QueryRequest:
    """A nearest-neighbour query of one named vector, dense or sparse."""
    given = fields(body, "query", (*_QUERY_FIELDS, *_SELECTING))
    using = given.get("using", "")
    with translating("query"):
        return qe.QueryRequest(
            limit=whole_number(given.get("limit", LIMIT_DEFAULT), "limit", at_least=1),
            offset=whole_number(given.get("offset", 0), "offset", at_least=0),
            query=qe.Query.Nearest(named_vector(using, _nearest(given.get("query")), schema), using),
            filter=optional_filter(given),
            score_threshold=given.get("score_threshold"),
            params=_search_params(given.get("params", {})),
            with_payload=payload_selector(given.get("with_payload", False)),
            with_vector=vector_selector(given.get("with_vector", False)),
        )


def _nearest(query: Any) -> Any:
    if isinstance(query, dict) and query.keys() == {"nearest"}:
        query = query["nearest"]
    if isinstance(query, list) or (isinstance(query, dict) and "indices" in query):
        return query
    raise malformed("query must be a vector, dense or sparse: no other kind is understood here")


def _search_params(body: Any) -> qe.SearchParams:
    given = fields(body, "params", ("exact", "idf", *_INDEX_TUNING))
    return qe.SearchParams(exact=given.get("exact", False), idf=_idf(given.get("idf", "global")))


def _idf(value: Any) -> qe.IdfParams | None:
    if value == "global":
        return None
    given = fields(value, "idf", ("corpus",))
    if "corpus" not in given:
        raise malformed("idf must be global or name a corpus")
    return qe.IdfParams(filter_from(given["corpus"]))


def scroll_request(body: Any) -> qe.ScrollRequest:
    given = fields(body, "scroll", ("offset", "limit", "filter", "order_by", *_SELECTING))
    if "offset" in given and "order_by" in given:
        raise RefusedError(400, "Bad request: offset is not supported when ordering by a field")
    with translating("scroll"):
        return qe.ScrollRequest(
            offset=point_id(given["offset"]) if "offset" in given else None,
            limit=whole_number(given.get("limit", LIMIT_DEFAULT), "limit", at_least=1),
            filter=optional_filter(given),
            order_by=order_by(given["order_by"]) if "order_by" in given else None,
            with_payload=payload_selector(given.get("with_payload", True)),
            with_vector=vector_selector(given.get("with_vector", False)),
        )


def count_request(body: Any) -> qe.CountRequest:
    given = fields(body, "count", ("filter", "exact"))
    return qe.CountRequest(exact=bool(given.get("exact", True)), filter=optional_filter(given))


def query_batch(body: Any, schema: Schema) -> list[qe.QueryRequest]:
    searches = listed(fields(body, "query batch", ("searches",)).get("searches"), "searches")
    return [query_request(search, schema) for search in searches]
