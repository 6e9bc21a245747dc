"""one embedding model's collection → reembed → another's, while the chain goes on and recall answers

Copies every point of a memory with a vector that the other model makes of its text, and hands the memory over.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qdrant_client import models

from twiceshy.errors import NotReadyError
from twiceshy.stores import handover
from twiceshy.stores.embeddings import Embedded
from twiceshy.stores.generations import Generations
from twiceshy.stores.graph import Graph, Graphs
from twiceshy.stores.vectors import Vectors
from workers.connections import Stores, until_answering
from workers.reembed_items import Lack, Tally, lacking, to_copy

CATCH_UP_SECONDS_MAX = 60.0

Advance = Callable[[int, int], None]
"""Called with how many points were looked at, and how many there were."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One generation of one tenant's memory, whose points are in the collection of ``source``."""

    tenant: str
    generation: str
    live: str
    graph: Graph
    source: Vectors


class Reembedding:
    """To the model of ``stores``. It can be stopped at any point and begun anew: what is there is not made again.

    ``running`` is the model of memories to which no entry has come since memories say theirs.
    """

    def __init__(
        self, stores: Stores, tenants: Sequence[str], running: str, advance: Advance = lambda done, total: None
    ) -> None:
        self._redis = stores.redis
        self._embeddings = stores.embeddings
        self._target = stores.vectors
        self._tenants = tenants
        self._running = running
        self._advance = advance
        self._generations = Generations(stores.redis)
        self._seen: dict[str, int] = {}
        self.tally = Tally()

    async def memories(self) -> list[Memory]:
        """Those whose points are still another model's, the live generation of a tenant first."""
        found: list[Memory] = []
        for tenant in self._tenants:
            live = (await self._generations.of(tenant)).live
            generations = await self._generations.with_graph(tenant)
            for generation in sorted(generations, key=lambda name: name != live):
                graph = Graphs(self._redis, generation).of(tenant)
                kept = await handover.embedded(graph)
                model = kept and (kept.model or self._running)
                if kept and model and model != self._target.model:
                    source = self._target.beside(model)
                    if await self._has_points(tenant, kept, source):
                        found.append(Memory(tenant, generation, live, graph, source))
        return found

    async def copy(self) -> bool:
        """Copies what is there, then what came meanwhile, until nothing does; whether that was within a minute.

        Raises:
            NotReadyError: a part did not answer for a minute, or a memory was handed over by somebody else.
        """
        memories = await self.memories()
        total = sum([await memory.source.count(memory.tenant, memory.generation) for memory in memories])
        done = 0
        for memory in memories:
            done += await self._follow(memory, lambda page, done=done: self._advance(done + page, total))
        for tenant in self._tenants:
            await self._drop_gone(tenant)
        deadline = time.monotonic() + CATCH_UP_SECONDS_MAX
        while time.monotonic() < deadline:
            before = self.tally.changes
            for memory in await self.memories():
                await self._follow(memory)
            if self.tally.changes == before:
                return True
        return False

    async def hand_over(self) -> list[Memory]:
        """Makes every memory that of the model, each when its points are all there; those that were not its own.

        Embed then waits until it is started with this model. What was under way is done again by that one.

        Raises:
            NotReadyError: as `copy`; or entries kept coming for a minute, faster than they could be followed.
        """
        handed: list[Memory] = []
        while memories := await self.memories():
            for memory in memories:
                await self._hand_over(memory)
            handed += memories
        return handed

    async def _hand_over(self, memory: Memory) -> None:
        deadline = time.monotonic() + CATCH_UP_SECONDS_MAX
        while time.monotonic() < deadline:
            await self._follow(memory)
            seen = self._seen.get(memory.graph.name)
            if seen is None or await handover.hand_over(memory.graph, seen, memory.source.model, self._target.model):
                return
        raise NotReadyError(
            f"Entries of {memory.tenant} kept coming for {CATCH_UP_SECONDS_MAX:.0f} s, so that it was never quite "
            "copied: stop the worker embed and run this again. What is published meanwhile waits for embed."
        )

    async def _has_points(self, tenant: str, kept: handover.Embedded, source: Vectors) -> bool:
        if await source.exists():
            return True
        if kept.watermark:
            raise NotReadyError(
                f"The points of {tenant} are those of {source.model}, and Qdrant has no collection "
                f"{source.collection}: with embeddings_model = {self._target.model!r}, `twiceshy rebuild` makes all "
                "of them from the log, in a generation of their own."
            )
        return False

    async def _follow(self, memory: Memory, looked: Callable[[int], None] = lambda points: None) -> int:
        """Copies what was made or closed since the last time, or all; how many points were looked at."""
        kept = await handover.embedded(memory.graph)
        if kept is None:
            return 0
        # Whatever is written after this has a later transaction time, and is looked at the next time.
        since, self._seen[memory.graph.name] = self._seen.get(memory.graph.name), kept.watermark
        offset, points = await self._page(memory, None, since)
        ...
