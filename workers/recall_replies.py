"""recall.requests.v1 → recall, where a reply goes → recall.replies.<tenant>

A reply may go to its tenant's topic, or below it, and nowhere else: who may read that topic may read that memory.
"""

import asyncio
import re
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from aiokafka.errors import KafkaError
from aiokafka.partitioner import murmur2

from twiceshy.errors import TransientError, TwiceshyError
from twiceshy.stream.outputs import Outputs
from twiceshy.stream.records import Record
from twiceshy.stream.topics import TOPICS

KNOWN_SECONDS = 30.0
MISSING_SECONDS = 5.0
TOPICS_MAX = 1_000

_TOPIC_NAME = re.compile(r"^[a-zA-Z0-9._-]{1,249}$")


class NoReplyToError(TwiceshyError):
    """The headers do not say where a reply can go."""


class RefusedReplyTopicError(TwiceshyError):
    """The headers name a topic to which no reply may go. ``tenant`` is the one that the topic belongs to, if any."""

    def __init__(self, reason: str, topic: str, tenant: str | None) -> None:
        super().__init__(f"{reason}: {topic!r}")
        self.reason = reason
        self.topic = topic
        self.tenant = tenant


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """Where a reply goes. ``correlation_id`` is opaque and goes back as it came."""

    topic: str
    tenant: str
    partition: int
    correlation_id: bytes


class ReplyTopics:
    """The topics to which replies may go. Whether one exists is asked of the broker, and remembered for 30 s."""

    def __init__(self, tenants: tuple[str, ...], outputs: Outputs, clock: Callable[[], float] = time.monotonic) -> None:
        self._tenants = {TOPICS.recall_replies.named(tenant=tenant).name: tenant for tenant in tenants}
        self._outputs = outputs
        self._clock = clock
        self._partitions: dict[str, tuple[int | None, float]] = {}
        self._asking = asyncio.Lock()

    async def reply_to(self, record: Record) -> ReplyTo:
        """Where the reply to a request goes.

        Raises:
            NoReplyToError: no reply is wanted, or nobody could match it to its request.
            RefusedReplyTopicError: it would go where it may not, or where nothing is.
            TransientError: the broker does not say whether the topic exists.
        """
        name = record.headers.get("kafka_replyTopic")
        correlation_id = record.headers.get("kafka_correlationId")
        if not name or correlation_id is None:
            raise NoReplyToError("the headers kafka_replyTopic and kafka_correlationId say where a reply goes")
        topic = name.decode("utf-8", "replace")[:300]
        tenant = self._tenant(topic)
        if tenant is None:
            raise RefusedReplyTopicError("no_reply_topic", topic, None)
        partitions = await self._count(topic)
        if partitions is None:
            raise RefusedReplyTopicError("missing", topic, tenant)
        partition = _partition(record.headers.get("kafka_replyPartition"), correlation_id, partitions)
        if partition is None:
            raise RefusedReplyTopicError("no_such_partition", topic, tenant)
        return ReplyTo(topic, tenant, partition, correlation_id)

    def _tenant(self, topic: str) -> str | None:
        """The tenant whose topic it is: exactly that, or a name below it after a dot. A tenant's name has no dot."""
        if not _TOPIC_NAME.match(topic):
            return None
        return next((t for own, t in self._tenants.items() if topic == own or topic.startswith(f"{own}.")), None)

    async def _count(self, topic: str) -> int | None:
        # A burst of requests asks once: whoever waited finds the answer.
        async with self._asking:
            known = self._partitions.get(topic)
            if known is not None and self._clock() < known[1]:
                return known[0]
            try:
                partitions = await self._outputs.partitions(topic)
            except (KafkaError, OSError) as error:
                raise TransientError(f"Kafka does not say whether {topic} exists: {error!r}") from error
            if len(self._partitions) >= TOPICS_MAX:
                self._partitions.clear()
            until = self._clock() + (KNOWN_SECONDS if partitions else MISSING_SECONDS)
            self._partitions[topic] = partitions, until
            return partitions


def _partition(wanted: bytes | None, correlation_id: bytes, partitions: int) -> int | None:
    """The partition that the header names (4 bytes, big-endian); without one, that of the correlation id."""
    if wanted is None:
        return int((murmur2(correlation_id) & 0x7FFFFFFF) % partitions)
    if len(wanted) != 4:
        return None
    (partition,) = struct.unpack(">i", wanted)
    return partition if 0 <= partition < partitions else None
