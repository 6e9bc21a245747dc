"""incidents.quarantined.v1 → guard → quarantine

Folds quarantine from its topic where it was lost, before guard starts or under it: the newest state of each item is
put back.
"""

import structlog
from aiokafka import AIOKafkaConsumer
from redis.asyncio import Redis

from twiceshy.errors import PoisonError
from twiceshy.events.quarantine import IncidentQuarantined
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.codec import decode
from twiceshy.stream.replay_sources import TopicSource
from twiceshy.stream.topics import TOPICS

ITEMS_A_WRITE = 100
BYTES_A_WRITE = 4 * 1024 * 1024

log = structlog.get_logger()


async def prepared_quarantine(redis: Redis, consumer: AIOKafkaConsumer) -> Quarantine:
    """Quarantine, with the indexes of this version and all that its topic has. Raises as `complete_quarantine` does."""
    quarantine = Quarantine(redis)
    await quarantine.prepare()
    await complete_quarantine(quarantine, consumer)
    return quarantine


async def complete_quarantine(quarantine: Quarantine, consumer: AIOKafkaConsumer) -> None:
    """Puts quarantine back where it lacks something of what its topic has. Assigns the consumer then.

    What is held or decided on meanwhile stays as it is, unless the topic has it later.

    Raises:
        NotReadyError: an index did not become operational in time.
        TransientError: a store or the broker is away. What was put back by then stays.
    """
    if await quarantine.complete():
        return
    await quarantine.prepare()
    await _put_back(quarantine, TopicSource(consumer, TOPICS.incidents_quarantined))
    await quarantine.note_complete()


async def _put_back(quarantine: Quarantine, topic: TopicSource) -> None:
    count = 0
    for partition, (begin, end) in (await topic.extent()).items():
        items, size = list[IncidentQuarantined](), 0
        async for record in topic.records(partition, begin, end):
            try:
                items.append(decode(record, IncidentQuarantined))
            except PoisonError as error:
                log.error(
                    "item_unreadable", worker="guard", offset=record.offset, partition=partition, reason=error.code
                )
                continue
            size += len(record.value or b"")
            if len(items) >= ITEMS_A_WRITE or size >= BYTES_A_WRITE:
                await quarantine.put_back(items)
                count, items, size = count + len(items), [], 0
        if items:
            await quarantine.put_back(items)
            count += len(items)
    if count:
        log.warning("quarantine_put_back", worker="guard", records=count)
