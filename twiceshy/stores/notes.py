"""Notes in Redis beside the graphs: how far each stage is, and exits on an entry."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from redis.asyncio import Redis

from twiceshy.stores.connection import answering
from twiceshy.stores.graph import STAGES

LIVE_CHAIN = "chain"
"""The notes of the live chain, whichever generations it writes."""

FOLD = "fold"
"""The stages of a fold go together, and have one note."""

_KEEP_EXITS_SECONDS = 7 * 86_400


@dataclass(frozen=True, slots=True)
class Note:
    """A stage has handled the log up to ``offset``, whose entry has ``key``."""

    offset: int
    key: str


class Progress:
    """How far each stage has come in each partition of the log: of the live chain, or of one fold.

    Notes only ever go forward within a process; where another process set one back, more is read again than
    must be, never less.
    """

    def __init__(self, redis: Redis, name: str) -> None:
        self._redis = redis
        self._key = f"twiceshy:progress:{name}"
        self._noted: dict[str, int] = {}

    @classmethod
    def of_fold(cls, redis: Redis, tenant: str, generation: str) -> "Progress":
        """The notes of what is folded beside the live chain."""
        return cls(redis, f"{tenant}:{generation}")

    def beside(self, name: str) -> "Progress":
        """Notes of their own under another name, in the same Redis."""
        return Progress(self._redis, name)

    async def note_positions(self, stage: str, positions: dict[int, tuple[int, str]]) -> None:
        """Notes, by partition, offset and key of the last entry whose outputs are with the broker."""
        fresh = {
            f"{stage}:{partition}": Note(offset, key)
            for partition, (offset, key) in positions.items()
            if offset > self._noted.get(f"{stage}:{partition}", -1)
        }
        if not fresh:
            return
        written: dict[Any, Any] = {
            field: orjson.dumps([note.offset, note.key]).decode() for field, note in fresh.items()
        }
        async with answering():
            await self._redis.hset(self._key, mapping=written)
        self._noted.update({field: note.offset for field, note in fresh.items()})

    async def of(self, stage: str) -> dict[int, Note]:
        """A stage's notes by partition."""
        return {partition: note for (noted, partition), note in (await self.all()).items() if noted == stage}

    async def all(self) -> dict[tuple[str, int], Note]:
        async with answering():
            written: dict[Any, Any] = await self._redis.hgetall(self._key)
        notes: dict[tuple[str, int], Note] = {}
        for field, value in written.items():
            stage, _, partition = field.rpartition(":")
            offset, key = orjson.loads(value)
            notes[stage, int(partition)] = Note(offset, key)
        return notes

    async def next_offsets(self, partitions: Sequence[int]) -> dict[int, int]:
        """Where graph has to begin in each partition: behind the slowest stage."""
        notes = await self.all()
        return {
            partition: min(notes[stage, partition].offset + 1 if (stage, partition) in notes else 0 for stage in STAGES)
            for partition in partitions
        }

    async def rewrite(self, offsets: dict[tuple[str, int], Note | None]) -> None:
        """Puts notes to where their entries now stand (None: nowhere), after the log was put back from files."""
        gone = [f"{stage}:{partition}" for (stage, partition), note in offsets.items() if note is None]
        moved: dict[Any, Any] = {
            f"{stage}:{partition}": orjson.dumps([note.offset, note.key]).decode()
            for (stage, partition), note in offsets.items()
            if note is not None
        }
        async with answering():
            if gone:
                await self._redis.hdel(self._key, *gone)
            if moved:
                await self._redis.hset(self._key, mapping=moved)

    async def drop(self) -> None:
        async with answering():
            await self._redis.delete(self._key)


class Exits:
    """How often a worker has exited on a record, by the record's identity."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def exits(self, worker: str, identity: str) -> int:
        async with answering():
            return int(await self._redis.get(f"twiceshy:exits:{worker}:{identity}") or 0)

    async def exiting(self, worker: str, identity: str) -> None:
        key = f"twiceshy:exits:{worker}:{identity}"
        async with answering():
            await self._redis.incr(key)
            await self._redis.expire(key, _KEEP_EXITS_SECONDS)
