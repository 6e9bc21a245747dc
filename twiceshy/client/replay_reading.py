"""A topic as a replay reads it: from where to where, whether it is still the same, and what of it goes out again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from twiceshy.client.replay_state import Asked, Position, State
from twiceshy.errors import NotReadyError
from twiceshy.settings import Settings
from twiceshy.stream.admin import reader, topic_faults
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.records import Record
from twiceshy.stream.replay_sources import Extent, JournalSource, Originals, Source, SourceName, TopicSource
from twiceshy.stream.replaying import REPLAYABLE, TARGET, Kind, Picked, Selection, digest
from twiceshy.stream.topics import TOPICS


class Reading:
    """One topic, open for a replay. ``source`` is where its records are read: the broker, or the journal."""

    def __init__(self, asked: Asked, selection: Selection, source: Source, originals: Originals) -> None:
        self.source = source
        self._asked = asked
        self._selection = selection
        self._topic, self._kind = REPLAYABLE[asked.topic]
        self._originals = originals
        self._extent: Extent = {}

    async def start(self) -> None:
        self._extent = await self.source.extent()

    @property
    def records(self) -> int:
        """How many there are, of whatever kind and tenant."""
        return _records(self._extent)

    async def fresh(self) -> State:
        """The state of a replay that begins now. What is published from now on is no part of it."""
        narrow = await self.source.narrowed(self._extent, self._selection.span)
        if self._kind is Kind.ENTRIES and self._selection.tenant is not None:
            number = tenant_partition(self._selection.tenant, self._topic)
            narrow = {number: narrow[number]}
        partitions = {number: Position(next=begin, end=end) for number, (begin, end) in narrow.items()}
        return State(asked=self._asked, source=self.source.name, partitions=partitions)

    async def goes_on(self, state: State) -> bool:
        """Whether the topic is still the one that ``state`` is about. An embedded broker begins anew at each start."""
        if state.source != self.source.name:
            return False
        for number, position in state.partitions.items():
            begin, end = self._extent[number]
            if end < position.end:
                return False
            if position.last is None or position.last < begin:
                continue
            found = await self.source.at(number, position.last)
            if found is not None and digest(found) != position.last_digest:
                return False
        return True

    async def picked(self, partition: int, begin: int, end: int) -> AsyncIterator[tuple[Record, Picked]]:
        """Each record from ``begin`` to before ``end``, and what becomes of it."""
        if begin >= end:
            return
        erased = await self._erased(partition) if self._kind is Kind.ENTRIES else frozenset()
        async for record in self.source.records(partition, begin, end):
            if self._kind is Kind.ENTRIES:
                yield record, self._selection.entry(record, erased)
            elif self._kind is Kind.EVENTS:
                yield record, self._selection.event(record)
            else:
                yield record, self._selection.letter(record, await self._originals.of(record))

    async def _erased(self, partition: int) -> frozenset[bytes]:
        """The keys of the tombstones. Until the log is compacted, and in its file always, what they erase is there."""
        keys: set[bytes] = set()
        async for record in self.source.records(partition, *self._extent[partition]):
            if record.value is None and record.key is not None:
                keys.add(record.key)
        return frozenset(keys)


@asynccontextmanager
async def reading(
    settings: Settings, asked: Asked, selection: Selection, journal: Path | None, source: SourceName | None
) -> AsyncIterator[Reading]:
    """``source`` is where an earlier run read, if it is to be gone on with.

    Raises:
        NotReadyError: a topic is missing.
        TransientError: the broker is away.
    """
    topic, kind = REPLAYABLE[asked.topic]
    if faults := await topic_faults(settings, [topic, TARGET] if topic != TARGET else [topic]):
        raise NotReadyError(" ".join(faults))
    async with reader(settings) as consumer, reader(settings) as beside:
        chosen: Source = TopicSource(consumer, topic)
        if kind is Kind.ENTRIES and journal is not None and source != TopicSource.name:
            chosen = await _fuller(chosen, JournalSource(journal, topic), source)
        opened = Reading(asked, selection, chosen, Originals(beside))
        await opened.start()
        yield opened


async def _fuller(topic: Source, file: JournalSource, source: SourceName | None) -> Source:
    """The file where the topic lacks something of it: a broker that was started anew may not have it back yet."""
    kept = _records(await file.extent())
    if source == file.name and kept:
        return file
    return file if kept > _records(await topic.extent()) else topic


def _records(extent: Extent) -> int:
    return sum(end - begin for begin, end in extent.values())


def journal_has_log(folder: Path) -> bool:
    """Whether a journal has anything of the log."""
    return any(path.stat().st_size for path in folder.glob(f"{TOPICS.memory_log.name}-*.jsonl"))
