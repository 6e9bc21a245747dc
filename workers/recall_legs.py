"""recall.requests.v1 → recall, its legs → recall.replies.<tenant>

The ways of finding, side by side, each within its own time. A leg that is down or late contributes nothing, and
says which it was and why.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from twiceshy.core.aliases import NO_NAMES, Names
from twiceshy.core.fusion import Scored, fuse
from twiceshy.core.lexical import query_weights
from twiceshy.core.mentions import Asked, Known, Mention, known, scored
from twiceshy.errors import TransientError, TwiceshyError
from twiceshy.events.items import Why
from twiceshy.events.recall import Leg
from twiceshy.stores import cypher
from twiceshy.stores.embeddings import EmbeddingsClient, Vector
from twiceshy.stores.points import Hit, Scope, Search
from twiceshy.stores.vectors import Vectors
from workers.recall_standing import Grounds, bound

LEGS = ("semantic", "lexical", "graph")
WEIGHTS = {"semantic": 0.7, "lexical": 1.0}
"""Of the legs in the fusion; the graph's is that of the strongest way in which an entity was named. Measured with
K on titles, on questions about known post-mortems, and on duplicate bug reports of three projects."""

HITS_MIN = 30
"""So many items of a leg take part at least: one that a leg has further down counts for next to nothing."""

RULES_MAX = 3
MENTIONS_MAX = 200
HUB_EDGES_MAX = 50
"""An entity that more point to is passed over when its name merely occurs in the text: it tells nothing apart."""

AWAY_SECONDS = 2.0
HUNG_SECONDS = 0.15

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Sought:
    """What is searched for. ``text`` is what is embedded and searched by its words; it may be empty."""

    text: str
    entities: tuple[str, ...]
    limit: int
    rules: bool
    names: Names = NO_NAMES

    @property
    def hits(self) -> int:
        """How many items each leg is asked for."""
        return max(HITS_MIN, 2 * self.limit)


@dataclass(slots=True)
class Found:
    """What the legs came to: how each fared, and its hits, best first. Entities go by the name that they come to."""

    names: Names = NO_NAMES
    legs: dict[str, Leg] = field(default_factory=dict)
    hits: dict[str, list[Scored]] = field(default_factory=dict)
    entities: dict[str, tuple[Known, float]] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    parts_ms: dict[str, float] = field(default_factory=dict)

    def missing(self) -> list[str]:
        """The legs that had something to do and could not."""
        return [name for name, leg in self.legs.items() if leg.status in ("timeout", "error")]

    def best(self, leg: str) -> float:
        """The best score of a leg; without any hit 0."""
        return max((score for _, score in self.hits[leg]), default=0.0)

    def fused(self) -> list[Scored]:
        strongest = max((strength for _, strength in self.entities.values()), default=0.0)
        return fuse(self.hits, {**WEIGHTS, "graph": strongest})

    def why(self, item: str, terms: Sequence[str]) -> Why:
        places = {
            leg: next((place for place, (hit, _) in enumerate(hits) if hit == item), None)
            for leg, hits in self.hits.items()
        }
        entities = tuple(key for key, (entity, _) in self.entities.items() if item in entity.episodes)
        return Why(**places, terms=tuple(terms), entities=entities)

    def unknown(self, asked: Sequence[str]) -> tuple[str, ...]:
        """Which of the entities asked for memory has never seen; none when the graph could not say."""
        if self.legs["graph"].status != "ok":
            return ()
        return tuple(name for name in asked if not any(self.names.means(name, key) for key in self.entities))


class Legs:
    """The legs, side by side for many questions."""

    def __init__(self, grounds: Grounds, vectors: Vectors, embeddings: EmbeddingsClient, similarity: float) -> None:
        self._grounds = grounds
        self._vectors = vectors
        self._embeddings = embeddings
        self._similarity = similarity
        self._away_until = 0.0

    async def embed(self, text: str, seconds: float) -> tuple[Vector, float]:
        """The vector of a question, and how many milliseconds it took.

        Raises:
            TransientError: the embedder is away or late, or was a moment ago; or it has no vector for the question.
        """
        started = time.perf_counter()
        if started < self._away_until:
            raise TransientError(f"The embedder was away a moment ago: it is asked every {AWAY_SECONDS:.0f} s.")
        try:
            [embedded] = await self._embeddings.embed([text], deadline_seconds=seconds)
        except TransientError:
            # A question with a very short deadline proves nothing about the embedder.
            if time.perf_counter() - started > HUNG_SECONDS:
                self._away_until = time.perf_counter() + AWAY_SECONDS
            raise
        if embedded.vector is None:
            raise TransientError(f"The embedder has no vector for the question: {embedded.reason}")
        return embedded.vector, _ms_since(started)

    async def run(
        self,
        sought: Sought,
        scope: Scope,
        embedding: "asyncio.Task[tuple[Vector, float]] | None",
        deadline: float,
    ) -> Found:
        """Runs every leg that has something to look for, until ``deadline``, which is the event loop's time.

        ``embedding`` is the question's vector on its way; None when the question has no text.
        """
        found = Found(hits={name: [] for name in LEGS}, names=sought.names)

        async def by_meaning() -> list[Scored]:
            return [] if embedding is None else await self._semantic(found, sought, scope, embedding)

        async def by_words() -> list[Scored]:
            weights = query_weights(sought.text)
            if not weights:
                return []
            [hits] = await self._vectors.search(scope, [Search("episode", weights, sought.hits)])
            return _scored(hits)

        async def by_entities() -> list[Scored]:
            return await self._graph(found, sought, scope)

        await asyncio.gather(
            _fail_open(found, "semantic", bool(sought.text), deadline, by_meaning),
            _fail_open(found, "lexical", bool(sought.text), deadline, by_words),
            _fail_open(found, "graph", bool(sought.text or sought.entities), deadline, by_entities),
        )
        found.legs = {name: found.legs[name] for name in LEGS}
        return found

    async def _semantic(
        self, found: Found, sought: Sought, scope: Scope, embedding: "asyncio.Task[tuple[Vector, float]]"
    ) -> list[Scored]:
        vector, found.parts_ms["embedding"] = await embedding
        started = time.perf_counter()
        searches = [Search("episode", vector, sought.hits)]
        if sought.rules:
            searches.append(Search("rule", vector, RULES_MAX))
        episodes, *rules = await self._vectors.search(scope, searches)
        found.parts_ms["semantic"] = _ms_since(started)
        found.rules = [hit.version_id for hits in rules for hit in hits if hit.score >= self._similarity]
        return _scored(episodes)

    async def _graph(self, found: Found, sought: Sought, scope: Scope) -> list[Scored]:
        asked = Asked(sought.entities, sought.text, found.names)
        rows = await self._grounds.graph(scope).read(
            cypher.ENTITIES_NAMED,
            names=asked.refs(),
            asked=asked.refs_given(),
            hub=HUB_EDGES_MAX,
            newest=MENTIONS_MAX,
            **bound(scope),
        )
        mentioned = [
            Mention(key, ref, mentions, tuple((version_id, at) for version_id, at in episodes))
            for key, ref, mentions, episodes in rows
        ]
        found.entities = known(asked, mentioned)
        return scored(list(found.entities.values()))


async def _fail_open(
    found: Found, name: str, asked: bool, deadline: float, work: Callable[[], Awaitable[list[Scored]]]
) -> None:
    """Runs a leg and notes how it fared: no error of one leg reaches another, or the reply."""
    started = time.perf_counter()
    hits: list[Scored] = []
    fared: dict[str, Any] = {"status": "ok"}
    try:
        async with asyncio.timeout_at(deadline):
            if asked:
                hits = await work()
            else:
                fared = {"status": "skipped", "reason": "the question has nothing that it could look for"}
    except TimeoutError:
        fared = {"status": "timeout", "reason": "no answer within its part of the deadline"}
    except TwiceshyError as error:
        fared = {"status": "error", "reason": str(error)}
    except Exception as error:
        # Whatever is wrong with a leg, the others have an answer.
        log.exception("leg_failed", leg=name)
        fared = {"status": "error", "reason": type(error).__name__}
    took_ms = _ms_since(started)
    found.hits[name] = hits
    found.legs[name] = Leg(**fared, hits=len(hits), took_ms=took_ms)
    found.parts_ms.setdefault(name, took_ms)


def _scored(hits: Sequence[Hit]) -> list[Scored]:
    return [(hit.version_id, hit.score) for hit in hits]


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1_000, 3)
