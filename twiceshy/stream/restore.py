"""Puts back what the journal has and the broker lacks: all of it after a restart of a broker that keeps its
log in memory; what a killed guard had written down and not yet produced, otherwise."""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path

from aiokafka import AIOKafkaConsumer, TopicPartition

from twiceshy.stream import journal
from twiceshy.stream.admin import fetch_one, partition_ends
from twiceshy.stream.outputs import Outputs
from twiceshy.stream.records import Output
from twiceshy.stream.topics import TOPICS

CHUNK_RECORDS = 500

Places = dict[tuple[int, str], int]
"""(partition, key) to offset."""


async def put_back(
    folder: Path, consumer: AIOKafkaConsumer, outputs: Outputs, wanted: Collection[tuple[int, str]]
) -> Places | None:
    """Makes the topics have what the files of ``folder`` have, in their order.

    Returns:
        Where the ``wanted`` entries of memory.log.v1 now stand, when the log was empty before; else None,
        for what was there has kept its offsets.
    """
    places: Places = {}
    log_was_empty = True
    for path in journal.files(folder):
        journal.cut_torn_line(path)
        of_log = path.name.startswith(f"{TOPICS.memory_log.name}-") and ".dlq-" not in path.name
        records = journal.read(path)
        first = next(records, None)
        if first is None:
            continue
        partition = TopicPartition(first.topic, first.partition)
        end = (await partition_ends(consumer, [partition]))[partition]
        if end and not of_log:
            continue
        if end:
            log_was_empty = False
            last = await fetch_one(consumer, partition, end - 1)
            records = _after(journal.read(path), last.key or b"")
        else:
            records = journal.read(path)
        offset = end
        for chunk in _chunks(records):
            await outputs.put_back(chunk)
            for record in chunk:
                place = (record.partition, record.key.decode("utf-8", "replace"))
                if of_log and place in wanted:
                    places[place] = offset
                offset += 1
    return places if log_was_empty else None


def _after(records: Iterable[Output], key: bytes) -> Iterator[Output]:
    """The records behind the last one that has ``key``."""
    behind: list[Output] = []
    for record in records:
        if record.key == key:
            behind.clear()
        else:
            behind.append(record)
    return iter(behind)


def _chunks(records: Iterator[Output]) -> Iterator[list[Output]]:
    while chunk := list(islice(records, CHUNK_RECORDS)):
        yield chunk
