"""memory.log.v1 → a generation of its own, beside the live one

Folds a tenant's log again, through the same handlers as the chain, into an empty memory.
"""

import contextlib
from collections.abc import AsyncIterator
from uuid import uuid4

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from twiceshy.errors import PoisonError
from twiceshy.settings import Settings
from twiceshy.stores.graph import Graphs
from twiceshy.stores.notes import Progress
from twiceshy.stream.admin import end_offsets, reader
from twiceshy.stream.delivery import BATCH_ENTRIES_MAX
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.records import Record
from twiceshy.stream.topics import TOPICS
from workers.connections import Stores
from workers.fold import Stages
from workers.graph import Logged

POLL_MS = 200

log = structlog.get_logger()


@contextlib.asynccontextmanager
async def folded(settings: Settings, stores: Stores, tenant: str, *, keep: bool = False) -> AsyncIterator[str]:
    """The name of a new generation that holds the tenant's log, folded up to where it ended when this began.

    Its graph, points and notes are dropped at the end, whatever happens, unless they are to be kept.

    Raises:
        TransientError: a store or the broker is away.
    """
    generation = f"fold-{uuid4().hex[:8]}"
    try:
        await _fold(settings, stores, tenant, generation)
        yield generation
    finally:
        if not keep:
            await drop_generation(stores, tenant, generation)


async def drop_generation(stores: Stores, tenant: str, generation: str) -> None:
    """Deletes what a tenant has of a generation."""
    await Graphs(stores.redis, generation).of(tenant).drop()
    await stores.vectors.drop(tenant, generation)
    await Progress(stores.redis, generation).drop()


async def _fold(settings: Settings, stores: Stores, tenant: str, generation: str) -> None:
    patience = settings.embedder_patience
    stages = Stages.of_generation(stores.redis, stores.vectors, stores.embeddings, generation, patience)
    batch: list[Logged] = []
    async with reader(settings) as consumer:
        async for logged in _entries(consumer, stages, tenant):
            batch.append(logged)
            if len(batch) == BATCH_ENTRIES_MAX:
                await stages.fold(batch)
                batch.clear()
    if batch:
        await stages.fold(batch)
    while await stages.embed.fill_missing():
        pass


async def _entries(consumer: AIOKafkaConsumer, stages: Stages, tenant: str) -> AsyncIterator[Logged]:
    """The tenant's entries, oldest first. One that can never be decoded is passed over, as the chain does."""
    number = tenant_partition(tenant, TOPICS.memory_log)
    partition = TopicPartition(TOPICS.memory_log.name, number)
    end = (await end_offsets(consumer, TOPICS.memory_log, [number]))[number]
    consumer.assign([partition])
    await consumer.seek_to_beginning(partition)
    # What compaction has dropped leaves gaps, so the position tells when the end is reached, and no record does.
    while await consumer.position(partition) < end:
        fetched = (await consumer.getmany(partition, timeout_ms=POLL_MS)).get(partition, ())
        for message in fetched:
            if message.offset >= end:
                return
            try:
                logged = stages.graph.decode(_record(message))
            except PoisonError as error:
                log.warning("entry_passed_over", offset=message.offset, reason=error.code)
                continue
            if logged is not None and logged.entry.tenant == tenant:
                yield logged


def _record(message: ConsumerRecord) -> Record:
    return Record(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key,
        value=message.value,
        headers=dict(message.headers),
        timestamp_ms=message.timestamp,
    )
