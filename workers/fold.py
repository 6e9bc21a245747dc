"""Folds log entries through the same handlers as the chain, outputs off, batch by batch together."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from twiceshy.events.chain import EntryConsolidated, EntryRecorded
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.stores.embeddings import EmbeddingsClient
from twiceshy.stores.graph import Graphs
from twiceshy.stores.notes import Progress
from twiceshy.stores.vectors import Vectors
from workers.consolidate import ConsolidateStage
from workers.embed import EmbedStage
from workers.graph import GraphStage, Logged
from workers.lesson import LessonStage

_UNDER_WAY_MAX = 2
"""Batches that graph has applied and embed has not."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The chain from the log on, over one generation."""

    graph: GraphStage
    lesson: LessonStage
    consolidate: ConsolidateStage
    embed: EmbedStage

    @classmethod
    def of_generation(
        cls,
        redis: Redis,
        vectors: Vectors,
        embeddings: EmbeddingsClient,
        generation: str,
        patience_seconds: float,
        *,
        carry_from: str | None = None,
    ) -> "Stages":
        """The stages over one generation; with ``carry_from``, vectors that this other one has are taken over."""
        graphs, progress = Graphs(redis, generation), Progress(redis, generation)
        return cls(
            graph=GraphStage(graphs, progress),
            lesson=LessonStage(graphs, progress),
            consolidate=ConsolidateStage(graphs, progress),
            embed=EmbedStage(graphs, vectors, embeddings, progress, patience_seconds, carry_from=carry_from),
        )

    async def fold(self, batch: Sequence[Logged]) -> list[IncidentOutcome]:
        """Applies a batch of the log; what each entry came to."""
        return await self.embed.apply(await self._taught(await self.graph.apply(batch)))

    async def fold_all(
        self, batches: AsyncIterator[Sequence[Logged]], done: Callable[[Sequence[Logged]], Awaitable[None]]
    ) -> None:
        """Applies batches, each stage on one while the next stage is still at the one before, as in the chain.

        ``done`` is awaited for each batch, in order, when all stages have applied it.
        """
        under_way: deque[asyncio.Task[None]] = deque()
        taught: asyncio.Task[list[EntryConsolidated]] | None = None

        async def embed(
            batch: Sequence[Logged],
            taught: "asyncio.Task[list[EntryConsolidated]]",
            before: "asyncio.Task[None] | None",
        ) -> None:
            events = await taught
            if before is not None:
                await before
            await self.embed.apply(events)
            await done(batch)

        try:
            async for batch in batches:
                recorded = await self.graph.apply(batch)
                if taught is not None:
                    await taught
                if len(under_way) == _UNDER_WAY_MAX:
                    await under_way.popleft()
                taught = asyncio.create_task(self._taught(recorded))
                before = under_way[-1] if under_way else None
                under_way.append(asyncio.create_task(embed(batch, taught, before)))
            for embedding in under_way:
                await embedding
        finally:
            tasks: list[asyncio.Task[Any]] = [*under_way] if taught is None else [taught, *under_way]
            for task in tasks:
                task.cancel()
            # Waited for: who tries again must not find them writing still.
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _taught(self, recorded: Sequence[EntryRecorded]) -> list[EntryConsolidated]:
        return await self.consolidate.apply(await self.lesson.apply(recorded))
