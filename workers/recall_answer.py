"""recall.requests.v1 → recall, one answer → recall.replies.<tenant>

From a question to its reply, without a broker. Recall never writes, and no language model is asked.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from twiceshy.core.fusion import Scored
from twiceshy.core.lexical import spellings
from twiceshy.core.mentions import ASKED_FOR
from twiceshy.core.novelty import TERMS_MAX, share, shared, similar
from twiceshy.errors import TransientError
from twiceshy.events.common import instant, milliseconds
from twiceshy.events.recall import Question, RecallReplied, RecallRequested, Reply
from twiceshy.settings import Settings
from twiceshy.stores.embeddings import EmbeddingsClient
from twiceshy.stores.graph import Graphs
from twiceshy.stores.points import Scope
from twiceshy.stores.vectors import Vectors
from workers.entrance import wall_clock_ms
from workers.recall_items import Items, Wanted, read_graph, read_payloads
from workers.recall_legs import Found, Legs, Sought
from workers.recall_questions import Questions, tenant_fault
from workers.recall_size import fitted
from workers.recall_standing import EVERYTHING, Ground, Grounds

WATERMARK_PART, EMBEDDING_PART, WAIT_PART, LEGS_PART, ITEMS_PART, FALLBACK_PART = 0.2, 0.5, 0.5, 0.65, 0.85, 0.95
"""By when each step is over, as a part of the deadline: what a store that hangs takes, the next one must not lack."""

BESIDE = ("lessons", "playbooks", "mistakes", "rules", "facts")
JUDGED_ITEMS = 5
"""So many of the first items decide whether a question is new, however few are wanted."""


@dataclass(slots=True)
class Course:
    """One question on its way to a reply."""

    request: RecallRequested
    started: float
    seconds: float
    parts_ms: dict[str, float]
    missing: list[str] = field(default_factory=list)

    def until(self, part: float) -> float:
        """The event loop's time at which ``part`` of the deadline has passed."""
        return self.started + part * self.seconds

    def lap(self, name: str, since: float) -> None:
        self.parts_ms[name] = round((time.perf_counter() - since) * 1_000, 3)


