"""The embedded stack: broker, FalkorDB, Qdrant Edge, embedder and workers, all from PyPI, below one data folder.

Everything runs in processes of its own, on free ports of 127.0.0.1, and is started again when it dies. What
the broker held in memory comes back from the journal, so that a second start finds the first one's memory.
"""

import asyncio
import contextlib
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
import structlog

from twiceshy.errors import TransientError, TwiceshyError
from twiceshy.local.broker import broker_child
from twiceshy.local.data_folder import DataFolder
from twiceshy.local.falkordb import falkordb_child
from twiceshy.local.processes import Child, free_ports
from twiceshy.settings import Settings, current_stack_file
from twiceshy.stores.connection import connect
from twiceshy.stores.notes import LIVE_CHAIN, Progress
from twiceshy.stream.admin import create_topics, end_offsets, reader
from twiceshy.stream.topics import TOPICS

STORES = ("broker", "falkordb", "vectors", "embedder")
WORKERS = ("chain", "recall")
EMBEDDER_MODEL = "wordllama-l2-supercat-256"
# Tansu sleeps for half of it, so it is what a hop costs; a smaller one costs processor time while nothing happens.
FETCH_WAIT_MS = 10
CHAIN_FETCH_WAIT_MS = 40
DRAIN_SECONDS_MAX = 15.0
BACKOFF_SECONDS_MAX = 10.0
STEADY_SECONDS = 30.0

_LISTENING = re.compile(r"^listening on ", re.MULTILINE)
_WORKERS_READY = re.compile(r"^workers ready$", re.MULTILINE)

log = structlog.get_logger()


