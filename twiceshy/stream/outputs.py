"""What a worker sends: one plain aiokafka producer, awaited to the broker's acknowledgement."""

import asyncio
import ssl
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.partitioner import murmur2

from twiceshy.errors import PoisonError, TransientError
from twiceshy.settings import KafkaSecurity, Settings
from twiceshy.stream.journal import Journal, kept
from twiceshy.stream.records import RECORD_BYTES_MAX, Output, size
from twiceshy.stream.topics import Topic

SEND_SECONDS_MAX = 35.0
RETRY_SECONDS = 0.5
TENANTS_KEPT = 1_024

log = structlog.get_logger()


def tenant_partition(tenant: str, topic: Topic) -> int:
    """The partition of a tenant: murmur2, as Kafka's Java client has it, set by us because the default
    partitioners of different clients disagree."""
    return _hash(tenant) % topic.partitions


@lru_cache(TENANTS_KEPT)
def _hash(tenant: str) -> int:
    return int(murmur2(tenant.encode()) & 0x7FFFFFFF)


def client_security(security: KafkaSecurity) -> dict[str, Any]:
    """aiokafka's arguments for logging in."""
    arguments: dict[str, Any] = {"security_protocol": security.protocol}
    if security.protocol.startswith("SASL"):
        arguments |= {
            "sasl_mechanism": security.mechanism,
            "sasl_plain_username": security.username,
            "sasl_plain_password": security.password.get_secret_value() if security.password else None,
        }
    if security.protocol.endswith("SSL"):
        arguments["ssl_context"] = ssl.create_default_context(cafile=security.cafile)
    return arguments


class Outputs:
    """The one producer of a process. Safe for use by several workers of one event loop."""

    def __init__(self, settings: Settings, client_id: str, *, linger_ms: int = 2) -> None:
        self._producer = AIOKafkaProducer(
            bootstrap_servers=settings.kafka,
            client_id=client_id,
            acks="all",
            # Tansu refuses InitProducerId. A repeat that a retry makes is dropped by its event id.
            enable_idempotence=False,
            linger_ms=linger_ms,
            max_request_size=2 * 1024 * 1024,
            request_timeout_ms=30_000,
            **client_security(settings.kafka_security),
        )
        self._journal = Journal(settings.journal) if settings.journal else None
        self._in_order = asyncio.Lock()

    async def start(self) -> None:
        try:
            await self._producer.start()
        except (KafkaError, OSError) as error:
            raise TransientError(f"The Kafka broker does not answer: {error}") from error

    async def stop(self) -> None:
        await self._producer.stop()
        if self._journal:
            self._journal.close()

    async def send(self, outputs: Sequence[Output]) -> list[int]:
        """Sends ``outputs`` in order and waits until the broker has acknowledged each.

        Returns:
            The offset of each, in the order given.

        Raises:
            TransientError: the broker did not acknowledge all in time; send all of them again, so that
                the order within a partition holds.
            PoisonError: one is larger than what brokers take; none was sent.
        """
        if not outputs:
            return []
        _check_sizes(outputs)
        if self._journal is None or not any(kept(output.topic) for output in outputs):
            return await self._produce(outputs)
        # The files have to have the topic's order, or what is folded from them is another memory. So nobody
        # else sends what is kept until the broker has this, however long that takes.
        async with self._in_order:
            self._journal.append(outputs)
            while True:
                try:
                    return await self._produce(outputs)
                except TransientError as error:
                    log.warning("waiting", reason=str(error))
                    await asyncio.sleep(RETRY_SECONDS)

    async def put_back(self, outputs: Sequence[Output]) -> None:
        """Sends what the journal has and the broker lacks."""
        await self._produce(outputs)

    async def _produce(self, outputs: Sequence[Output]) -> list[int]:
        now_ms = int(time.time() * 1_000)
        try:
            futures = [
                await self._producer.send(
                    output.topic,
                    value=output.value,
                    key=output.key,
                    partition=output.partition,
                    headers=list(output.headers),
                    timestamp_ms=now_ms,
                )
                for output in outputs
            ]
            sent = await asyncio.wait_for(asyncio.gather(*futures), SEND_SECONDS_MAX)
        except (KafkaError, TimeoutError) as error:
            raise TransientError(f"Kafka did not acknowledge a write to {outputs[0].topic}: {error!r}") from error
        return [metadata.offset for metadata in sent]

    async def partitions(self, topic: str) -> int | None:
        """How many partitions ``topic`` has, or None when it does not exist."""
        known = await self._producer.client.fetch_all_metadata()
        partitions = known.partitions_for_topic(topic)
        return len(partitions) if partitions else None


def _check_sizes(outputs: Sequence[Output]) -> None:
    """A broker refuses what is too large however often it is sent, which would look like a broker that is away."""
    for output in outputs:
        if size(output) > RECORD_BYTES_MAX:
            raise PoisonError(
                "output_too_large",
                f"A record for {output.topic} has {size(output)} bytes, and brokers take {RECORD_BYTES_MAX}.",
            )