class Recall:
    """Answers questions about every tenant, side by side."""

    def __init__(
        self,
        settings: Settings,
        graphs: Graphs,
        vectors: Vectors,
        embeddings: EmbeddingsClient,
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self.settings = settings
        self._graphs = graphs
        self._vectors = vectors
        self._grounds = Grounds(graphs)
        self._legs = Legs(self._grounds, vectors, embeddings, settings.novel_similarity)
        self._questions = Questions(settings, self._grounds, clock_ms)
        self._clock_ms = clock_ms

    @overload
    async def answer(self, request: RecallRequested, *, queued_ms: float = 0.0) -> RecallReplied: ...

    @overload
    async def answer(self, request: Question, *, queued_ms: float = 0.0) -> Reply: ...

    async def answer(self, request: RecallRequested | Question, *, queued_ms: float = 0.0) -> Reply:
        """The reply to a question that waited ``queued_ms``, within its deadline. A part that is away is left out."""
        if isinstance(request, Question):
            return await self._questions.answer(request, queued_ms=queued_ms)
        if fault := self._fault(request):
            return RecallReplied(status="invalid", detail=fault)
        course = Course(
            request=request,
            started=asyncio.get_running_loop().time(),
            seconds=max(0.0, request.deadline_ms - queued_ms) / 1_000,
            parts_ms={"queue": round(queued_ms, 3)},
        )
        reply = await self._answer(course)
        took_ms = (asyncio.get_running_loop().time() - course.started) * 1_000 + queued_ms
        return reply.model_copy(update={"took_ms": round(took_ms, 3), "parts_ms": course.parts_ms})

    def _fault(self, request: RecallRequested) -> str | None:
        if fault := tenant_fault(self.settings, request.tenant):
            return fault
        if not (request.query.strip() or request.fault_signature or request.entities):
            return "query: say what you see, give a fault_signature, or name what it is about in entities."
        return None

    async def _answer(self, course: Course) -> RecallReplied:
        request = course.request
        text = "\n".join(part.strip() for part in (request.query, request.fault_signature) if part and part.strip())
        # The embedder needs no watermark, and is what takes longest.
        embedding = None
        if text:
            embedding = asyncio.create_task(self._legs.embed(text, EMBEDDING_PART * course.seconds))
        try:
            ground = await self._ground(course)
            if refusal := ground.refusal(request.known_at):
                return RecallReplied(status="invalid", detail=refusal, generation=ground.generation)
            scope = ground.scope(
                as_of=self._clock_ms() if request.as_of is None else milliseconds(request.as_of),
                known_at=request.known_at,
                superseded="superseded" in request.include,
            )
            sought = Sought(text, request.entities, request.limit, "rules" in request.include, ground.names(scope))
            found = await self._legs.run(sought, scope, embedding, course.until(LEGS_PART))
        finally:
            if embedding is not None:
                embedding.cancel()
        course.parts_ms |= found.parts_ms
        started = time.perf_counter()
        fused = found.fused()
        course.lap("fusion", started)
        items = await self._items(course, scope, found, [item for item, _ in fused[: max(request.limit, JUDGED_ITEMS)]])
        return self._reply(course, text, scope, found, fused, items)

    async def _ground(self, course: Course) -> Ground:
        """How memory stands, once it is ``at_least`` what was asked for, or the time for waiting is over."""
        started = time.perf_counter()
        at_least = course.request.at_least
        ground = await self._grounds.await_at_least(
            course.request.tenant,
            0 if at_least is None else milliseconds(at_least),
            course.until(WATERMARK_PART if at_least is None else WAIT_PART),
        )
        course.missing += ground.missing
        course.lap("watermark", started)
        return ground

    async def _items(self, course: Course, scope: Scope, found: Found, ids: Sequence[str]) -> Items:
        started = time.perf_counter()
        try:
            if found.legs["graph"].status == "ok":
                items = await self._from_graph(course, scope, found, ids)
                if items is not None:
                    return items
            course.missing.append("FalkorDB did not answer: there are episodes alone, as they were indexed.")
            return await self._from_payloads(course, scope, ids)
        finally:
            course.lap("hydrate", started)

    async def _from_graph(self, course: Course, scope: Scope, found: Found, ids: Sequence[str]) -> Items | None:
        request = course.request
        wanted = Wanted(
            ids=ids,
            beside=ids[: request.limit],
            rules=found.rules,
            asked=[key for key, (_, strength) in found.entities.items() if strength == ASKED_FOR],
            include=frozenset(request.include),
        )
        try:
            async with asyncio.timeout_at(course.until(ITEMS_PART)):
                return await read_graph(self._grounds.graph(scope), scope, found.names, wanted)
        except (TransientError, TimeoutError):
            return None

    async def _from_payloads(self, course: Course, scope: Scope, ids: Sequence[str]) -> Items:
        try:
            async with asyncio.timeout_at(course.until(FALLBACK_PART)):
                return await read_payloads(self._vectors, scope, ids)
        except (TransientError, TimeoutError):
            course.missing.append("Qdrant did not answer either: what was found cannot be shown.")
            return Items()

    def _reply(
        self, course: Course, text: str, scope: Scope, found: Found, fused: Sequence[Scored], items: Items
    ) -> RecallReplied:
        request = course.request
        wanted = spellings(text)
        terms = {version_id: shared(wanted, told.words) for version_id, told in items.episodes.items()}
        words = share(wanted, [terms[item] for item, _ in fused[:JUDGED_ITEMS] if item in terms])
        if not wanted and found.hits["lexical"]:
            # A question of stop words alone can only have been found as a whole title.
            words = 1.0
        reply = RecallReplied(
            status="ok",
            detail=" ".join(course.missing) or None,
            partial=bool(found.missing() or course.missing),
            known_at=None if scope.known_at == EVERYTHING else instant(scope.known_at),
            generation=scope.generation,
            novel=self._novel(found, fused, words),
            unknown_entities=found.unknown(request.entities),
            as_of=instant(scope.as_of),
            legs=found.legs,
            withheld=("origin_purge",) if items.withheld else (),
        )
        if reply.novel:
            return reply
        shown = [scored for scored in fused[: request.limit] if scored[0] in items.episodes]
        results = tuple(
            items.episodes[item].episode(rank, score, found.why(item, terms[item][:TERMS_MAX]))
            for rank, (item, score) in enumerate(shown, start=1)
        )
        told: dict[str, Any] = {name: tuple(getattr(items, name)) for name in BESIDE if name in request.include}
        told["denied"] = tuple(items.denied)
        told["results"] = results if "episodes" in request.include else ()
        return fitted(reply.model_copy(update=told), request.max_tokens)

    def _novel(self, found: Found, fused: Sequence[Scored], words: float) -> bool:
        """Whether nothing in memory is similar enough to what was asked for.

        What mentions an entity that the question names is about the same thing, however it is worded. Without the
        semantic leg nothing is called new that the others found something for.
        """
        missing = found.missing()
        if any(strength == ASKED_FOR for _, strength in found.entities.values()) or found.hits["graph"]:
            return False
        if not fused:
            only_entities = found.legs["lexical"].status == "skipped"
            return "lexical" not in missing and not (only_entities and "graph" in missing)
        return "semantic" not in missing and not similar(found.best("semantic"), words, self.settings.novel_similarity)