class Stack:
    """Enter it to start everything; leave it to drain and stop everything.

    With ``embeddings``, an address and the name of a model there, it embeds with that and starts no embedder.
    """

    def __init__(self, data: Path, *, current: bool = True, embeddings: tuple[str, str] | None = None) -> None:
        self.folder = DataFolder(data)
        self.settings: Settings
        self.ready_seconds = 0.0
        self._current = current
        self._embeddings = embeddings
        self._stores = STORES if embeddings is None else tuple(name for name in STORES if name != "embedder")
        self._stack = contextlib.AsyncExitStack()
        self._children: dict[str, Child] = {}
        self._supervisors: list[asyncio.Task[None]] = []
        self._stopping = False

    async def __aenter__(self) -> Self:
        started = time.monotonic()
        try:
            await self._stack.enter_async_context(self.folder)
            await self._start()
        except BaseException:
            await self._stop()
            raise
        self.ready_seconds = time.monotonic() - started
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                await self.drain()
        finally:
            await self._stop()

    def child(self, name: str) -> Child:
        """One of broker, falkordb, vectors, embedder, chain, recall."""
        return self._children[name]

    async def _start(self) -> None:
        broker, falkordb, vectors, embedder = free_ports(4)
        embeddings, model = self._embeddings or (f"http://127.0.0.1:{embedder}/v1", EMBEDDER_MODEL)
        addresses: dict[str, Any] = {
            "kafka": f"127.0.0.1:{broker}",
            "fetch_wait_ms": FETCH_WAIT_MS,
            "falkordb": f"redis://127.0.0.1:{falkordb}",
            "qdrant": f"http://127.0.0.1:{vectors}",
            "embeddings": embeddings,
            "embeddings_model": model,
        }
        self.settings = Settings(**addresses, journal=self.folder.path / "log")
        vectors_folder = self.folder.path / "vectors"
        self._children = {
            "broker": broker_child(self.folder, broker),
            "falkordb": falkordb_child(self.folder, falkordb),
            "vectors": self._module("vectors", "twiceshy.local.edge", "--data", vectors_folder, "--port", vectors),
            "embedder": self._module("embedder", "twiceshy.local.embedder", "--port", embedder),
        }
        await _together(*(self._children[name].start() for name in self._stores))
        await create_topics(self.settings)
        shared = {**os.environ, **_environment({**addresses, "journal": self.folder.path / "log"})}
        chain = {**shared, **_environment({"fetch_wait_ms": CHAIN_FETCH_WAIT_MS})}
        for name in WORKERS:
            self._children[name] = Child(
                name,
                [sys.executable, "-m", "workers", name],
                folder=self.folder,
                env=chain if name == "chain" else shared,
                ready=_WORKERS_READY,
                start_seconds_max=90.0,
                stop_seconds_max=30.0,
            )
        await _together(*(self._children[name].start() for name in WORKERS))
        for name in (*self._stores, *WORKERS):
            self._supervisors.append(asyncio.create_task(self._supervise(name), name=f"supervisor of {name}"))
        self._announce(addresses)

    def _module(self, name: str, module: str, *arguments: Any) -> Child:
        argv = [sys.executable, "-m", module, *map(str, arguments)]
        return Child(name, argv, folder=self.folder, ready=_LISTENING, start_seconds_max=60.0)

    def _announce(self, addresses: dict[str, Any]) -> None:
        """Says where the stack listens: in its folder, and for other commands in the user's runtime folder."""
        written = orjson.dumps({"pid": os.getpid(), "data": str(self.folder.path), "settings": addresses})
        files = [self.folder.path / "stack.json"] + ([current_stack_file()] if self._current else [])
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            unfinished = file.with_suffix(".new")
            unfinished.write_bytes(written)
            unfinished.replace(file)

    async def _supervise(self, name: str) -> None:
        """Starts a part again when it has died, with back-off while it keeps dying."""
        backoff_seconds = 0.0
        while True:
            started = time.monotonic()
            child = self._children[name]
            reason = await child.wait() if child.pid else "did not start"
            if time.monotonic() - started > STEADY_SECONDS:
                backoff_seconds = 0.0
            log.warning("part_died", part=name, reason=reason, again_in_seconds=backoff_seconds)
            await asyncio.sleep(backoff_seconds)
            backoff_seconds = min(max(0.5, backoff_seconds * 2), BACKOFF_SECONDS_MAX)
            try:
                await self._restart(name)
            except TwiceshyError as error:
                log.error("part_not_ready", part=name, reason=str(error))

    async def _restart(self, name: str) -> None:
        child = self._children[name]
        await child.stop()
        if name == "broker":
            # It comes back empty, and the workers put the log back when they start. Stopped before it comes back,
            # none of them still sends something into the empty log.
            await asyncio.gather(*(self._children[worker].stop() for worker in WORKERS))
        await child.start()
        if name == "broker":
            await create_topics(self.settings)

    async def drain(self) -> None:
        """Waits until what was published is admitted and what was admitted is done with, 15 s at most."""
        redis = connect(self.settings.falkordb)
        try:
            async with asyncio.timeout(DRAIN_SECONDS_MAX), reader(self.settings) as consumer:
                progress = Progress(redis, LIVE_CHAIN)
                while not await _drained(progress, lambda topic: end_offsets(consumer, topic)):
                    await asyncio.sleep(0.05)
        except (TimeoutError, TransientError) as error:
            log.warning("not_drained", reason=repr(error))
        finally:
            await redis.aclose()

    async def _stop(self) -> None:
        for supervisor in self._supervisors:
            supervisor.cancel()
        await asyncio.gather(*self._supervisors, return_exceptions=True)
        if self._current:
            _forget_current(os.getpid())
        for names in (WORKERS, STORES):
            await asyncio.gather(*(self._children[name].stop() for name in names if name in self._children))
        await self._stack.aclose()


async def _together(*starts: Any) -> None:
    """Awaits all; raises the first failure once every one has come to an end."""
    for result in await asyncio.gather(*starts, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


async def _drained(progress: Progress, ends: Callable[[Any], Any]) -> bool:
    inputs = progress.beside("inputs")
    written = (
        TOPICS.incidents_concluded,
        TOPICS.incidents_backfill,
        TOPICS.memory_commands,
        TOPICS.quarantine_decisions,
    )
    for topic in written:
        if not _reached(await ends(topic), await inputs.of(topic.name)):
            return False
    return _reached(await ends(TOPICS.memory_log), await progress.of("embed"))


def _reached(ends: dict[int, int], notes: dict[int, Any]) -> bool:
    return all(end == 0 or (number in notes and notes[number].offset + 1 >= end) for number, end in ends.items())


def _environment(settings: dict[str, Any]) -> dict[str, str]:
    return {f"TWICESHY_{name.upper()}": str(value) for name, value in settings.items()}


def _forget_current(pid: int) -> None:
    file = current_stack_file()
    with contextlib.suppress(FileNotFoundError):
        if orjson.loads(file.read_bytes())["pid"] == pid:
            file.unlink()
