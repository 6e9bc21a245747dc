"""Delivery's surroundings in memory: events that notice their acknowledgement, a stage and a sender that fail on cue.

Fakes, because what they do (a bug in one entry, a broker that fails between two calls) cannot be provoked otherwise.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from twiceshy.core.redact import Redactor
from twiceshy.errors import PoisonError
from twiceshy.stream import delivery
from twiceshy.stream.delivery import Delivery
from twiceshy.stream.records import Output, Record

TOPIC = "memory.log.v1"
LETTERS = "memory.log.v1.dlq"
POISON = b"poison"
BLOCK_SECONDS_MAX = 5.0


class ExitedError(BaseException):
    """The process would have ended here."""


@contextlib.contextmanager
def quick() -> Iterator[None]:
    """No pause before another try, and no traceback printed, which takes a second."""
    with pytest.MonkeyPatch.context() as patch, capture_logs():
        patch.setattr(delivery, "BACKOFF_SECONDS_FIRST", 0.0)
        yield


@dataclass(frozen=True)
class Event:
    message: Any


def events(*values: bytes | None, first: int = 0, headers: Sequence[tuple[str, bytes | None]] = ()) -> list[Event]:
    """An event a value, at consecutive offsets."""
    return [
        Event(
            SimpleNamespace(
                topic=TOPIC,
                partition=0,
                offset=first + number,
                key=b"key",
                value=value,
                headers=list(headers),
                timestamp=1.5,
                timestamp_type=0,
            )
        )
        for number, value in enumerate(values)
    ]


async def stream(of: Iterable[Event], *, ends: bool = True) -> AsyncIterator[Event]:
    for event in of:
        yield event
    if not ends:
        await asyncio.Event().wait()


@dataclass
class Surroundings:
    """``faults`` has, by what is called and for which entry, the errors to raise, one a call, the first one first.

    ``happened`` tells in order what was handled, sent, finished and acknowledged, each with the values concerned.
    """

    faults: dict[tuple[str, bytes], list[Exception]] = field(default_factory=dict)
    happened: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    noted_exits: dict[str, int] = field(default_factory=dict)
    room: list[bool] = field(default_factory=list)
    blocked: asyncio.Event | None = None
    name: str = "fake"

    def delivery(self) -> Delivery[bytes]:
        return Delivery(self, self, self, self._acknowledge, Redactor(), exit_process=_exit)

    async def deliver(self, of: Sequence[Event]) -> None:
        """Delivers to the end, in a new process after each exit, to which what was not acknowledged comes again."""
        while True:
            try:
                await self.delivery().run(stream(of[len(self.acknowledged) :]))
            except ExitedError:
                continue
            return

    def _fail(self, what: str, values: Iterable[bytes | None]) -> None:
        for value in values:
            errors = self.faults.get((what, value or b""))
            if errors:
                raise errors.pop(0)

    def decode(self, record: Record) -> bytes | None:
        if record.value == POISON:
            raise PoisonError("schema", "title: must not be blank")
        self._fail("decode", [record.value])
        return record.value

    async def has_room(self, batch: Sequence[bytes]) -> bool:
        return self.room.pop(0) if self.room else True

    async def handle(self, batch: Sequence[bytes]) -> list[list[Output]]:
        if self.blocked is not None:
            self.happened.append(("blocked", tuple(batch)))
            await asyncio.wait_for(self.blocked.wait(), BLOCK_SECONDS_MAX)
        self._fail("handle", batch)
        self.happened.append(("handled", tuple(batch)))
        return [[output("out", value)] for value in batch]

    def give_up(self, record: Record, error: PoisonError) -> list[Output]:
        self._fail("give_up", [record.value])
        return [output("outcomes", error.code.encode())]

    async def finished(self, batch: Sequence[bytes], records: Sequence[Record]) -> None:
        self._fail("finished", batch)
        self.happened.append(("finished", tuple(record.value for record in records)))

    def describe(self, entry: bytes) -> dict[str, Any]:
        return {"size": len(entry)}

    async def send(self, outputs: Sequence[Output]) -> list[int]:
        self._fail("send", [output.value for output in outputs])
        self.happened.append(("sent", tuple(outputs)))
        return list(range(len(outputs)))

    async def exits(self, worker: str, identity: str) -> int:
        return self.noted_exits.get(identity, 0)

    async def exiting(self, worker: str, identity: str) -> None:
        self.noted_exits[identity] = self.noted_exits.get(identity, 0) + 1

    def _acknowledge(self, event: Event) -> None:
        self.happened.append(("acknowledged", (event.message.offset,)))

    def of(self, what: str) -> list[Any]:
        """All that happened of a kind, in order."""
        return [value for kind, values in self.happened if kind == what for value in values]

    @property
    def batches(self) -> list[tuple[Any, ...]]:
        return [values for kind, values in self.happened if kind == "handled"]

    @property
    def acknowledged(self) -> list[int]:
        return self.of("acknowledged")

    def sent_to(self, topic: str) -> list[bytes | None]:
        return [sent.value for sent in self.of("sent") if sent.topic == topic]


def output(topic: str, value: bytes) -> Output:
    return Output(topic, b"key", value, (), 0)


def _exit(code: int) -> None:
    raise ExitedError(code)
