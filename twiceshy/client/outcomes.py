"""Following what became of events: remembered, held for a person to decide, refused."""

import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from typing import Self

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from pydantic import ValidationError

from twiceshy.errors import TransientError
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.settings import Settings
from twiceshy.stream.admin import partition_ends, reader
from twiceshy.stream.topics import TOPICS

POLL_MS_MAX = 1_000
SEEN_MAX = 200_000


class OutcomeFollower:
    """Reads outcomes from the moment on at which it is entered, so enter it before publishing.

    An outcome that comes again is dropped. One task at a time may read.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._exit = AsyncExitStack()
        self._consumer: AIOKafkaConsumer
        self._seen: dict[tuple[str, str], None] = {}

    async def __aenter__(self) -> Self:
        """Raises TransientError when the broker does not answer."""
        self._consumer = await self._exit.enter_async_context(reader(self._settings))
        try:
            topic = TOPICS.incidents_outcomes
            partitions = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
            ends = await partition_ends(self._consumer, partitions)
            self._consumer.assign(partitions)
            for partition, offset in ends.items():
                self._consumer.seek(partition, offset)
        except KafkaError as error:
            await self._exit.aclose()
            raise TransientError(f"Kafka does not say where {topic.name} ends: {error!r}") from error
        except BaseException:
            await self._exit.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exit.aclose()

    async def next(self, timeout_seconds: float) -> list[IncidentOutcome]:
        """The outcomes that came since the last call, at least one; none when the time is over.

        Raises:
            TransientError: the broker is away.
        """
        until = time.monotonic() + timeout_seconds
        while True:
            left_ms = max(0, int((until - time.monotonic()) * 1_000))
            try:
                batches = await self._consumer.getmany(timeout_ms=min(left_ms, POLL_MS_MAX))
            except KafkaError as error:
                raise TransientError(f"Kafka does not give outcomes: {error!r}") from error
            came = [record.value for records in batches.values() for record in records if record.value]
            fresh = [outcome for value in came if (outcome := self._fresh(value)) is not None]
            if fresh or not left_ms:
                return fresh

    async def follow(self, event_ids: Iterable[str], timeout_seconds: float) -> AsyncIterator[IncidentOutcome]:
        """The first outcome of each event, as they come, until each has one.

        Raises:
            TimeoutError: some have none after ``timeout_seconds``; the sentence names a few and what to look at.
        """
        missing = set(event_ids)
        until = time.monotonic() + timeout_seconds
        while missing:
            outcomes = await self.next(max(0.0, until - time.monotonic()))
            if not outcomes:
                some = ", ".join(sorted(missing)[:3])
                raise TimeoutError(
                    f"{len(missing)} events have no outcome after {timeout_seconds:g} s ({some}). "
                    "See whether the workers run, and are ready: they wait while a store is away."
                )
            for outcome in outcomes:
                if outcome.event_id in missing:
                    missing.remove(outcome.event_id)
                    yield outcome

    async def outcomes(self, event_ids: Iterable[str], timeout_seconds: float) -> dict[str, IncidentOutcome]:
        """The first outcome of each event, by event id; raises as `follow` does."""
        return {outcome.event_id: outcome async for outcome in self.follow(event_ids, timeout_seconds)}

    def _fresh(self, value: bytes) -> IncidentOutcome | None:
        try:
            outcome = IncidentOutcome.model_validate_json(value)
        except ValidationError:
            # A later version of this software said it; what it means is not for this one.
            return None
        identity = outcome.event_id, outcome.outcome
        if identity in self._seen:
            return None
        if len(self._seen) >= SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        self._seen[identity] = None
        return outcome
