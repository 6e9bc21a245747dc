"""Where a replay reads: a topic, or the journal's file of one that the broker lacks, and originals of dead letters."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from twiceshy.errors import NotReadyError, TransientError
from twiceshy.stream import journal
from twiceshy.stream.admin import fetch_one, partition_ends
from twiceshy.stream.records import Record
from twiceshy.stream.replaying import INPUTS, Span, original_of, place_of
from twiceshy.stream.topics import Topic

POLL_MS = 200
FETCH_SECONDS_MAX = 10.0
STALL_SECONDS_MAX = 30.0

SourceName = Literal["topic", "file"]
Extent = dict[int, tuple[int, int]]
"""By partition, the offset of the first record, and the one behind the last."""


class Source(Protocol):
    """Records by partition and offset. ``name`` tells one way of counting offsets from another."""

    name: SourceName

    async def extent(self) -> Extent: ...

    async def narrowed(self, extent: Extent, span: Span) -> Extent:
        """The part of ``extent`` that has all records of ``span``, and may have others."""

    def records(self, partition: int, begin: int, end: int) -> AsyncIterator[Record]: ...

    async def at(self, partition: int, offset: int) -> Record | None:
        """The record at a place; None when there is none any more."""


class TopicSource:
    """A topic of the broker. Assigns the consumer, which must be of no group and serve nothing else."""

    name: SourceName = "topic"

    def __init__(self, consumer: AIOKafkaConsumer, topic: Topic) -> None:
        self._consumer = consumer
        self._topic = topic

    async def extent(self) -> Extent:
        partitions = [TopicPartition(self._topic.name, number) for number in range(self._topic.partitions)]
        begins = await beginnings(self._consumer, partitions)
        ends = await partition_ends(self._consumer, partitions)
        return {
            partition.partition: (min(begins[partition], ends[partition]), ends[partition]) for partition in partitions
        }

    async def narrowed(self, extent: Extent, span: Span) -> Extent:
        narrow = {number: span.offsets(*whole) for number, whole in extent.items()}
        if span.begin is None or span.begin.time_ms is None:
            return narrow
        at_ms = span.begin.time_ms
        return {number: (await self._since(number, *part, at_ms), part[1]) for number, part in narrow.items()}

    async def _since(self, number: int, begin: int, end: int, at_ms: int) -> int:
        """An offset before which no record is of ``at_ms`` or later.

        Asked for a time, Tansu compares with when a batch arrived, and has been seen to be wrong by all of them. So
        the answer counts where the records around it agree with it; else all is read.
        """
        if begin == end:
            return begin
        partition = TopicPartition(self._topic.name, number)
        try:
            found = (await self._consumer.offsets_for_times({partition: at_ms}))[partition]
        except KafkaError as error:
            raise TransientError(f"Kafka does not say what {self._topic.name} had at a time: {error!r}") from error
        since = end if found is None else min(max(found.offset, begin), end)
        before = None if since == begin else await self._time_at(number, since - 1)
        first = None if since == end else await self._time_at(number, since)
        agree = (since == begin or (before is not None and before < at_ms)) and (
            since == end or (first is not None and first >= at_ms)
        )
        return since if agree else begin

    async def _time_at(self, number: int, offset: int) -> int | None:
        """None where no record is, as at the end of a transaction."""
        try:
            found = await self.at(number, offset)
        except TransientError:
            return None
        return None if found is None else found.timestamp_ms

    async def records(self, partition: int, begin: int, end: int) -> AsyncIterator[Record]:
        """Raises TransientError when the broker gives nothing more, or lost what it had."""
        place, expected = TopicPartition(self._topic.name, partition), begin
        self._consumer.assign([place])
        self._consumer.seek(place, begin)
        came_at = time.monotonic()
        # What retention or compaction has dropped leaves gaps, so the position tells when the end is reached.
        while await self._consumer.position(place) < end:
            try:
                fetched = (await self._consumer.getmany(place, timeout_ms=POLL_MS)).get(place, ())
            except KafkaError as error:
                raise TransientError(f"Kafka does not give {self._topic.name}: {error!r}") from error
            if fetched:
                came_at = time.monotonic()
            elif time.monotonic() - came_at > STALL_SECONDS_MAX:
                raise TransientError(f"Kafka gave nothing of {self._topic.name} for {STALL_SECONDS_MAX:g} s.")
            for message in fetched:
                if message.offset < expected:
                    raise TransientError(f"The broker was started anew and begins {self._topic.name} from nothing.")
                if message.offset >= end:
                    return
                expected = message.offset + 1
                yield Record.of_consumer(message)

    async def at(self, partition: int, offset: int) -> Record | None:
        return await record_at(self._consumer, TopicPartition(self._topic.name, partition), offset)


class JournalSource:
    """The files of a topic in a journal. An offset is the number of a line, from 0."""

    name: SourceName = "file"

    def __init__(self, folder: Path, topic: Topic) -> None:
        self._topic = topic
        self._paths = {number: folder / f"{topic.name}-{number}.jsonl" for number in range(topic.partitions)}

    async def extent(self) -> Extent:
        return {number: (0, await asyncio.to_thread(_whole_lines, path)) for number, path in self._paths.items()}

    async def narrowed(self, extent: Extent, span: Span) -> Extent:
        return {number: span.offsets(*whole) for number, whole in extent.items()}

    async def records(self, partition: int, begin: int, end: int) -> AsyncIterator[Record]:
        """Raises NotReadyError at a line that is damaged."""
        for record in self._lines(partition, begin, end):
            yield record

    async def at(self, partition: int, offset: int) -> Record | None:
        return next(self._lines(partition, offset, offset + 1), None)

    def _lines(self, partition: int, begin: int, end: int) -> Iterator[Record]:
        path = self._paths[partition]
        if begin >= end or not path.exists():
            return
        number = begin
        try:
            for number, kept in enumerate(islice(journal.read(path), begin, end), start=begin):
                yield Record(kept.topic, partition, number, kept.key, kept.value, dict(kept.headers), timestamp_ms=0)
        except (ValueError, KeyError, TypeError) as error:
            raise NotReadyError(
                f"A line of {path} behind line {number} is damaged ({error}): put the file back from a copy."
            ) from error


def _whole_lines(path: Path) -> int:
    """A line that is being written, or was torn by a crash, does not count."""
    try:
        with path.open("rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    except FileNotFoundError:
        return 0


class Originals:
    """What dead letters are about, read where it stands. Assigns the consumer, which must be of no group."""

    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self._consumer = consumer
        self._extents: dict[TopicPartition, tuple[int, int]] | None = None

    async def of(self, letter: Record) -> Record | None:
        """The record that ``letter`` is about; None when it is gone."""
        place = place_of(letter)
        if place is None:
            return None
        if self._extents is None:
            self._extents = await self._all()
        partition, offset = TopicPartition(*place[:2]), place[2]
        begin, end = self._extents[partition]
        if not begin <= offset < end:
            return None
        found = await record_at(self._consumer, partition, offset)
        return found if found is not None and original_of(letter, found) else None

    async def _all(self) -> dict[TopicPartition, tuple[int, int]]:
        partitions = [TopicPartition(topic.name, number) for topic in INPUTS for number in range(topic.partitions)]
        begins = await beginnings(self._consumer, partitions)
        ends = await partition_ends(self._consumer, partitions)
        return {partition: (begins[partition], ends[partition]) for partition in partitions}


async def beginnings(consumer: AIOKafkaConsumer, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """The offset of the first record that each still has."""
    try:
        begins: dict[TopicPartition, int] = await consumer.beginning_offsets(partitions)
    except KafkaError as error:
        raise TransientError(f"Kafka does not say where {partitions[0].topic} begins: {error!r}") from error
    return begins


async def record_at(consumer: AIOKafkaConsumer, partition: TopicPartition, offset: int) -> Record | None:
    """The record at ``offset``, which must lie before the end; None when it was dropped."""
    try:
        async with asyncio.timeout(FETCH_SECONDS_MAX):
            message = await fetch_one(consumer, partition, offset)
    except (KafkaError, TimeoutError) as error:
        raise TransientError(f"Kafka does not give a record of {partition.topic}: {error!r}") from error
    return Record.of_consumer(message) if message.offset == offset else None
