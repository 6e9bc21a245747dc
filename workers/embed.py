"""memory.consolidated.v1 → embed → incidents.outcomes.v1

Puts what became believed into Qdrant, closes what no longer is, and says what became of each event.
"""

import time
from collections.abc import Sequence
from itertools import groupby

import structlog

from twiceshy.errors import FencedError, TransientError
from twiceshy.events.chain import (
    Compaction,
    EntryConsolidated,
    MistakeResolution,
    OriginInvalidation,
    Switch,
)
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.stores import cypher, handover
from twiceshy.stores.embeddings import Embedded, EmbeddingsClient
from twiceshy.stores.generations import Generations
from twiceshy.stores.graph import Graph, Graphs
from twiceshy.stores.points import Item
from twiceshy.stores.requests import POINTS_MAX
from twiceshy.stores.vectors import Vectors
from twiceshy.stream.chain import (
    ChainStage,
    NotesProgress,
    Stopwatch,
    by_memory,
    chain_outcome,
    fresh,
    outcome_output,
)
from twiceshy.stream.records import Output
from twiceshy.stream.topics import TOPICS
from workers.compaction import compact
from workers.embed_items import CarriedOver, drafts, invalidated, reversions

PROBE_SECONDS = 2.0

log = structlog.get_logger()


class EmbedStage(ChainStage[EntryConsolidated, IncidentOutcome]):
    """The last stage. With ``carry_from``, what another generation has embedded is not embedded again."""

    name = "embed"
    model = EntryConsolidated
    topic = TOPICS.incidents_outcomes

    def __init__(
        self,
        graphs: Graphs,
        vectors: Vectors,
        embeddings: EmbeddingsClient,
        progress: NotesProgress,
        patience_seconds: float,
        *,
        generations: Generations | None = None,
        carry_from: str | None = None,
    ) -> None:
        super().__init__(progress)
        self._graphs = graphs
        self._vectors = vectors
        self._embeddings = embeddings
        self._patience_seconds = patience_seconds
        self._generations = generations
        self._carried_over = CarriedOver(vectors, carry_from)
        self._away_until = 0.0
        self._claimed: set[str] = set()

    async def apply(self, batch: Sequence[EntryConsolidated]) -> list[IncidentOutcome]:
        watch = Stopwatch()
        fresh_events: dict[tuple[str, str], tuple[int, list[EntryConsolidated]]] = {}
        for (tenant, generation), indexes in by_memory(batch).items():
            graph = await self._graphs.in_generation(generation).prepared(tenant)
            await self._claim(graph, tenant)
            watermark = (await graph.watermarks())[self.name]
            events = [batch[index] for index in indexes]
            fresh_events[tenant, generation] = watermark, [events[index] for index in fresh(events, watermark)]
        items = await self._items([event for _, events in fresh_events.values() for event in events])
        await self._vectors.insert(items)
        for (tenant, generation), (watermark, events) in fresh_events.items():
            await self._close_and_move(tenant, generation, watermark, events)
        await self._follow_switches(batch)
        with_vector = await self._with_vector(batch, items)
        return [
            self._outcome(event, with_vector.get(event.recorded.episode_id or "")).model_copy(
                update={"took_ms": {**event.took_ms, self.name: watch.ms()}}
            )
            for event in batch
        ]

    def without_part(self, event: EntryConsolidated) -> IncidentOutcome:
        return chain_outcome(event, skipped=(self.name,))

    def outputs(self, came: EntryConsolidated, made: IncidentOutcome) -> list[Output]:
        return [outcome_output(made, self.name)]

    def _outcome(self, event: EntryConsolidated, vector: bool | None) -> IncidentOutcome:
        """What became of an entry. Some commands are decided behind graph."""
        command = event.entry.command
        if isinstance(command, MistakeResolution):
            detail = f"Memory has no open mistake {command.id}: `twiceshy recall --json` gives their ids."
            return _decided(event, bool(event.reflected.resolved), "not_open", detail)
        if isinstance(command, Switch):
            detail = f"There is no generation {command.generation}: `twiceshy generations` lists them."
            return _decided(event, event.generation == command.generation, "unknown_generation", detail)
        return chain_outcome(event, vector=vector)

    async def _close_and_move(
        self, tenant: str, generation: str, watermark: int, events: Sequence[EntryConsolidated]
    ) -> None:
        """Changes what is there already, in order: an event that moves other items than its own does so alone."""
        graph = await self._graphs.in_generation(generation).prepared(tenant)
        seen = watermark
        for alone, run in groupby(events, key=_alone):
            for part in [[event] for event in run] if alone else [list(run)]:
                if alone:
                    await self._change_others(graph, part[0], seen)
                closed = [
                    (version_id, event.recorded.t_created)
                    for event in part
                    for version_id in (*event.recorded.expired, *event.consolidated.withdrawn)
                ]
                await self._vectors.close(generation, closed)
                last = max(event.recorded.t_created for event in part)
                await self._move(graph, seen, last)
                seen = last

    async def _claim(self, graph: Graph, tenant: str) -> None:
        """Makes sure, before anything is written, that the memory's points are those of this model."""
        if graph.name not in self._claimed:
            await handover.claim(graph, tenant, self._vectors.model)
            self._claimed.add(graph.name)

    async def _move(self, graph: Graph, seen: int, last: int) -> None:
        model = self._vectors.model
        try:
            await graph.write_fenced(
                cypher.MOVE_WATERMARK, stage=self.name, seen=seen, next_watermark=last, model=model
            )
        except FencedError:
            # By another writer, or because the memory was handed over to another model: the next try finds out.
            self._claimed.discard(graph.name)
            raise

    async def _change_others(self, graph: Graph, event: EntryConsolidated, seen: int) -> None:
        tenant, generation, at = event.entry.tenant, event.generation, event.recorded.t_created
        command = event.entry.command
        if isinstance(command, Compaction):
            if event.recorded.change == "applied":
                await compact(graph, self._vectors, tenant, generation, command, seen)
            return
        moved = await invalidated(graph, at) if event.recorded.wide else reversions(event)
        sources = {copy.made: (generation, copy.source) for copy in moved.copies}
        points = await self._vectors.copies(sources)
        await self._vectors.insert([copy.item(points[copy.made], at) for copy in moved.copies if copy.made in points])
        await self._vectors.close(generation, [(version_id, at) for version_id in moved.closed])

    async def _follow_switches(self, batch: Sequence[EntryConsolidated]) -> None:
        """Moves recall's pointer to the generation that now has all that the entry's had before."""
        for event in batch:
            command, tenant, generation = event.entry.command, event.entry.tenant, event.generation
            if self._generations and isinstance(command, Switch) and command.generation == generation:
                # A switch that comes again after the way back moves nothing.
                pointers = await self._generations.of(tenant)
                if pointers.live == generation != pointers.recalled:
                    await self._generations.set_recalled(tenant, generation)

    async def _items(self, events: Sequence[EntryConsolidated]) -> list[Item]:
        made = [draft for event in events for draft in drafts(event)]
        carried = await self._carried_over.items(made)
        new = [draft for draft in made if draft.version_id not in carried]
        embedded = await self._embed([draft.text for draft in new])
        return [*carried.values(), *(draft.item(one) for draft, one in zip(new, embedded, strict=True))]

    async def _embed(self, texts: Sequence[str]) -> list[Embedded]:
        """A vector for each text; while the embedder is away, nothing, so that the words are indexed at least."""
        nothing = [Embedded(vector=None, reason=None) for _ in texts]
        if not texts or time.monotonic() < self._away_until:
            return nothing
        try:
            return await self._embeddings.embed(texts, deadline_seconds=self._patience_seconds)
        except TransientError as error:
            log.warning("embedder_away", reason=str(error))
            self._away_until = time.monotonic() + PROBE_SECONDS
            return nothing

    async def _with_vector(self, batch: Sequence[EntryConsolidated], items: Sequence[Item]) -> dict[str, bool]:
        known = {item.version_id: item.dense is not None for item in items}
        asked: dict[str, set[str]] = {}
        for event in batch:
            if event.recorded.episode_id and event.recorded.episode_id not in known:
                asked.setdefault(event.generation, set()).add(event.recorded.episode_id)
        for generation, version_ids in asked.items():
            payloads = await self._vectors.payloads(generation, sorted(version_ids))
            known |= {version_id: payload["has_vector"] for version_id, payload in payloads.items()}
        return known

    async def fill_missing(self) -> int:
        """Embeds items that were indexed by their words alone; how many got their vector.

        Raises:
            TransientError: the embedder is still away.
        """
        payloads = await self._vectors.missing(POINTS_MAX)
        if not payloads:
            return 0
        embedded = await self._embeddings.embed(
            [payload["text"] for payload in payloads], deadline_seconds=self._patience_seconds
        )
        self._away_until = 0.0
        places = [(payload["generation"], payload["version_id"]) for payload in payloads]
        await self._vectors.fill({place: one.vector for place, one in zip(places, embedded, strict=True)})
        log.info("vectors_filled", items=len(places))
        return len(places)


def _decided(event: EntryConsolidated, applied: bool, reason: str, detail: str) -> IncidentOutcome:
    if applied:
        return chain_outcome(event, outcome="applied")
    return chain_outcome(event, outcome="rejected").model_copy(update={"reason": reason, "detail": detail})


def _alone(event: EntryConsolidated) -> bool:
    """Whether an event changes items that are not its own, so that those before it have to be there."""
    command = event.entry.command
    return bool(event.recorded.reversions) or isinstance(command, Compaction | OriginInvalidation)
