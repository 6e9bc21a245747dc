"""memory.consolidated.v1 → embed, the items that an event makes, moves and closes → incidents.outcomes.v1

What becomes a point of Qdrant: each version of an episode and of a rule.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from qdrant_client import models

from twiceshy.core.lexical import document_weights
from twiceshy.core.memory import key_of
from twiceshy.core.temporal import FOREVER
from twiceshy.core.texts import embedding_text, lexical_text, rule_title
from twiceshy.events.chain import EntryConsolidated, StandingRule
from twiceshy.stores import cypher
from twiceshy.stores.embeddings import Embedded
from twiceshy.stores.graph import Graph
from twiceshy.stores.points import Item, copied, vectors_of
from twiceshy.stores.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Draft:
    """An item without its vectors, and the texts that these are made from: what is embedded, and title and words."""

    text: str
    title: str
    words: Callable[[], str]
    told: dict[str, Any]

    @property
    def version_id(self) -> str:
        version_id: str = self.told["version_id"]
        return version_id

    def item(self, embedded: Embedded) -> Item:
        missing = embedded.vector is None and embedded.reason is None
        lexical = document_weights(self.title, self.words())
        return Item(**self.told, lexical=lexical, dense=embedded.vector, vector_missing=missing)


@dataclass(frozen=True, slots=True)
class Copy:
    """A version that says what another one does, for another time."""

    source: str
    made: str
    t_valid: int
    t_invalid: int

    def item(self, point: models.Record, at: int) -> Item:
        return copied(
            point,
            version_id=self.made,
            t_valid=self.t_valid,
            t_invalid=self.t_invalid,
            t_created=at,
            t_expired=FOREVER,
        )


@dataclass(frozen=True, slots=True)
class Moved:
    """What an event does to items that are there already."""

    copies: tuple[Copy, ...]
    closed: tuple[str, ...]


class CarriedOver:
    """Vectors of another generation, so that a rebuild need not make them again.

    A version has the same id in every generation. What it has there is taken over if its text is the same, and its
    content.
    """

    def __init__(self, vectors: Vectors, generation: str | None) -> None:
        self._vectors = vectors
        self._generation = generation

    async def items(self, made: Sequence[Draft]) -> dict[str, Item]:
        """By version id, the items whose vectors need not be made."""
        if self._generation is None or not made:
            return {}
        places = {draft.version_id: (self._generation, draft.version_id) for draft in made}
        points = await self._vectors.copies(places, ("text", "content_hash", "vector_missing"))
        found: dict[str, Item] = {}
        for draft in made:
            point = points.get(draft.version_id)
            told = (point.payload or {}) if point else {}
            content_hash = draft.told["payload"].get("content_hash")
            same = told.get("text") == draft.text and told.get("content_hash") == content_hash
            if point is not None and same and not told["vector_missing"]:
                lexical, dense = vectors_of(point)
                found[draft.version_id] = Item(**draft.told, lexical=lexical, dense=dense, vector_missing=False)
        return found


def drafts(event: EntryConsolidated) -> list[Draft]:
    """An item for each version that an entry made."""
    made = [_rule_draft(event, standing) for standing in event.consolidated.made]
    if event.entry.incident is not None and event.recorded.change in ("remembered", "corrected"):
        made.append(_episode_draft(event))
    return made


def reversions(event: EntryConsolidated) -> Moved:
    """What an event did to the episodes of other incidents."""
    moved = event.recorded.reversions
    return Moved(
        tuple(
            Copy(one.expired, one.made, one.t_valid, FOREVER if one.t_invalid is None else one.t_invalid)
            for one in moved
        ),
        tuple(one.expired for one in moved),
    )


async def invalidated(graph: Graph, at: int) -> Moved:
    """What the invalidation of transaction time ``at`` did to episodes."""
    copies, closed = [], []
    for version_id, copy_of, t_valid, t_invalid, t_created, t_expired in await graph.read(cypher.EPISODES_AT, at=at):
        if t_created == at and copy_of is not None:
            copies.append(Copy(copy_of, version_id, t_valid, t_invalid))
        if t_expired == at:
            closed.append(version_id)
    return Moved(tuple(copies), tuple(closed))


def _episode_draft(event: EntryConsolidated) -> Draft:
    incident, recorded = event.entry.incident, event.recorded
    if incident is None or recorded.episode_id is None or recorded.t_valid is None:
        raise ValueError("an incident was recorded without an episode")
    text = embedding_text(incident)
    told = {
        **_place(event, recorded.episode_id, "episode", recorded.t_valid, recorded.t_invalid),
        "payload": {
            "slot": f"episode|{key_of(incident)}",
            "incident": key_of(incident),
            "origin": incident.origin.name,
            "trust": event.entry.settings.origin_trust,
            "said_at": recorded.t_created,
            "body": incident.told,
            "text": text,
            "content_hash": event.entry.content_hash,
        },
    }
    return Draft(text, incident.title, lambda: lexical_text(incident), told)


def _rule_draft(event: EntryConsolidated, standing: StandingRule) -> Draft:
    text = f"{rule_title(standing)}\n{standing.statement}"
    told = {
        **_place(event, standing.version_id, "rule", standing.t_valid, None),
        "payload": {"slot": f"rule|{standing.category.value}", "category": standing.category.value, "text": text},
    }
    return Draft(text, rule_title(standing), lambda: standing.statement, told)


def _place(event: EntryConsolidated, version_id: str, kind: str, t_valid: int, t_invalid: int | None) -> dict[str, Any]:
    return {
        "version_id": version_id,
        "tenant": event.entry.tenant,
        "generation": event.generation,
        "kind": kind,
        "t_valid": t_valid,
        "t_invalid": FOREVER if t_invalid is None else t_invalid,
        "t_created": event.recorded.t_created,
        "t_expired": FOREVER,
    }
