"""Delivery, written once: batches, retry in place, dead letters, and acknowledgements last and in order.

The effects of a batch are durable and its outputs acknowledged by the broker before an input is. A batch
that fails is run again entry by entry, so that one bad entry costs the others nothing.

| a handler raises | what happens |
|---|---|
| TransientError, FencedError | the same call again, with back-off, for as long as it takes |
| PoisonError | dead letter, acknowledged, on to the next |
| anything else | the process exits without acknowledging; after three exits on an entry: dead letter ``bug`` |
"""

import asyncio
import hashlib
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import structlog

from twiceshy.core.redact import Redactor
from twiceshy.errors import FencedError, PoisonError, TransientError
from twiceshy.stream.dead_letters import dead_letter
from twiceshy.stream.records import Output, Record
from twiceshy.stream.trace import traced

T = TypeVar("T")
R = TypeVar("R")

BATCH_ENTRIES_MAX = 100
BATCH_BYTES_MAX = 1024 * 1024
BACKOFF_SECONDS_FIRST = 0.05
BACKOFF_SECONDS_MAX = 5.0
EXITS_MAX = 3
EXIT_CODE_BUG = 70
ROOM_SECONDS = 0.05
LINGER_SECONDS = 0.02
"""While entries come faster than one at a time, a batch waits this long for more: most of its cost is its own."""

log = structlog.get_logger()


class Stage(Protocol[T]):
    """One worker's part, free of delivery: tests call it without a broker."""

    name: str

    def decode(self, record: Record) -> T | None:
        """The typed event in a record; None when there is nothing to do (a tombstone that erases).

        Raises:
            PoisonError: it can never be processed.
        """

    async def has_room(self, batch: Sequence[T]) -> bool:
        """Whether the batch may go on its way now. It is asked again until it may."""

    async def handle(self, batch: Sequence[T]) -> list[list[Output]]:
        """Applies a batch, in order, and says what to send for each entry. Repeating it changes nothing."""

    def give_up(self, record: Record, error: PoisonError) -> list[Output]:
        """What to send for an entry that is dead-lettered, besides the dead letter."""

    async def finished(self, batch: Sequence[T], records: Sequence[Record]) -> None:
        """Called when the outputs of a batch are with the broker, before its inputs are acknowledged.

        ``records`` has the tombstones and the dead-lettered ones too.
        """

    def describe(self, entry: T) -> dict[str, Any]:
        """Fields for the entry's log line. Ids and kinds, never a body."""


class Attempts(Protocol):
    """How often a worker has exited on a record, kept outside the process."""

    async def exits(self, worker: str, identity: str) -> int: ...

    async def exiting(self, worker: str, identity: str) -> None: ...


class Sender(Protocol):
    async def send(self, outputs: Sequence[Output]) -> list[int]: ...


class Delivered(Protocol):
    """A Faust event, of which delivery needs the message alone."""

    message: Any


def to_record(event: Delivered) -> Record:
    return Record.of(event.message, timestamp_ms=round((event.message.timestamp or 0) * 1_000))


