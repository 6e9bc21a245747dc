"""The composition root: connects the stores, proves that all is as it must be, and runs workers in one Faust app."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import faust
import structlog
import uvloop
from aiokafka import AIOKafkaConsumer
from faust import Stream
from faust.types import TP, StreamT

from twiceshy.core.redact import Redactor
from twiceshy.errors import NotReadyError, TransientError
from twiceshy.settings import Settings
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.generations import Generations
from twiceshy.stores.graph import Graphs
from twiceshy.stores.notes import LIVE_CHAIN, Exits, Note, Progress
from twiceshy.stream.admin import end_offsets, reader, topic_faults
from twiceshy.stream.app import make_app
from twiceshy.stream.delivery import BATCH_ENTRIES_MAX, EXIT_CODE_BUG, Delivery, Stage
from twiceshy.stream.outputs import Outputs
from twiceshy.stream.restore import put_back
from twiceshy.stream.topics import TOPICS, Topic
from twiceshy.stream.transport import Consumer
from workers import collector
from workers.connections import Stores, open_stores, until_answering
from workers.consolidate import ConsolidateStage
from workers.embed import EmbedStage
from workers.graph import GraphStage
from workers.guard import GuardStage, warn_of_unvouched
from workers.guard_commands import GuardCommandsStage
from workers.guard_decisions import GuardDecisionsStage
from workers.guard_restore import complete_quarantine, prepared_quarantine
from workers.guard_sweep import Sweep
from workers.lesson import LessonStage
from workers.rebuild import LiveSwitches
from workers.recall import Recall, RecallServer
from workers.room import ENTRIES_MIN

CHAIN = ("guard", "graph", "lesson", "consolidate", "embed")
WORKERS = (*CHAIN, "recall")
READY_LINE = "workers ready"
ASSIGNMENT_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 20.0
FILL_SECONDS = 2.0

# Backfill goes in small batches, so that no incident of today stands behind a large one. A decision may be about
# hundreds of items, which are enough for one batch.
_ENTRIES_MAX = {TOPICS.incidents_backfill.name: ENTRIES_MIN, TOPICS.quarantine_decisions.name: 1}

log = structlog.get_logger()


class Process:
    """Workers of one consumer group in one process, from readiness to an orderly stop."""

    def __init__(self, names: Sequence[str], settings: Settings, group: str) -> None:
        self._names = names
        self._settings = settings
        self._group = group
        self._stopping = asyncio.Event()
        self._stops: list[Callable[[], None]] = []
        self._running: list[asyncio.Future[None]] = []

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        """Runs until `stop`. Prints the ready line when every worker has its partitions.

        Raises:
            NotReadyError: something is not as it must be; no event was touched.
        """
        faults = await until_answering(lambda: topic_faults(self._settings, TOPICS.existing(self._settings.tenants)))
        if faults:
            raise NotReadyError(" ".join(faults))
        # A reply waits for no other one; what the chain sends goes in batches.
        linger_ms = 0 if "recall" in self._names else 2
        outputs = Outputs(self._settings, client_id=self._group, linger_ms=linger_ms)
        async with open_stores(self._settings) as stores, reader(self._settings) as consumer:
            await outputs.start()
            try:
                await self._run_app(stores, outputs, consumer)
            finally:
                await outputs.stop()

    async def _run_app(self, stores: Stores, outputs: Outputs, consumer: AIOKafkaConsumer) -> None:
        progress = Progress(stores.redis, LIVE_CHAIN)
        if self._settings.journal and "guard" in self._names:
            await _put_back(self._settings.journal, consumer, outputs, progress)
        app = make_app(self._settings, self._group, _starting_offsets(progress))
        assigned = asyncio.Event()

        async def on_assigned(*_: Any, **__: Any) -> None:
            assigned.set()

        app.on_partitions_assigned.connect(on_assigned, weak=False)
        await self._attach(app, stores, outputs, progress, consumer)
        collector.settle()
        await app.start()
        try:
            await self._until_assigned(assigned)
            print(READY_LINE, flush=True)  # noqa: T201 - whoever started this process waits for it
            await self._stopping.wait()
            for stop in self._stops:
                stop()
            if self._running:
                await asyncio.wait(self._running, timeout=STOP_SECONDS_MAX)
        finally:
            await app.stop()

    async def _until_assigned(self, assigned: asyncio.Event) -> None:
        try:
            await asyncio.wait_for(assigned.wait(), ASSIGNMENT_SECONDS_MAX)
        except TimeoutError as error:
            raise NotReadyError(
                f"The consumer group {self._group} got no partitions within {ASSIGNMENT_SECONDS_MAX:.0f} s. "
                "Give this user the right to READ the group, and look whether its coordinator is up."
            ) from error

    async def _attach(
        self, app: faust.App, stores: Stores, outputs: Outputs, progress: Progress, consumer: AIOKafkaConsumer
    ) -> None:
        graphs = Graphs(stores.redis)
        if set(self._names) != {"recall"}:
            # Recall never writes: where nothing was remembered yet, it finds nothing.
            for tenant in self._settings.tenants:
                live = (await Generations(stores.redis).of(tenant)).live
                await graphs.in_generation(live).prepared(tenant)
        for name in self._names:
            if name == "recall":
                self._attach_recall(app, stores, outputs, graphs)
                continue
            for topic, stage in await self._stages(name, stores, outputs, graphs, progress, consumer):
                most = _ENTRIES_MAX.get(topic.name, BATCH_ENTRIES_MAX)
                delivery = Delivery(
                    stage,
                    outputs,
                    Exits(stores.redis),
                    lambda event: _consumer(app).finish(event),
                    Redactor(self._settings.all_internal_hosts()),
                    entries_max=most,
                )
                self._stops.append(delivery.stop)
                self._agent(app, topic, stage.name, delivery.run)

    async def _stages(
        self,
        name: str,
        stores: Stores,
        outputs: Outputs,
        graphs: Graphs,
        progress: Progress,
        consumer: AIOKafkaConsumer,
    ) -> list[tuple[Topic, Stage[Any]]]:
        if name == "graph":
            return [(TOPICS.memory_log, GraphStage(graphs, progress, LiveSwitches(self._settings, stores)))]
        if name == "lesson":
            return [(TOPICS.memory_recorded, LessonStage(graphs, progress))]
        if name == "consolidate":
            return [(TOPICS.memory_reflected, ConsolidateStage(graphs, progress))]
        if name == "embed":
            patience = self._settings.embedder_patience
            generations = Generations(stores.redis)
            embed = EmbedStage(graphs, stores.vectors, stores.embeddings, progress, patience, generations=generations)
            self._in_background(name, _fill_missing(embed, self._stopping))
            return [(TOPICS.memory_consolidated, embed)]
        return await self._guard_stages(stores, outputs, progress, consumer)

    async def _guard_stages(
        self, stores: Stores, outputs: Outputs, progress: Progress, consumer: AIOKafkaConsumer
    ) -> list[tuple[Topic, Stage[Any]]]:
        settings, decisions = self._settings, Decisions(stores.redis)
        warn_of_unvouched(settings)
        quarantine = await prepared_quarantine(stores.redis, consumer)
        sweep = Sweep(quarantine, decisions, outputs, lambda: complete_quarantine(quarantine, consumer))
        self._in_background("guard", sweep.run(self._stopping))

        async def log_end(partition: int) -> int:
            return (await end_offsets(consumer, TOPICS.memory_log, [partition]))[partition]

        def guard(*, backfill: bool) -> GuardStage:
            return GuardStage(settings, decisions, quarantine, progress, log_end, backfill=backfill)

        return [
            (TOPICS.incidents_concluded, guard(backfill=False)),
            (TOPICS.incidents_backfill, guard(backfill=True)),
            (TOPICS.memory_commands, GuardCommandsStage(settings, decisions, progress)),
            (TOPICS.quarantine_decisions, GuardDecisionsStage(settings, decisions, quarantine, progress)),
        ]

    def _attach_recall(self, app: faust.App, stores: Stores, outputs: Outputs, graphs: Graphs) -> None:
        recall = Recall(self._settings, graphs, stores.vectors, stores.embeddings)
        server = RecallServer(recall, outputs, lambda event: _consumer(app).finish(event))
        self._stops.append(server.stop)
        self._agent(app, TOPICS.recall_requests, "recall", server.run)

    def _agent(
        self, app: faust.App, topic: Topic, name: str, run: Callable[[AsyncIterator[Any]], Awaitable[None]]
    ) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running.append(done)

        async def agent(stream: StreamT[Any]) -> None:
            try:
                await run(cast(Stream[Any], stream).noack().events())
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("exiting", worker=name)
                os._exit(EXIT_CODE_BUG)
            finally:
                if not done.done():
                    done.set_result(None)

        channel = app.topic(topic.name, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
        app.agent(channel, name=f"twiceshy.{name}", concurrency=1)(agent)

    def _in_background(self, name: str, work: Awaitable[None]) -> None:
        async def watched() -> None:
            try:
                await work
            except Exception:
                log.exception("exiting", worker=name)
                os._exit(EXIT_CODE_BUG)

        self._running.append(asyncio.ensure_future(watched()))


def _consumer(app: faust.App) -> Consumer:
    consumer = app.consumer
    if not isinstance(consumer, Consumer):
        raise TypeError("the Faust app was not made by make_app")
    return consumer


async def _put_back(folder: Path, consumer: AIOKafkaConsumer, outputs: Outputs, progress: Progress) -> None:
    """Gives the broker what it lacks; after it lost its memory, puts the notes where their entries now stand."""
    notes = await progress.all()
    wanted = {(partition, note.key) for (_, partition), note in notes.items()}
    places = await put_back(folder, consumer, outputs, wanted)
    if places is not None:
        moved = {
            (stage, partition): Note(places[partition, note.key], note.key) if (partition, note.key) in places else None
            for (stage, partition), note in notes.items()
        }
        await progress.rewrite(moved)
        await progress.beside("inputs").drop()


def _starting_offsets(progress: Progress) -> Callable[[set[TP]], Awaitable[Mapping[TP, int]]]:
    """Graph begins behind the slowest stage, whatever offsets are committed, the first time a partition is ours."""
    begun: set[int] = set()

    async def starting_offsets(assigned: set[TP]) -> Mapping[TP, int]:
        log_partitions = {tp.partition: tp for tp in assigned if tp.topic == TOPICS.memory_log.name}
        fresh = [partition for partition in log_partitions if partition not in begun]
        offsets: dict[int, int] = await until_answering(lambda: progress.next_offsets(fresh))
        begun.update(fresh)
        return {log_partitions[partition]: offset for partition, offset in offsets.items()}

    return starting_offsets


async def _fill_missing(embed: EmbedStage, stopping: asyncio.Event) -> None:
    """Fills in vectors that could not be made when their items came, for as long as the process runs."""
    while not stopping.is_set():
        filled = 0
        try:
            filled = await embed.fill_missing()
        except TransientError as error:
            log.info("vectors_still_missing", reason=str(error))
        if not filled:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), FILL_SECONDS)


def run(names: Sequence[str], settings: Settings, group: str) -> None:
    """Runs workers in a new event loop until SIGTERM or SIGINT.

    Faust makes a few tasks for each record it hands over; with uvloop that costs half.
    """
    uvloop.install()
    asyncio.run(run_workers(names, settings, group))


async def run_workers(names: Sequence[str], settings: Settings, group: str) -> None:
    """Runs workers until SIGTERM or SIGINT, then lets what is under way finish."""
    process = Process(names, settings, group)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, process.stop)
    await process.run()
