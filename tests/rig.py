"""A production-shaped rig: a broker of either kind, the embedded stores, and worker processes that can be killed."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import orjson
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.incidents import NO_BURSTS
from tests.kafka import KafkaServer, MissingRequirement
from tests.requirements import skip_or_fail
from twiceshy.core.ids import event_id
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.local.broker import broker_child
from twiceshy.local.data_folder import DataFolder
from twiceshy.local.falkordb import falkordb_child
from twiceshy.local.processes import Child, free_ports
from twiceshy.local.stack import CHAIN_FETCH_WAIT_MS, EMBEDDER_MODEL
from twiceshy.settings import Settings
from twiceshy.stores.generations import Generations
from twiceshy.stores.graph import Graphs
from twiceshy.stream.admin import create_topics, reader
from twiceshy.stream.codec import encode, event_headers
from twiceshy.stream.outputs import Outputs, tenant_partition
from twiceshy.stream.records import Output
from twiceshy.stream.topics import TOPICS, Topic
from workers.connections import Stores, open_stores
from workers.export import export_lines

BrokerKind = Literal["tansu", "kafka"]
OUTCOME_SECONDS_MAX = 120.0
SOURCE = "tests"

_LISTENING = re.compile(r"^listening on ", re.MULTILINE)
_READY = re.compile(r"^workers ready$", re.MULTILINE)


class Rig:
    """Enter it to start broker and stores; start workers by name (``chain`` is all of them but recall).

    Unless ``settings`` say otherwise, no number of incidents alike is a burst.
    """

    def __init__(self, kind: BrokerKind, *, worker_module: str = "workers", **settings: Any) -> None:
        self.kind = kind
        self.settings: Settings
        self._worker_module = worker_module
        self._overrides = settings
        self._path = Path(tempfile.mkdtemp(prefix="twiceshy-rig-"))
        self._folder = DataFolder(self._path)
        self._exit = contextlib.AsyncExitStack()
        self.parts: dict[str, Child] = {}
        self.workers: dict[str, Child] = {}
        self.kafka: KafkaServer | None = None

    async def __aenter__(self) -> Self:
        self._exit.callback(shutil.rmtree, self._path, ignore_errors=True)
        try:
            await self._exit.enter_async_context(self._folder)
            await self._start()
        except BaseException:
            await self._stop()
            raise
        return self

    def runtime(self, path: Path) -> Path:
        """``path`` as a runtime folder in which commands find the rig, as they find a running stack."""
        names = ("kafka", "fetch_wait_ms", "falkordb", "qdrant", "embeddings", "embeddings_model")
        settings = {name: getattr(self.settings, name) for name in names}
        (path / "stack.json").write_bytes(orjson.dumps({"pid": os.getpid(), "data": str(path), "settings": settings}))
        return path

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    async def _start(self) -> None:
        broker, falkordb, vectors, embedder = free_ports(4)
        children = [
            falkordb_child(self._folder, falkordb),
            self._module("vectors", "twiceshy.local.edge", "--data", self._path / "vectors", "--port", vectors),
            self._module("embedder", "twiceshy.local.embedder", "--port", embedder),
        ]
        if self.kind == "tansu":
            children.append(broker_child(self._folder, broker))
        self.parts = {child.name: child for child in children}
        starts: list[Awaitable[None]] = [child.start() for child in children]
        if self.kind == "kafka":
            starts.append(asyncio.to_thread(self._start_kafka))
        await asyncio.gather(*starts)
        addresses = {
            "kafka": self.kafka.bootstrap if self.kafka else f"127.0.0.1:{broker}",
            "falkordb": f"redis://127.0.0.1:{falkordb}",
            "qdrant": f"http://127.0.0.1:{vectors}",
            "embeddings": f"http://127.0.0.1:{embedder}/v1",
            "embeddings_model": EMBEDDER_MODEL,
            "burst": NO_BURSTS,
            **(self._of_tansu() if self.kind == "tansu" else {}),
            **self._overrides,
        }
        self.settings = Settings(**addresses)
        self._env = {**os.environ, **{f"TWICESHY_{name.upper()}": _told(value) for name, value in addresses.items()}}
        await create_topics(self.settings)

    def _of_tansu(self) -> dict[str, Any]:
        return {"journal": self._path / "log", "fetch_wait_ms": CHAIN_FETCH_WAIT_MS}

    def _start_kafka(self) -> None:
        self.kafka = KafkaServer()
        try:
            self.kafka.start()
        except MissingRequirement as missing:
            skip_or_fail(str(missing))
        self._exit.callback(self.kafka.stop)

    async def _stop(self) -> None:
        try:
            for children in (self.workers, self.parts):  # workers say goodbye to a broker that is there
                await asyncio.gather(*(child.stop() for child in children.values()))
        finally:
            await self._exit.aclose()

    def _module(self, name: str, module: str, *arguments: object) -> Child:
        argv = [sys.executable, "-m", module, *map(str, arguments)]
        return Child(name, argv, folder=self._folder, ready=_LISTENING, start_seconds_max=60.0)

    async def start_workers(self, *names: str) -> None:
        """Starts worker processes side by side, and returns when each has its partitions."""
        for name in names:
            argv = [sys.executable, "-m", self._worker_module, name]
            self.workers[name] = Child(
                name, argv, folder=self._folder, ready=_READY, env=self._env, start_seconds_max=90.0
            )
        await asyncio.gather(*(self.workers[name].start() for name in names))

    async def kill(self, name: str) -> None:
        """``kill -9``, without a chance to say goodbye."""
        child = self.workers.get(name) or self.parts[name]
        assert child.pid is not None
        os.killpg(child.pid, signal.SIGKILL)
        await child.stop()

    async def command(self, *arguments: str) -> asyncio.subprocess.Process:
        """A command of the command line, started, with this rig's addresses in its environment."""
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "twiceshy.cli",
            *arguments,
            env=self._env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    @contextlib.asynccontextmanager
    async def stores(self) -> AsyncIterator[Stores]:
        async with open_stores(self.settings) as stores:
            yield stores

    async def export(self, tenant: str, *, system_time: bool = True) -> list[bytes]:
        async with self.stores() as stores:
            generation = (await Generations(stores.redis).of(tenant)).recalled
            graph = Graphs(stores.redis, generation).of(tenant)
            return await export_lines(graph, stores.vectors, tenant, generation, system_time=system_time)