class Delivery(Generic[T]):
    """Runs one stage over one topic's stream of Faust events."""

    def __init__(
        self,
        stage: Stage[T],
        sender: Sender,
        attempts: Attempts,
        finish: Callable[[Any], None],
        redactor: Redactor,
        entries_max: int = BATCH_ENTRIES_MAX,
        exit_process: Callable[[int], None] = os._exit,
    ) -> None:
        self._stage = stage
        self._sender = sender
        self._attempts = attempts
        self._finish = finish
        self._redactor = redactor
        self._entries_max = entries_max
        self._waiting = False
        # An orderly exit would run the ``finally`` blocks in which Faust acknowledges events.
        self._exit_process = exit_process
        self._queue: asyncio.Queue[Any] = asyncio.Queue(entries_max)
        self._stopping = asyncio.Event()
        self._busy = False
        self._log = log.bind(worker=stage.name)

    async def run(self, events: AsyncIterator[Any]) -> None:
        """Delivers until `stop` is called or the stream ends."""
        reader = asyncio.create_task(self._read(events))
        try:
            while (batch := await self._next_batch(reader)) is not None:
                await self._deliver(batch)
        finally:
            reader.cancel()

    def stop(self) -> None:
        """Lets the batch under way finish and takes no further one."""
        self._stopping.set()

    async def _read(self, events: AsyncIterator[Any]) -> None:
        async for event in events:
            await self._queue.put(event)

    async def _next_batch(self, reader: asyncio.Task[None]) -> list[Any] | None:
        first = asyncio.ensure_future(self._queue.get())
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({first, stopping, reader}, return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                return None
            if not first.done():
                reader.result()
                return None
            batch, size = [first.result()], len(first.result().message.value or b"")
        finally:
            first.cancel()
            stopping.cancel()
        if self._busy and self._queue.qsize() < self._entries_max - 1:
            await asyncio.sleep(LINGER_SECONDS)
        while len(batch) < self._entries_max and size < BATCH_BYTES_MAX and not self._queue.empty():
            event = self._queue.get_nowait()
            batch.append(event)
            size += len(event.message.value or b"")
        self._busy = len(batch) > 1
        return batch

    async def _deliver(self, events: Sequence[Any]) -> None:
        records = [to_record(event) for event in events]
        try:
            await self._together(events, records)
        except Exception as error:  # noqa: BLE001 - whose fault it is shows when each runs alone
            self._log.warning("batch_split", entries=len(events), error=repr(error))
            for event, record in zip(events, records, strict=True):
                await self._alone(event, record)

    async def _together(self, events: Sequence[Any], records: Sequence[Record]) -> None:
        started = time.perf_counter()
        decoded = [self._decode(record) for record in records]
        entries = [entry for entry, _ in decoded if entry is not None]
        if entries:
            await self._room(entries)
            handled = iter(await self._retrying(lambda: self._stage.handle(entries)))
        outputs: list[Output] = []
        for record, (entry, error) in zip(records, decoded, strict=True):
            if error is not None:
                outputs += self._dead(record, error, 1)
            elif entry is not None:
                outputs += traced(record, next(handled))
        await self._retrying(lambda: self._sender.send(outputs))
        await self._retrying(lambda: self._stage.finished(entries, records))
        self._acknowledge(events, records, decoded, time.perf_counter() - started)

    async def _room(self, entries: Sequence[T]) -> None:
        """Returns once the batch may go on its way. Nothing was done yet, so a stop need not wait for it."""
        while not await self._retrying(lambda: self._stage.has_room(entries)):
            if self._stopping.is_set():
                raise asyncio.CancelledError
            await asyncio.sleep(ROOM_SECONDS)

    def _decode(self, record: Record) -> tuple[T | None, PoisonError | None]:
        try:
            return self._stage.decode(record), None
        except PoisonError as error:
            return None, error

    def _dead(self, record: Record, error: PoisonError, attempts: int) -> list[Output]:
        self._log.error("dead_lettered", **_place(record), reason=error.code, attempts=attempts)
        # It quotes what the producer wrote, such as the name of an unknown field.
        error = PoisonError(error.code, self._redactor.text(error.detail))
        letter = dead_letter(record, self._stage.name, error, attempts, self._redactor)
        return traced(record, [letter, *self._stage.give_up(record, error)])

    def _acknowledge(
        self,
        events: Sequence[Any],
        records: Sequence[Record],
        decoded: Sequence[tuple[T | None, PoisonError | None]],
        seconds: float,
    ) -> None:
        each_ms = round(seconds * 1_000 / len(events), 3)
        for event, record, (entry, _) in zip(events, records, decoded, strict=True):
            self._finish(event)
            if entry is not None:
                self._log.info("handled", **_place(record), took_ms=each_ms, **self._stage.describe(entry))

    async def _alone(self, event: Any, record: Record) -> None:
        identity = _identity(record)
        exits = await self._retrying(lambda: self._attempts.exits(self._stage.name, identity))
        if exits >= EXITS_MAX:
            await self._give_up(event, record, exits)
            return
        try:
            await self._try_alone(event, record)
        except Exception:  # noqa: BLE001 - a bug: the offset stays where it is, and the process ends
            self._log.exception("exiting", **_place(record), exits=exits + 1)
            await self._retrying(lambda: self._attempts.exiting(self._stage.name, identity))
            self._exit_process(EXIT_CODE_BUG)

    async def _try_alone(self, event: Any, record: Record) -> None:
        try:
            await self._together([event], [record])
        except PoisonError as error:
            entry, _ = self._decode(record)
            await self._bury(event, record, [entry] if entry is not None else [], self._dead(record, error, 1))

    async def _give_up(self, event: Any, record: Record, exits: int) -> None:
        """Dead-letters an entry on which the worker keeps exiting, also where it exits on telling what became of it."""
        bug = PoisonError("bug", f"The worker {self._stage.name} exited {exits} times on this entry.")
        entries: list[T] = []
        try:
            outputs = self._dead(record, bug, exits)
            entry, _ = self._decode(record)
            entries += [] if entry is None else [entry]
        except Exception:  # noqa: BLE001 - the bug itself, once more
            self._log.exception("outcome_untold", **_place(record))
            outputs = [dead_letter(record, self._stage.name, bug, exits, self._redactor)]
        await self._bury(event, record, entries, outputs)

    async def _bury(self, event: Any, record: Record, entries: Sequence[T], outputs: Sequence[Output]) -> None:
        await self._retrying(lambda: self._sender.send(outputs))
        await self._retrying(lambda: self._stage.finished(entries, [record]))
        self._finish(event)

    async def _retrying(self, call: Callable[[], Awaitable[R]]) -> R:
        backoff_seconds = BACKOFF_SECONDS_FIRST
        while True:
            try:
                result = await call()
            except FencedError:
                self._log.info("fenced")
            except TransientError as error:
                if not self._waiting:
                    self._log.warning("waiting", reason=str(error))
                    self._waiting = True
            else:
                if self._waiting:
                    self._log.info("going_on")
                    self._waiting = False
                return result
            if self._stopping.is_set():
                # What is waited for may never come. Nothing was acknowledged, so the entries come again.
                raise asyncio.CancelledError
            await asyncio.sleep(backoff_seconds * random.uniform(0.5, 1.0))  # noqa: S311
            backoff_seconds = min(backoff_seconds * 2, BACKOFF_SECONDS_MAX)


def _place(record: Record) -> dict[str, Any]:
    return {"topic": record.topic, "partition": record.partition, "offset": record.offset}


def _identity(record: Record) -> str:
    """Place and content: a broker that was emptied gives a record's place to another one."""
    content = hashlib.sha256(b"\x00".join((record.key or b"", record.value or b""))).hexdigest()[:32]
    return f"{record.topic}:{record.partition}:{record.offset}:{content}"
