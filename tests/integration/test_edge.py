"""The embedded Qdrant through an unmodified client: what it keeps, what it refuses, and what it survives."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from tests.processes import ROOT, ServerProcess

COLLECTION = "episodes"
VECTORS = {"text": models.VectorParams(size=4, distance=models.Distance.COSINE)}
SPARSE = {"words": models.SparseVectorParams(modifier=models.Modifier.IDF)}
UNIT = [1.0, 0.0, 0.0, 0.0]
UNACCEPTABLE: list[Any] = [
    {"text": [0.0, 0.0, 0.0, 0.0]},
    {"text": [1e39, 0.0, 0.0, 0.0]},
    {"text": [None, 0.0, 0.0, 0.0]},
    {"words": {"indices": [1, 2], "values": [1.0]}},
    {"words": {"indices": [1, 1], "values": [1.0, 1.0]}},
    {"words": {"indices": [-1], "values": [1.0]}},
    {"words": {"indices": [2**32], "values": [1.0]}},
    {"words": {"indices": [1], "values": [1e39]}},
    {"words": {"indices": [[1]], "values": [1.0]}},
    {"other": UNIT},
    UNIT,
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess("twiceshy.local.edge", "--data", str(tmp_path_factory.mktemp("shared"))) as server:
        yield server


@pytest.fixture(scope="module")
async def connected(shared: ServerProcess) -> AsyncIterator[AsyncQdrantClient]:
    client = AsyncQdrantClient(url=shared.url)  # pytest's filter makes a warning about versions an error
    yield client
    await client.close()


@pytest.fixture
async def client(connected: AsyncQdrantClient) -> AsyncQdrantClient:
    """A client of the shared server, with a new collection."""
    await connected.delete_collection(COLLECTION)
    await create(connected)
    return connected


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


@pytest.fixture
def server(data: Path) -> Iterator[ServerProcess]:
    """A server of the test's own, to be stopped and killed."""
    with ServerProcess("twiceshy.local.edge", "--data", str(data)) as server:
        yield server


@pytest.fixture
async def own(server: ServerProcess) -> AsyncIterator[AsyncQdrantClient]:
    client = AsyncQdrantClient(url=server.url)
    await create(client)
    yield client
    await client.close()


async def create(client: AsyncQdrantClient) -> None:
    await client.create_collection(
        COLLECTION, vectors_config=VECTORS, sparse_vectors_config=SPARSE, metadata={"model": "m1"}
    )


def point(identity: int, vector: list[float] | None = None, **payload: Any) -> models.PointStruct:
    return models.PointStruct(id=identity, vector={"text": vector or UNIT}, payload=payload)


async def payloads(client: AsyncQdrantClient) -> dict[models.ExtendedPointId, models.Payload | None]:
    records, _ = await client.scroll(COLLECTION, limit=10_000)
    return {record.id: record.payload for record in records}


async def test_collection_says_what_it_was_made_of(client: AsyncQdrantClient) -> None:
    tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    await client.create_payload_index(COLLECTION, "tenant", tenant)
    await client.create_payload_index(COLLECTION, "t_created", models.PayloadSchemaType.INTEGER)
    await client.upsert(COLLECTION, [point(1, tenant="a"), point(2)])
    info = await client.get_collection(COLLECTION)
    assert info.config.params.vectors == VECTORS
    assert info.config.params.sparse_vectors == SPARSE
    assert info.config.metadata == {"model": "m1"}
    assert info.points_count == 2
    assert info.payload_schema["tenant"].params == tenant
    assert info.payload_schema["tenant"].points == 1
    assert info.payload_schema["t_created"].data_type == models.PayloadSchemaType.INTEGER


async def test_creating_a_collection_twice_is_a_conflict(client: AsyncQdrantClient) -> None:
    with pytest.raises(UnexpectedResponse, match="already exists") as refusal:
        await client.create_collection(COLLECTION, vectors_config=VECTORS)
    assert refusal.value.status_code == 409


async def test_deleted_collection_is_gone_and_may_be_made_anew(client: AsyncQdrantClient) -> None:
    await client.upsert(COLLECTION, [point(1)])
    assert await client.delete_collection(COLLECTION)
    assert not await client.delete_collection(COLLECTION)
    assert not await client.collection_exists(COLLECTION)
    assert (await client.get_collections()).collections == []
    with pytest.raises(UnexpectedResponse, match="Not found: Collection") as refusal:
        await client.get_collection(COLLECTION)
    assert refusal.value.status_code == 404
    await client.create_collection(COLLECTION, vectors_config=VECTORS)
    assert (await client.count(COLLECTION)).count == 0


async def test_insert_only_leaves_what_is_there(client: AsyncQdrantClient) -> None:
    await client.upsert(COLLECTION, [point(1, said="first")])
    again = [point(1, [0.0, 1.0, 0.0, 0.0], said="second"), point(2, said="new")]
    await client.upsert(COLLECTION, again, update_mode=models.UpdateMode.INSERT_ONLY)
    [kept, added] = await client.retrieve(COLLECTION, [1, 2], with_vectors=True)
    assert kept.payload == {"said": "first"}
    assert kept.vector == {"text": UNIT}
    assert added.payload == {"said": "new"}


