"""The embedded Qdrant answers what the client's own local mode answers, to random questions."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from qdrant_client import AsyncQdrantClient, models

from tests.integration import edge_workload as workload
from tests.integration.edge_workload import COLLECTION
from tests.processes import ServerProcess

POINTS = 400
QUESTIONS = 80


class Pair(NamedTuple):
    """The same points in both."""

    edge: AsyncQdrantClient
    local: AsyncQdrantClient
    ids: list[models.ExtendedPointId]


@pytest.fixture(scope="module")
async def pair(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    data: Path = tmp_path_factory.mktemp("edge")
    points = [workload.point(random) for random in [Random(1)] for _ in range(POINTS)]
    with ServerProcess("twiceshy.local.edge", "--data", str(data)) as server:
        pair = Pair(AsyncQdrantClient(url=server.url), AsyncQdrantClient(":memory:"), [point.id for point in points])
        for client in (pair.edge, pair.local):
            await client.create_collection(
                COLLECTION, vectors_config=workload.VECTORS, sparse_vectors_config=workload.SPARSE
            )
            for start in range(0, POINTS, 100):
                await client.upsert(COLLECTION, points[start : start + 100])
        for field, schema in workload.INDEXES.items():
            await pair.edge.create_payload_index(COLLECTION, field, schema)
        yield pair
        await pair.edge.close()
        await pair.local.close()


async def test_same_points_match_a_filter(pair: Pair) -> None:
    random = Random(2)
    for _ in range(QUESTIONS):
        wanted = workload.filter_(random, pair.ids)
        expected, _ = await pair.local.scroll(COLLECTION, wanted, limit=POINTS, with_vectors=False)
        actual, _ = await pair.edge.scroll(COLLECTION, wanted, limit=POINTS, with_vectors=False)
        assert by_id(actual) == by_id(expected), wanted
        assert (await pair.edge.count(COLLECTION, wanted)).count == len(expected)


@pytest.mark.filterwarnings("ignore:Local mode performs exact")
async def test_same_points_are_nearest(pair: Pair) -> None:
    random = Random(3)
    for _ in range(QUESTIONS):
        asked = workload.query(random, pair.ids)
        [expected] = await pair.local.query_batch_points(COLLECTION, [asked])
        [actual] = await pair.edge.query_batch_points(COLLECTION, [asked])
        assert_same_hits(actual.points, expected.points)


async def test_batch_of_queries_answers_as_each_alone(pair: Pair) -> None:
    random = Random(4)
    asked = [workload.query(random, pair.ids) for _ in range(20)]
    together = await pair.edge.query_batch_points(COLLECTION, asked)
    for request, answer in zip(asked, together, strict=True):
        alone = await pair.edge.query_points(
            COLLECTION,
            query=request.query,
            using=request.using,
            query_filter=request.filter,
            search_params=request.params,
            limit=request.limit or 10,
            with_payload=request.with_payload or False,
            with_vectors=request.with_vector or False,
            score_threshold=request.score_threshold,
        )
        assert_same_hits(answer.points, alone.points)


async def test_writes_of_every_kind_leave_the_same_points(pair: Pair) -> None:
    random = Random(5)
    points = [workload.point(random) for _ in range(100)]
    ids = [point.id for point in points]
    for client in (pair.edge, pair.local):
        await client.create_collection(
            "changing", vectors_config=workload.VECTORS, sparse_vectors_config=workload.SPARSE
        )
        await client.upsert("changing", points)
    for _ in range(20):
        there = [record.id for record in (await pair.local.scroll("changing", limit=POINTS, with_payload=False))[0]]
        operation = workload.write(random, ids, there)
        for client in (pair.edge, pair.local):
            await client.batch_update_points("changing", [operation])
    expected, _ = await pair.local.scroll("changing", limit=POINTS, with_vectors=True)
    actual, _ = await pair.edge.scroll("changing", limit=POINTS, with_vectors=True)
    assert 0 < len(expected) < len(ids)
    assert by_id(actual) == by_id(expected)
    vectors = {record.id: record.vector for record in actual}
    for record in expected:
        assert_same_vectors(vectors[record.id], record.vector)


async def test_scroll_pages_through_every_point_once(pair: Pair) -> None:
    seen: list[models.ExtendedPointId] = []
    offset = None
    while True:
        records, offset = await pair.edge.scroll(COLLECTION, limit=37, offset=offset, with_payload=False)
        seen += [record.id for record in records]
        if offset is None:
            break
    assert sorted(map(str, seen)) == sorted(map(str, pair.ids))


async def test_scroll_in_the_order_of_a_field(pair: Pair) -> None:
    for direction in models.Direction:
        order = models.OrderBy(key="t_created", direction=direction)
        expected, _ = await pair.local.scroll(COLLECTION, order_by=order, limit=50)
        actual, _ = await pair.edge.scroll(COLLECTION, order_by=order, limit=50)
        assert [stamp(record) for record in actual] == [stamp(record) for record in expected]


def by_id(records: list[models.Record]) -> dict[str, models.Payload | None]:
    return {str(record.id): record.payload for record in records}


def stamp(record: models.Record) -> int:
    assert record.payload is not None
    return int(record.payload["t_created"])


def assert_same_hits(actual: list[models.ScoredPoint], expected: list[models.ScoredPoint]) -> None:
    """Equal ids, payloads and vectors in the order of scores that agree to five digits; ties in any order."""
    assert [hit.score for hit in actual] == pytest.approx([hit.score for hit in expected], rel=1e-5, abs=1e-6)
    assert len({hit.id for hit in actual}) == len(actual)
    others = {hit.id: hit for hit in expected}
    for hit in actual:
        if hit.id not in others:
            assert hit.score == pytest.approx(expected[-1].score, rel=1e-5)  # tied with the last
            continue
        assert hit.payload == others[hit.id].payload
        assert_same_vectors(hit.vector, others[hit.id].vector)


def assert_same_vectors(actual: models.VectorStructOutput | None, expected: models.VectorStructOutput | None) -> None:
    if not expected:
        assert not actual
        return
    assert isinstance(actual, dict)
    assert isinstance(expected, dict)
    assert actual.keys() == expected.keys()
    for name, vector in expected.items():
        other = actual[name]
        if isinstance(vector, models.SparseVector):
            assert isinstance(other, models.SparseVector)
            assert other.indices == vector.indices
            assert other.values == pytest.approx(vector.values, rel=1e-5)
        else:
            assert other == pytest.approx(vector, rel=1e-4, abs=1e-6)
