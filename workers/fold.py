"""Folds log entries through the same handlers as the chain, outputs off, batch by batch together."""

from collections.abc import Sequence
from dataclasses import dataclass

from redis.asyncio import Redis

from twiceshy.events.outcome import IncidentOutcome
from twiceshy.stores.embeddings import EmbeddingsClient
from twiceshy.stores.graph import Graphs
from twiceshy.stores.notes import Progress
from twiceshy.stores.vectors import Vectors
from workers.consolidate import ConsolidateStage
from workers.embed import EmbedStage
from workers.graph import GraphStage, Logged
from workers.lesson import LessonStage


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
        recorded = await self.graph.apply(batch)
        reflected = await self.lesson.apply(recorded)
        return await self.embed.apply(await self.consolidate.apply(reflected))
