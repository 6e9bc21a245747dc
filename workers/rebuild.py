"""memory.log.v1 → a generation of its own, beside the live one

Folds a tenant's log again, through the same handlers as the chain, into an empty memory, and keeps it up to date.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from uuid import uuid4

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from twiceshy.errors import FencedError, NotReadyError, PoisonError, TransientError
from twiceshy.events.chain import LogPosition
from twiceshy.settings import Settings
from twiceshy.stores.generations import Generations
from twiceshy.stores.graph import Graphs
from twiceshy.stores.notes import FOLD, LIVE_CHAIN, Progress
from twiceshy.stream.admin import end_offsets, reader
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.records import Record
from twiceshy.stream.topics import TOPICS
from workers.connections import Stores
from workers.fold import Stages
from workers.graph import Logged

POLL_MS = 200
BATCH_ENTRIES_MAX = 500
"""More than in the chain, where somebody waits: most of what a batch costs is its own."""

SILENCE_SECONDS_MAX = 60.0
FENCED_SECONDS = 0.1

log = structlog.get_logger()

Advance = Callable[[int, int], None]
"""Called with the next offset to fold, and the one where the log ended when it was last looked at."""


class Fold:
    """One generation of one tenant's memory, folded from the log. It goes on where it was, after a crash too."""

    def __init__(self, settings: Settings, stores: Stores, tenant: str, generation: str) -> None:
        self._tenant = tenant
        self._partition = TopicPartition(TOPICS.memory_log.name, tenant_partition(tenant, TOPICS.memory_log))
        self._settings = settings
        self._stores = stores
        self._generation = generation
        self._progress = Progress.of_fold(stores.redis, tenant, generation)

    async def up_to(self, until: int | None = None, advance: Advance = lambda done, end: None) -> int:
        """Folds what is missing, up to the offset ``until``, or to where the log ends now; the next offset.

        Another process may fold the same generation meanwhile: each goes on behind what the other one has done.

        Raises:
            NotReadyError: the log does not reach back to its beginning, so that no fold can be the whole memory.
            TransientError: a store or the broker is away.
        """
        while True:
            try:
                return await self._up_to(until, advance)
            except FencedError as error:
                log.info("fenced", generation=self._generation, reason=str(error))
                await asyncio.sleep(FENCED_SECONDS)

    async def _up_to(self, until: int | None, advance: Advance) -> int:
        stages = await self._stages()
        async with reader(self._settings) as consumer:
            start = await self._start(consumer)
            end = until
            if end is None:
                number = self._partition.partition
                end = (await end_offsets(consumer, TOPICS.memory_log, [number]))[number]

            async def folded(batch: Sequence[Logged]) -> None:
                last = batch[-1].position
                await self._progress.note_positions(FOLD, {last.partition: (last.offset, last.key)})
                advance(last.offset + 1, end)

            await stages.fold_all(self._batches(consumer, stages, start, end), folded)
        return end

    async def fill_missing(self) -> None:
        """Embeds what has been folded while the embedder was away."""
        stages = await self._stages()
        while await stages.embed.fill_missing():
            pass

    async def _stages(self) -> Stages:
        live = (await Generations(self._stores.redis).of(self._tenant)).live
        return Stages.of_generation(
            self._stores.redis,
            self._stores.vectors,
            self._stores.embeddings,
            self._generation,
            self._settings.embedder_patience,
            carry_from=live if live != self._generation else None,
        )

    async def _start(self, consumer: AIOKafkaConsumer) -> int:
        notes = await self._progress.of(FOLD)
        try:
            begin = (await consumer.beginning_offsets([self._partition]))[self._partition]
        except KafkaError as error:
            raise TransientError(f"Kafka does not say where {self._partition.topic} begins: {error!r}") from error
        number = self._partition.partition
        start = notes[number].offset + 1 if number in notes else 0
        if begin > start:
            raise NotReadyError(
                f"The log {self._partition.topic}-{number} begins at {begin}, and {start} is the first entry to fold: "
                "what is missing cannot be made up for. Restore the topic, and keep it for ever (retention.ms=-1)."
            )
        return start

    async def _batches(
        self, consumer: AIOKafkaConsumer, stages: Stages, start: int, end: int
    ) -> AsyncIterator[list[Logged]]:
        """The tenant's entries. One that can never be decoded is passed over, as the chain does."""
        consumer.assign([self._partition])
        consumer.seek(self._partition, start)
        # What compaction has dropped leaves gaps, so the position tells when the end is reached, and no record does.
        waiting = 0.0
        while (position := await consumer.position(self._partition)) < end:
            fetched = await consumer.getmany(self._partition, timeout_ms=POLL_MS, max_records=BATCH_ENTRIES_MAX)
            waiting = 0.0 if await consumer.position(self._partition) > position else waiting + POLL_MS / 1_000
            if waiting > SILENCE_SECONDS_MAX:
                raise TransientError(f"Kafka gives nothing of {self._partition.topic} from {position} on, up to {end}.")
            messages = [message for message in fetched.get(self._partition, ()) if message.offset < end]
            decoded = [self._decoded(stages, Record.of_consumer(message)) for message in messages]
            if batch := [logged for logged in decoded if logged is not None]:
                yield batch

    def _decoded(self, stages: Stages, record: Record) -> Logged | None:
        try:
            logged = stages.graph.decode(record)
        except PoisonError as error:
            log.warning("entry_passed_over", offset=record.offset, reason=error.code)
            return None
        return logged if logged is not None and logged.entry.tenant == self._tenant else None