async def test_payload_of_a_missing_point_is_set_on_the_others(client: AsyncQdrantClient) -> None:
    await client.upsert(COLLECTION, [point(1), point(2)])
    await client.set_payload(COLLECTION, {"t_expired": 5}, points=[1, 404, 2])
    await client.update_vectors(COLLECTION, [models.PointVectors(id=404, vector={"text": UNIT})])
    await client.delete(COLLECTION, [404])
    assert await payloads(client) == {1: {"t_expired": 5}, 2: {"t_expired": 5}}


async def test_wrong_dimension_names_both_and_writes_nothing(client: AsyncQdrantClient) -> None:
    with pytest.raises(UnexpectedResponse, match="expected dim: 4, got 3") as refusal:
        await client.upsert(COLLECTION, [point(1), point(2, [1.0, 2.0, 3.0])])
    assert refusal.value.status_code == 400
    assert await payloads(client) == {}
    with pytest.raises(UnexpectedResponse, match="expected dim: 4, got 3"):
        await client.query_points(COLLECTION, [1.0, 2.0, 3.0], using="text")


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("points/query", {"query": UNIT, "using": "text", "filter": {"must": [{"keyy": "a"}]}}, "keyy"),
        ("points/query", {"query": UNIT, "using": "text", "filter": {"must": [{"key": "a"}]}}, "one test"),
        ("points/query", {"query": UNIT, "using": "text", "filter": {"must": [{"key": "a", "match": {}}]}}, "match"),
        ("points/query", {"query": UNIT, "using": "text", "filter": {"mustn't": []}}, "mustn't"),
        ("points/query", {"query": UNIT, "using": "other"}, "Not existing vector name"),
        ("points/query", {"query": UNIT, "using": "text", "prefetch": [{"limit": 3}]}, "prefetch"),
        ("points/query", {"query": 17, "using": "text"}, "must be a vector"),
        ("points/count", {"filter": {"must": {"key": "a", "range": {"gt": "2026-01-01"}}}}, "real number"),
        ("points/scroll", {"limit": "many"}, "limit"),
        ("points/scroll", {"offset": "not an id"}, "point id"),
        ("points/scroll", {"order_by": "t_created"}, "range index"),
        ("points/delete", {}, "points or a filter"),
        ("points/payload", {"payload": [], "points": [1]}, "payload"),
    ],
)
async def test_malformed_request_is_refused(
    client: AsyncQdrantClient, shared: ServerProcess, path: str, body: Any, words: str
) -> None:
    async with httpx.AsyncClient(base_url=shared.url) as plain:
        answer = await plain.post(f"/collections/{COLLECTION}/{path}", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["status"]["error"]


async def test_vector_that_edge_would_choke_on_never_reaches_it(own: AsyncQdrantClient, server: ServerProcess) -> None:
    async with httpx.AsyncClient(base_url=server.url) as plain:
        for vector in UNACCEPTABLE:
            points = {"points": [{"id": 1, "vector": vector}]}
            answer = await plain.put(f"/collections/{COLLECTION}/points", json=points)
            assert answer.status_code == 400, vector
    await own.upsert(COLLECTION, [point(2)])
    server.stop()
    server.start()
    assert await payloads(own) == {2: {}}


async def test_restart_keeps_every_collection_and_a_stop_is_orderly(
    own: AsyncQdrantClient, server: ServerProcess
) -> None:
    await own.create_collection("other", vectors_config=VECTORS)
    await own.create_payload_index(COLLECTION, "tenant", models.PayloadSchemaType.KEYWORD)
    await own.upsert(COLLECTION, [point(1, tenant="a")])
    before = await own.get_collection(COLLECTION)
    assert server.stop() == 0
    server.start()
    assert {collection.name for collection in (await own.get_collections()).collections} == {COLLECTION, "other"}
    assert await own.get_collection(COLLECTION) == before
    assert await payloads(own) == {1: {"tenant": "a"}}


async def test_kill_while_writing_loses_no_acknowledged_point(own: AsyncQdrantClient, server: ServerProcess) -> None:
    acknowledged: set[models.ExtendedPointId] = set()

    async def write(start: int, enough: asyncio.Event) -> None:
        for first in range(start, start + 10_000, 10):
            await own.upsert(COLLECTION, [point(at, [1.0, at, 1.0, 1.0], said=at) for at in range(first, first + 10)])
            acknowledged.update(range(first, first + 10))
            if first - start >= 100:
                enough.set()

    for round_ in range(3):
        enough = asyncio.Event()
        starts = (round_ * 20_000, round_ * 20_000 + 10_000)
        writing = [asyncio.create_task(write(start, enough)) for start in starts]
        await asyncio.wait_for(enough.wait(), 30)
        server.kill()
        ends = await asyncio.gather(*writing, return_exceptions=True)
        assert [type(end) for end in ends] == [ResponseHandlingException] * 2
        server.start()
        found = await payloads(own)
        assert acknowledged <= found.keys()
        assert all(payload == {"said": identity} for identity, payload in found.items())


def test_second_process_on_a_folder_is_refused_with_a_sentence(server: ServerProcess, data: Path) -> None:
    command = [sys.executable, "-m", "twiceshy.local.edge", "--data", str(data), "--port", "0"]
    second = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False, cwd=ROOT)
    assert second.returncode == 1
    assert second.stdout == ""
    assert second.stderr == f"Another process serves the vectors in {data}. Stop it, or use another folder.\n"


async def test_health_is_answered(shared: ServerProcess) -> None:
    async with httpx.AsyncClient(base_url=shared.url) as plain:
        for path in ("/healthz", "/readyz"):
            assert (await plain.get(path)).status_code == 200
        assert (await plain.get("/nowhere")).status_code == 404
