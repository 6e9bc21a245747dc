"""Which generation of a tenant's memory is live, which one recall reads, and which others there are.

A generation is one whole build of a tenant's memory: a graph, and its points.
"""

from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from twiceshy.stores.connection import answering
from twiceshy.stores.graph import FIRST_GENERATION


@dataclass(frozen=True, slots=True)
class Pointers:
    """``live`` is what the chain writes, ``recalled`` what recall reads: it follows when the last stage has."""

    live: str = FIRST_GENERATION
    recalled: str = FIRST_GENERATION


class Generations:
    """Kept in Redis, beside the graphs. Moved by the entries of the log alone."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def of(self, tenant: str) -> Pointers:
        async with answering():
            written: dict[Any, Any] = await self._redis.hgetall(_pointers(tenant))
        return Pointers(**written)

    async def set_live(self, tenant: str, generation: str) -> None:
        async with answering():
            await self._redis.hset(_pointers(tenant), "live", generation)

    async def set_recalled(self, tenant: str, generation: str) -> None:
        async with answering():
            await self._redis.hset(_pointers(tenant), "recalled", generation)

    async def others(self, tenant: str) -> list[str]:
        """The generations that were built beside the first one and not dropped, in order of name."""
        async with answering():
            added: set[Any] = await self._redis.smembers(_others(tenant))
        return sorted(str(name) for name in added)

    async def register(self, tenant: str, generation: str) -> None:
        """Makes a generation known, before anything of it is written."""
        async with answering():
            await self._redis.sadd(_others(tenant), generation)

    async def forget(self, tenant: str, generation: str) -> None:
        """After a generation was dropped."""
        async with answering():
            await self._redis.srem(_others(tenant), generation)


def _pointers(tenant: str) -> str:
    return f"twiceshy:generations:{tenant}"


def _others(tenant: str) -> str:
    return f"twiceshy:generations:{tenant}:others"