class LiveSwitches:
    """The generations that the live chain writes."""

    def __init__(self, settings: Settings, stores: Stores) -> None:
        self._settings = settings
        self._stores = stores
        self._generations = Generations(stores.redis)

    async def live(self, tenant: str) -> str:
        return (await self._generations.of(tenant)).live

    async def switch(self, tenant: str, generation: str, position: LogPosition) -> bool:
        left = await self.live(tenant)
        unfinished = (await self._generations.others(tenant)).get(generation) == "building"
        if unfinished or not await Graphs(self._stores.redis, generation).of(tenant).exists():
            return False
        log.info("switching", tenant=tenant, generation=generation)
        try:
            await Fold(self._settings, self._stores, tenant, generation).up_to(position.offset + 1)
        except NotReadyError as error:
            log.error("switch_refused", tenant=tenant, generation=generation, reason=str(error))
            return False
        await self._note_left(tenant, left, position.partition)
        await self._generations.set_live(tenant, generation)
        return True

    async def _note_left(self, tenant: str, generation: str, partition: int) -> None:
        """Notes where the generation that is left was: whoever goes back folds what not every stage had done."""
        following = (await Progress(self._stores.redis, LIVE_CHAIN).next_offsets([partition]))[partition]
        notes = Progress.of_fold(self._stores.redis, tenant, generation)
        await notes.drop()
        if following:
            await notes.note_positions(FOLD, {partition: (following - 1, "")})


@contextlib.asynccontextmanager
async def folded(settings: Settings, stores: Stores, tenant: str, *, keep: bool = False) -> AsyncIterator[str]:
    """The name of a new generation that holds the tenant's log, folded up to where it ended when this began.

    Its graph, points and notes are dropped at the end, whatever happens, unless they are to be kept.

    Raises:
        NotReadyError, TransientError: as `Fold.up_to`.
    """
    generation = f"fold-{uuid4().hex[:8]}"
    try:
        fold = Fold(settings, stores, tenant, generation)
        await fold.up_to()
        await fold.fill_missing()
        yield generation
    finally:
        if not keep:
            await drop_generation(stores, tenant, generation)


async def drop_generation(stores: Stores, tenant: str, generation: str) -> None:
    """Deletes what a tenant has of a generation.

    Raises:
        NotReadyError: it is live, or recall reads it.
    """
    generations = Generations(stores.redis)
    pointers = await generations.of(tenant)
    if generation in (pointers.live, pointers.recalled):
        raise NotReadyError(f"The generation {generation} of {tenant} is in use: switch to another one first.")
    # The note first: without it what is left is folded from the beginning, should this be cut off.
    await Progress.of_fold(stores.redis, tenant, generation).drop()
    await stores.vectors.drop(tenant, generation)
    await Graphs(stores.redis, generation).of(tenant).drop()
    await generations.forget(tenant, generation)