def _told(value: Any) -> str:
    """A setting as the environment has it."""
    return json.dumps(value) if isinstance(value, dict | list | tuple) else str(value)


class Publisher:
    """Publishes straight to an input topic, as any client would, and reads the outcomes."""

    def __init__(self, settings: Settings) -> None:
        self._outputs = Outputs(settings.model_copy(update={"journal": None}), "test-publisher")
        self._settings = settings
        self._exit = contextlib.AsyncExitStack()
        self._consumer: AIOKafkaConsumer
        self.sent: set[str] = set()
        self.outcomes: list[IncidentOutcome] = []

    async def __aenter__(self) -> Self:
        await self._outputs.start()
        self._exit.push_async_callback(self._outputs.stop)
        self._consumer = await self._exit.enter_async_context(reader(self._settings))
        topic = TOPICS.incidents_outcomes
        partitions = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
        self._consumer.assign(partitions)
        await self._consumer.seek_to_end(*partitions)
        for partition in partitions:
            await self._consumer.position(partition)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exit.aclose()

    async def send(self, incidents: Sequence[IncidentConcluded], *, topic: Topic = TOPICS.incidents_concluded) -> None:
        outputs = [incident_output(incident, topic) for incident in incidents]
        self.sent |= {
            event_id(incident.tenant, SOURCE, incident.fingerprint, output.value or b"")
            for incident, output in zip(incidents, outputs, strict=True)
        }
        await self._outputs.send(outputs)

    async def send_raw(self, outputs: Sequence[Output]) -> None:
        await self._outputs.send(outputs)

    async def until_all(self, seconds_max: float = OUTCOME_SECONDS_MAX) -> None:
        """Returns when each event sent has an outcome; raises AssertionError with those that lack one."""
        missing = self.sent - {outcome.event_id for outcome in self.outcomes}
        try:
            async with asyncio.timeout(seconds_max):
                while missing:
                    missing -= {outcome.event_id for outcome in await self.poll()}
        except TimeoutError:
            raise AssertionError(f"no outcome for {len(missing)} of {len(self.sent)}: {sorted(missing)[:5]}") from None

    async def poll(self) -> list[IncidentOutcome]:
        """Outcomes that came since the last call, within half a second."""
        batches = await self._consumer.getmany(timeout_ms=500)
        fresh = [
            IncidentOutcome.model_validate_json(record.value) for records in batches.values() for record in records
        ]
        self.outcomes += fresh
        return fresh


def incident_output(incident: IncidentConcluded, topic: Topic) -> Output:
    """An incident as a client publishes it. Its ``ce_time`` is when it was concluded, so that a run can be repeated."""
    headers = event_headers(
        IncidentConcluded,
        event_id=incident.fingerprint,
        source=SOURCE,
        time=incident.concluded_at.isoformat(),
    )
    return Output(
        topic.name, incident.fingerprint.encode(), encode(incident), headers, tenant_partition(incident.tenant, topic)
    )
