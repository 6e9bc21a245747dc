"""Which generation of a tenant's memory is live, which one recall reads, and which others there are.

A generation is one whole build of a tenant's memory: a graph, and its points.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from redis.asyncio import Redis

from twiceshy.stores.connection import answering
from twiceshy.stores.graph import FIRST_GENERATION, graph_name

State = Literal["building", "built"]


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

    async def others(self, tenant: str) -> dict[str, str]:
        """The generations that were built beside the first one and not dropped, and how far each is."""
        async with answering():
            written: dict[Any, Any] = await self._redis.hgetall(_others(tenant))
        return {str(name): str(state) for name, state in sorted(written.items())}

    async def new_name(self, tenant: str) -> str:
        """A name that none of the tenant's generations has had: what is on its way to one that was dropped reaches no
        other."""
        others = await self.others(tenant)
        async with answering():
            while (name := f"g{await self._redis.incr(_last(tenant)) + 1}") in others:
                continue
        return name

    async def with_graph(self, tenant: str) -> list[str]:
        """Every generation that has a graph, whether it was noted or is folded just to be looked at."""
        start, end = graph_name(tenant, "|").split("|")
        command: Callable[..., Awaitable[list[str]]] = self._redis.execute_command
        async with answering():
            names = await command("GRAPH.LIST")
        mine = [name for name in names if name.startswith(start) and name.endswith(end)]
        return sorted(name[len(start) : -len(end)] for name in mine)

    async def note(self, tenant: str, generation: str, state: State) -> None:
        """Makes a generation known, before anything of it is written, or says how far it is."""
        async with answering():
            await self._redis.hset(_others(tenant), generation, state)

    async def forget(self, tenant: str, generation: str) -> None:
        """After a generation was dropped."""
        async with answering():
            await self._redis.hdel(_others(tenant), generation)


def _pointers(tenant: str) -> str:
    return f"twiceshy:generations:{tenant}"


def _others(tenant: str) -> str:
    return f"twiceshy:generations:{tenant}:others"


def _last(tenant: str) -> str:
    return f"twiceshy:generations:{tenant}:last"
