"""The broker seen from outside the workers: making topics, verifying them, and asking how far they go."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from twiceshy.errors import NotReadyError, TransientError
from twiceshy.settings import Settings
from twiceshy.stream.outputs import client_security
from twiceshy.stream.topics import BROKERS_TIME, PRODUCERS_TIME, TIMESTAMP_TYPE, TOPICS, Topic

FETCH_SECONDS_MAX = 10.0


@asynccontextmanager
async def _admin(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(
        bootstrap_servers=settings.kafka, request_timeout_ms=30_000, **client_security(settings.kafka_security)
    )
    try:
        await client.start()
    except (KafkaError, OSError) as error:
        raise TransientError(f"The Kafka broker at {settings.kafka} does not answer: {error}") from error
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def reader(settings: Settings) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer of no group, for offsets and for reading along."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=settings.kafka,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=settings.fetch_wait_ms,
        **client_security(settings.kafka_security),
    )
    try:
        await consumer.start()
    except (KafkaError, OSError) as error:
        raise TransientError(f"The Kafka broker at {settings.kafka} does not answer: {error}") from error
    try:
        yield consumer
    finally:
        await consumer.stop()


async def create_topics(settings: Settings) -> list[str]:
    """Makes the declared topics that are missing; the names of those it made.

    A cluster of fewer brokers than a topic's declared replication gets as many replicas as it has brokers.

    Raises:
        NotReadyError: the broker refused a topic.
    """
    wanted = TOPICS.existing(settings.tenants)
    async with _admin(settings) as client:
        brokers = len((await client.describe_cluster())["brokers"])
        present = set(await client.list_topics())
        missing = [topic for topic in wanted if topic.name not in present]
        if missing:
            made = await client.create_topics(
                [
                    NewTopic(
                        topic.name,
                        topic.partitions,
                        min(topic.replication, brokers),
                        topic_configs=topic.config(),
                    )
                    for topic in missing
                ]
            )
            for name, code, *detail in made.topic_errors:
                error = for_code(code)
                if code and error is not TopicAlreadyExistsError:
                    raise NotReadyError(f"The broker refused to make the topic {name}: {error.__name__} {detail}.")
    return [topic.name for topic in missing]


async def topic_faults(settings: Settings, topics: Sequence[Topic]) -> list[str]:
    """A sentence for each topic that is missing or has another number of partitions than declared."""
    async with _admin(settings) as client:
        described = {topic["topic"]: len(topic["partitions"]) for topic in await client.describe_topics()}
    faults = []
    for topic in topics:
        found = described.get(topic.name, 0)
        if not found:
            faults.append(f"The topic {topic.name} does not exist: run `twiceshy topics create`.")
        elif found != topic.partitions:
            faults.append(
                f"The topic {topic.name} has {found} partitions and not {topic.partitions}: the number is "
                "fixed for life, because it decides which partition a tenant has. Make the topic anew."
            )
    return faults


async def topics_on_producers_time(settings: Settings, topics: Sequence[Topic]) -> list[str]:
    """The names of topics whose records have the time that their producers say, where the broker's is declared.

    None of a broker that does not tell: there is nothing that its operator could set.
    """
    asked = [
        ConfigResource(ConfigResourceType.TOPIC, topic.name, configs={TIMESTAMP_TYPE: ""})
        for topic in topics
        if topic.timestamps == BROKERS_TIME
    ]
    async with _admin(settings) as client:
        try:
            answers = await client.describe_configs(asked)
        except KafkaError:
            return []
    resources = [resource for answer in answers for resource in answer.resources]
    return sorted(
        name
        for _, _, _, name, entries in resources
        if (TIMESTAMP_TYPE, PRODUCERS_TIME) in [entry[:2] for entry in entries]
    )


async def end_offsets(consumer: AIOKafkaConsumer, topic: Topic, numbers: Sequence[int] | None = None) -> dict[int, int]:
    """By partition (all, or those of ``numbers``), the offset that the next record will have. Assigns the consumer."""
    partitions = [TopicPartition(topic.name, number) for number in numbers or range(topic.partitions)]
    ends = await partition_ends(consumer, partitions)
    return {partition.partition: end for partition, end in ends.items()}


async def partition_ends(consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """The offset that the next record of each will have. Assigns the consumer.

    Asked for it, Tansu tells where the second record of the last batch is; what comes with a fetch is right on every
    broker. So a record is fetched wherever there is one.
    """
    try:
        ends: dict[TopicPartition, int] = await consumer.end_offsets(partitions)
        filled = [partition for partition, end in ends.items() if end]
        consumer.assign(filled)
        for partition in filled:
            consumer.seek(partition, ends[partition] - 1)
        async with asyncio.timeout(FETCH_SECONDS_MAX):
            while any(consumer.highwater(partition) is None for partition in filled):
                await consumer.getmany(*filled, timeout_ms=100)
    except (KafkaError, TimeoutError) as error:
        raise TransientError(f"Kafka does not say how far {partitions[0].topic} goes: {error!r}") from error
    return ends | {partition: consumer.highwater(partition) for partition in filled}


async def fetch_one(consumer: AIOKafkaConsumer, partition: TopicPartition, offset: int) -> Any:
    """The record at ``offset``. Assigns the consumer to its partition."""
    consumer.assign([partition])
    consumer.seek(partition, offset)
    return await consumer.getone(partition)
