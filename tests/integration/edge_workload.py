"""Random points, filters and queries for comparing two implementations of Qdrant, from a seeded generator."""

from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

from qdrant_client import models

COLLECTION = "memories"
DIMENSION = 16
FOREVER = 253402300799999

VECTORS = {
    "text": models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE),
    "cause": models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE),
}
SPARSE = {"words": models.SparseVectorParams(modifier=models.Modifier.IDF)}
INDEXES: dict[str, Any] = {
    "tenant": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    "kind": models.PayloadSchemaType.KEYWORD,
    "t_created": models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=False, range=True),
    "t_expired": models.PayloadSchemaType.INTEGER,
    "trust": models.PayloadSchemaType.FLOAT,
    "incomplete": models.PayloadSchemaType.BOOL,
    "event": models.PayloadSchemaType.UUID,
}

TENANTS = ("payments", "search", "billing")
KINDS = ("episode", "lesson", "rule")


def dense(random: Random) -> list[float]:
    return [random.gauss(0, 1) for _ in range(DIMENSION)]


def sparse(random: Random, words: int) -> models.SparseVector:
    indices = random.sample(range(60), words)
    return models.SparseVector(indices=indices, values=[random.uniform(0.1, 3.0) for _ in indices])


def point(random: Random) -> models.PointStruct:
    vector: dict[str, Any] = {"text": dense(random), "cause": dense(random), "words": sparse(random, 8)}
    for name in random.sample(sorted(vector), random.choice((0, 0, 1, 2))):
        del vector[name]
    created = random.randrange(1_000)
    payload: dict[str, Any] = {
        "tenant": random.choice(TENANTS),
        "kind": random.choice((*KINDS, None)),
        "t_created": created,
        "t_expired": random.choice((FOREVER, FOREVER, created + random.randrange(1, 500))),
        "trust": random.choice((0.1, 0.3, 1.0)),
        "incomplete": random.random() < 0.3,
        "event": str(UUID(int=random.randrange(20))),
        "tags": random.sample(["a", "b", "c"], random.randrange(3)),
        "nested": {"depth": random.randrange(3)},
    }
    for name in random.sample(sorted(payload), random.randrange(3)):
        del payload[name]
    identity = random.choice((random.randrange(10**6), str(UUID(int=random.getrandbits(128), version=4))))
    return models.PointStruct(id=identity, vector=vector, payload=payload)


def condition(random: Random, ids: list[models.ExtendedPointId], depth: int) -> Any:
    bounds = sorted(random.sample(range(1_500), 2))
    field = models.FieldCondition
    choices: list[Callable[[], Any]] = [
        lambda: field(key="tenant", match=models.MatchValue(value=random.choice(TENANTS))),
        lambda: field(key="kind", match=models.MatchAny(any=random.sample(KINDS, 2))),
        lambda: field(key="kind", match=models.MatchExcept(**{"except": random.sample(KINDS, 1)})),
        lambda: field(key="incomplete", match=models.MatchValue(value=random.random() < 0.5)),
        lambda: field(key="t_created", match=models.MatchValue(value=random.randrange(1_000))),
        lambda: field(key="event", match=models.MatchValue(value=str(UUID(int=random.randrange(20))))),
        lambda: field(key="tags", match=models.MatchValue(value=random.choice("abc"))),
        lambda: field(key="nested.depth", match=models.MatchValue(value=random.randrange(3))),
        lambda: field(key="t_created", range=models.Range(gte=bounds[0], lt=bounds[1])),
        lambda: field(key="t_expired", range=models.Range(gt=random.choice((bounds[0], FOREVER - 1)))),
        lambda: field(key="t_expired", range=models.Range(lte=random.choice((bounds[1], FOREVER, FOREVER - 1)))),
        lambda: field(key="trust", range=models.Range(gte=0.3)),
        lambda: models.HasIdCondition(has_id=random.sample(ids, 30)),
        lambda: models.IsEmptyCondition(is_empty=models.PayloadField(key=random.choice(("kind", "tags", "none")))),
        lambda: models.IsNullCondition(is_null=models.PayloadField(key=random.choice(("kind", "tags")))),
        lambda: models.HasVectorCondition(has_vector=random.choice(("text", "words"))),
    ]
    if depth > 0:
        choices += [lambda: filter_(random, ids, depth - 1)] * 4
    return random.choice(choices)()


def filter_(random: Random, ids: list[models.ExtendedPointId], depth: int = 2) -> models.Filter:
    clauses = random.sample(("must", "should", "must_not"), random.randrange(1, 4))
    return models.Filter.model_validate(
        {clause: [condition(random, ids, depth) for _ in range(random.randrange(1, 3))] for clause in clauses}
    )


def query(random: Random, ids: list[models.ExtendedPointId]) -> models.QueryRequest:
    """A dense query, or a sparse one with or without a corpus for its IDF."""
    common: dict[str, Any] = {
        "filter": random.choice((None, filter_(random, ids))),
        "limit": random.choice((1, 10, 400)),
        "with_payload": random.choice((True, False, ["tenant", "nested.depth"])),
        "with_vector": random.choice((False, True, ["text"])),
    }
    if random.random() < 0.5:
        common["score_threshold"] = random.choice((None, 0.2))
        return models.QueryRequest(
            query=dense(random),
            using=random.choice(("text", "cause")),
            params=models.SearchParams(exact=True),
            **common,
        )
    corpus = models.IdfCorpusParams(corpus=filter_(random, ids, depth=1))
    params = random.choice((models.SearchParams(idf=corpus), None))
    return models.QueryRequest(query=sparse(random, 4), using="words", params=params, **common)


def write(
    random: Random, ids: list[models.ExtendedPointId], there: list[models.ExtendedPointId]
) -> models.UpdateOperation:
    """An upsert in one of its modes or a deletion of some ids, or a change of some that are there."""
    some, present = (random.sample(among, random.randrange(1, 6)) for among in (ids, there))
    wanted = filter_(random, ids, depth=0)
    payload = {"t_expired": random.randrange(2_000), "kind": random.choice((*KINDS, None))}
    match random.randrange(6):
        case 0:
            points = [point(random).model_copy(update={"id": identity}) for identity in some]
            mode = random.choice(list(models.UpdateMode))
            return models.UpsertOperation(upsert=models.PointsList(points=points, update_mode=mode))
        case 1:
            return models.SetPayloadOperation(set_payload=models.SetPayload(payload=payload, points=present))
        case 2:
            return models.SetPayloadOperation(set_payload=models.SetPayload(payload=payload, filter=wanted))
        case 3:
            vectors: list[Any] = [{"text": dense(random)}, {"words": sparse(random, 3), "cause": dense(random)}]
            changed = [models.PointVectors(id=identity, vector=random.choice(vectors)) for identity in present]
            return models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(points=changed))
        case 4:
            return models.DeleteOperation(delete=models.PointIdsList(points=some))
        case _:
            narrow = models.Filter(must=[wanted, models.HasIdCondition(has_id=some)])
            return models.DeleteOperation(delete=models.FilterSelector(filter=narrow))
