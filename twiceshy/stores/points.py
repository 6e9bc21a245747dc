"""Items as Qdrant's points, and what a search may see as its filter."""

from dataclasses import dataclass
from typing import Any

from qdrant_client import models

from twiceshy.core.ids import derive
from twiceshy.core.purges import Purge
from twiceshy.core.temporal import FOREVER
from twiceshy.stores.embeddings import Vector

DENSE = "dense"
LEXICAL = "lexical"


@dataclass(frozen=True, slots=True)
class Item:
    """One version of an item, with its vectors.

    ``dense`` is None for a text that cannot be embedded, and while the embedder is away; then
    ``vector_missing`` says that it will be filled in.
    """

    version_id: str
    tenant: str
    generation: str
    kind: str
    t_valid: int
    t_invalid: int
    t_created: int
    t_expired: int
    lexical: dict[int, float]
    payload: dict[str, Any]
    dense: Vector | None
    vector_missing: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory, of which generation, and the moment on both axes (epoch milliseconds).

    What one of ``purges`` took away is not seen at any moment. With ``superseded``, what no longer holds at ``as_of``
    is seen as well.
    """

    tenant: str
    generation: str
    as_of: int
    known_at: int
    purges: tuple[Purge, ...] = ()
    superseded: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """The best ``limit`` items of a kind: by cosine to a vector, or by BM25 for words, whose weights are by term."""

    kind: str
    query: Vector | dict[int, float]
    limit: int


@dataclass(frozen=True, slots=True)
class Hit:
    version_id: str
    score: float


def point_id(generation: str, version_id: str) -> str:
    return derive("point", generation, version_id)


def copied(point: models.Record, **changes: Any) -> Item:
    """An item with another's vectors and payload, and other stamps, generation or version."""
    payload = dict(point.payload or {})
    lexical, dense = vectors_of(point)
    placed = {name: payload.pop(name) for name in _PLACED if name in payload}
    payload.pop("has_vector")
    return Item(**{**placed, **changes}, lexical=lexical, dense=dense, payload=payload)


def vectors_of(point: models.Record) -> tuple[dict[int, float], Vector | None]:
    """The weights of a point's words by term, and its dense vector."""
    named: Any = point.vector or {}
    words = named[LEXICAL]
    return dict(zip(words.indices, words.values, strict=True)), named.get(DENSE)


_PLACED = (
    "version_id", "tenant", "generation", "kind", "t_valid", "t_invalid", "t_created", "t_expired", "vector_missing",
)  # fmt: skip


def to_point(item: Item) -> models.PointStruct:
    # Not validated: numbers by the hundred, which the server checks.
    vector: dict[str, Any] = {
        LEXICAL: models.SparseVector.model_construct(indices=list(item.lexical), values=list(item.lexical.values()))
    }
    if item.dense is not None:
        vector[DENSE] = item.dense
    payload = {
        "version_id": item.version_id,
        "tenant": item.tenant,
        "generation": item.generation,
        "kind": item.kind,
        "t_valid": item.t_valid,
        "t_invalid": item.t_invalid,
        "t_created": item.t_created,
        "t_expired": item.t_expired,
        "has_vector": item.dense is not None,
        "vector_missing": item.vector_missing,
        **item.payload,
    }
    identity = point_id(item.generation, item.version_id)
    return models.PointStruct.model_construct(id=identity, vector=vector, payload=payload)


def owner_conditions(tenant: str, generation: str) -> list[models.Condition]:
    return [
        models.FieldCondition(key="tenant", match=models.MatchValue(value=tenant)),
        models.FieldCondition(key="generation", match=models.MatchValue(value=generation)),
    ]


def changed_conditions(since: int | None) -> list[models.Condition]:
    """What was made or closed after the transaction time ``since``; None for everything."""
    if since is None:
        return []
    made = models.FieldCondition(key="t_created", range=models.Range(gt=since))
    closed = models.FieldCondition(key="t_expired", range=models.Range(gt=since, lt=FOREVER))
    return [models.Filter(should=[made, closed])]


def scope_filter(scope: Scope, kind: str) -> models.Filter:
    """What a search may see: inside the search itself, or items nearer to the query crowd out the right ones."""
    must: list[models.Condition] = [
        *owner_conditions(scope.tenant, scope.generation),
        models.FieldCondition(key="kind", match=models.MatchValue(value=kind)),
        models.FieldCondition(key="t_valid", range=models.Range(lte=scope.as_of)),
        models.FieldCondition(key="t_created", range=models.Range(lte=scope.known_at)),
        models.FieldCondition(key="t_expired", range=models.Range(gt=scope.known_at)),
    ]
    if not scope.superseded:
        must.append(models.FieldCondition(key="t_invalid", range=models.Range(gt=scope.as_of)))
    return models.Filter(must=must, must_not=[_taken_away(purge) for purge in scope.purges] or None)


def _taken_away(purge: Purge) -> models.Filter:
    return models.Filter(
        must=[
            models.FieldCondition(key="origin", match=models.MatchValue(value=purge.origin)),
            models.FieldCondition(key="said_at", range=models.Range(gte=purge.since, lt=purge.at)),
        ]
    )


def to_request(scope: Scope, search: Search) -> models.QueryRequest:
    visible = scope_filter(scope, search.kind)
    asked: dict[str, Any] = {"filter": visible, "limit": search.limit, "with_payload": ["version_id"]}
    if isinstance(search.query, dict):
        words = models.SparseVector(indices=list(search.query), values=list(search.query.values()))
        # IDF counts what the scope sees and nothing else.
        corpus = models.SearchParams(idf=models.IdfCorpusParams(corpus=visible))
        return models.QueryRequest(query=words, using=LEXICAL, params=corpus, **asked)
    return models.QueryRequest(query=search.query, using=DENSE, **asked)
