"""memory.consolidated.v1 → embed → incidents.outcomes.v1

Puts what became believed into Qdrant, closes what no longer is, and says what became of each event.
"""

import time
from collections.abc import Sequence
from typing import Any

import structlog

from twiceshy.core.lexical import document_weights
from twiceshy.core.memory import key_of
from twiceshy.core.temporal import FOREVER
from twiceshy.core.texts import embedding_text, lexical_text, rule_title
from twiceshy.errors import TransientError
from twiceshy.events.chain import EntryConsolidated, StandingRule
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.stores import cypher
from twiceshy.stores.embeddings import Embedded, EmbeddingsClient
from twiceshy.stores.graph import Graphs
from twiceshy.stores.points import Item
from twiceshy.stores.vectors import POINTS_MAX, Vectors
from twiceshy.stream.chain import (
    ChainStage,
    NotesProgress,
    Stopwatch,
    by_tenant,
    chain_outcome,
    fresh,
    outcome_output,
)
from twiceshy.stream.records import Output
from twiceshy.stream.topics import TOPICS

PROBE_SECONDS = 2.0

log = structlog.get_logger()


class EmbedStage(ChainStage[EntryConsolidated, IncidentOutcome]):
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
    ) -> None:
        super().__init__(progress)
        self._graphs = graphs
        self._vectors = vectors
        self._embeddings = embeddings
        self._patience_seconds = patience_seconds
        self._away_until = 0.0

    async def apply(self, batch: Sequence[EntryConsolidated]) -> list[IncidentOutcome]:
        watch = Stopwatch()
        seen: dict[str, tuple[int, list[EntryConsolidated]]] = {}
        for tenant, indexes in by_tenant(batch).items():
            graph = await self._graphs.prepared(tenant)
            watermark = (await graph.watermarks())[self.name]
            events = [batch[index] for index in indexes]
            seen[tenant] = (watermark, [events[index] for index in fresh(events, watermark)])
        items = await self._items([event for _, events in seen.values() for event in events])
        await self._vectors.insert(items)
        for tenant, (watermark, events) in seen.items():
            if events:
                await self._close_and_move(tenant, watermark, events)
        with_vector = await self._with_vector(batch, items)
        return [
            chain_outcome(event, vector=with_vector.get(event.recorded.episode_id or "")).model_copy(
                update={"took_ms": {**event.took_ms, self.name: watch.ms()}}
            )
            for event in batch
        ]

    def without_part(self, event: EntryConsolidated) -> IncidentOutcome:
        return chain_outcome(event, skipped=(self.name,))

    def outputs(self, came: EntryConsolidated, made: IncidentOutcome) -> list[Output]:
        return [outcome_output(made, self.name)]

    async def _close_and_move(self, tenant: str, watermark: int, events: Sequence[EntryConsolidated]) -> None:
        closed = [
            (version_id, event.recorded.t_created)
            for event in events
            for version_id in (*event.recorded.expired, *event.consolidated.withdrawn)
        ]
        await self._vectors.close(self._graphs.generation, closed)
        graph = await self._graphs.prepared(tenant)
        last = max(event.recorded.t_created for event in events)
        await graph.write_fenced(cypher.MOVE_WATERMARK, stage=self.name, seen=watermark, next_watermark=last)

    async def _items(self, events: Sequence[EntryConsolidated]) -> list[Item]:
        drafts = [draft for event in events for draft in _drafts(event, self._graphs.generation)]
        embedded = await self._embed([text for text, _ in drafts])
        return [
            Item(**item, dense=result.vector, vector_missing=result.vector is None and result.reason is None)
            for (_, item), result in zip(drafts, embedded, strict=True)
        ]

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
        asked = {event.recorded.episode_id for event in batch if event.recorded.episode_id} - known.keys()
        payloads = await self._vectors.payloads(self._graphs.generation, sorted(asked))
        return known | {version_id: payload["has_vector"] for version_id, payload in payloads.items()}

    async def fill_missing(self) -> int:
        """Embeds items that were indexed by their words alone; how many got their vector.

        Raises:
            TransientError: the embedder is still away.
        """
        generation = self._graphs.generation
        payloads = await self._vectors.missing(generation, POINTS_MAX)
        if not payloads:
            return 0
        embedded = await self._embeddings.embed(
            [payload["text"] for payload in payloads], deadline_seconds=self._patience_seconds
        )
        self._away_until = 0.0
        found = {payload["version_id"]: result.vector for payload, result in zip(payloads, embedded, strict=True)}
        await self._vectors.fill(generation, found)
        log.info("vectors_filled", items=len(found))
        return len(found)


Draft = tuple[str, dict[str, Any]]


def _drafts(event: EntryConsolidated, generation: str) -> list[Draft]:
    """Text to embed and the item without its vector, for each version that an entry made."""
    drafts = [_rule_draft(event, generation, standing) for standing in event.consolidated.made]
    if event.entry.incident is not None and event.recorded.change in ("remembered", "corrected"):
        drafts.append(_episode_draft(event, generation))
    return drafts


def _episode_draft(event: EntryConsolidated, generation: str) -> Draft:
    incident, recorded = event.entry.incident, event.recorded
    if incident is None or recorded.episode_id is None or recorded.t_valid is None:
        raise ValueError("an incident was recorded without an episode")
    text = embedding_text(incident)
    return text, {
        **_place(event, generation, recorded.episode_id, "episode", recorded.t_valid),
        "lexical": document_weights(incident.title, lexical_text(incident)),
        "payload": {
            "slot": f"episode|{key_of(incident)}",
            "incident": key_of(incident),
            "origin": incident.origin.name,
            "trust": event.entry.settings.origin_trust,
            "body": incident.model_dump_json(exclude={"details"}, exclude_defaults=True),
            "text": text,
            "content_hash": event.entry.content_hash,
        },
    }


def _rule_draft(event: EntryConsolidated, generation: str, standing: StandingRule) -> Draft:
    text = f"{rule_title(standing)}\n{standing.statement}"
    return text, {
        **_place(event, generation, standing.version_id, "rule", standing.t_valid),
        "lexical": document_weights(rule_title(standing), standing.statement),
        "payload": {"slot": f"rule|{standing.category.value}", "category": standing.category.value, "text": text},
    }


def _place(event: EntryConsolidated, generation: str, version_id: str, kind: str, t_valid: int) -> dict[str, Any]:
    return {
        "version_id": version_id,
        "tenant": event.entry.tenant,
        "generation": generation,
        "kind": kind,
        "t_valid": t_valid,
        "t_invalid": FOREVER,
        "t_created": event.recorded.t_created,
        "t_expired": FOREVER,
    }
