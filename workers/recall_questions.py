"""recall.requests.v1 → recall, questions about what memory holds → recall.replies.<tenant>

Answers all but a recall, from the graph alone: what held and what was believed of it, what an incident mentions, items
by their ids, and which names are one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from twiceshy.core.ids import incident_key
from twiceshy.core.purges import purged
from twiceshy.errors import TransientError
from twiceshy.events.common import instant, milliseconds
from twiceshy.events.recall import (
    REPLY_OF,
    AliasesReplied,
    AliasesRequested,
    AliasItem,
    EntitiesReplied,
    EntitiesRequested,
    HistoryRequested,
    ItemsRequested,
    MentionedEntity,
    Question,
    Reply,
    ValueRequested,
)
from twiceshy.settings import Settings
from twiceshy.stores import cypher
from workers.recall_fetch import items
from workers.recall_shapes import stamps
from workers.recall_size import bounded
from workers.recall_standing import Grounds, Reading, bound
from workers.recall_values import history, value

LATE = "FalkorDB did not answer within the deadline: ask again, or with a longer deadline_ms."


class Questions:
    """Answers questions about every tenant, side by side."""

    def __init__(self, settings: Settings, grounds: Grounds, clock_ms: Callable[[], int]) -> None:
        self._settings = settings
        self._grounds = grounds
        self._clock_ms = clock_ms

    async def answer(self, question: Question, *, queued_ms: float = 0.0) -> Reply:
        """The reply to a question that waited ``queued_ms``, within its deadline."""
        started = asyncio.get_running_loop().time()
        reply = await self._answer(question, max(0.0, question.deadline_ms - queued_ms) / 1_000)
        took_ms = (asyncio.get_running_loop().time() - started) * 1_000 + queued_ms
        return reply.model_copy(update={"took_ms": round(took_ms, 3)})

    async def _answer(self, question: Question, seconds: float) -> Reply:
        reply_of = REPLY_OF[type(question)]
        if fault := tenant_fault(self._settings, question.tenant):
            return reply_of(status="invalid", detail=fault)
        try:
            async with asyncio.timeout(seconds):
                return await self._read(question)
        except TimeoutError:
            return reply_of(status="unavailable", detail=LATE)
        except TransientError as error:
            return reply_of(status="unavailable", detail=f"{str(error).rstrip('.')}. Ask again when it is back.")

    async def _read(self, question: Question) -> Reply:
        as_of, known_at = getattr(question, "as_of", None), getattr(question, "known_at", None)
        ground = await self._grounds.read(question.tenant)
        if refusal := ground.refusal(known_at):
            return REPLY_OF[type(question)](status="invalid", detail=refusal, generation=ground.generation)
        scope = ground.scope(as_of=self._clock_ms() if as_of is None else milliseconds(as_of), known_at=known_at)
        return bounded(await ANSWERS[type(question)](question, self._grounds.reading(ground, scope)))


def tenant_fault(settings: Settings, tenant: str) -> str | None:
    """What is wrong with the tenant of a question, if anything."""
    if tenant in settings.tenants:
        return None
    return f"tenant: there is no tenant {tenant!r}; it is one of {', '.join(settings.tenants)}."


async def entities(question: EntitiesRequested, reading: Reading) -> EntitiesReplied:
    """What the version of an incident's episode mentions that holds at the moment."""
    scope, names = reading.scope, reading.names
    key = incident_key(question.origin, question.fingerprint)
    rows = await reading.graph.read(cypher.MENTIONS_OF_INCIDENT, incident=key, **bound(scope))
    shown = [row for row in rows if not purged(scope.purges, row[1], row[2])]
    mentioned = []
    for entity_type, ref, role, *stamped in (mention for row in shown for mention in row[3] if mention[0]):
        said = f"{entity_type}:{ref}"
        canonical = names.resolved(said)
        told = {"type": entity_type, "ref": ref, "role": role, **stamps(*stamped)}
        mentioned.append(MentionedEntity(**told, canonical=None if canonical == said else canonical))
    return EntitiesReplied(
        **reading.envelope(withheld=len(shown) < len(rows)),
        as_of=instant(scope.as_of),
        episode_id=shown[0][0] if shown else None,
        entities=tuple(mentioned),
    )


async def aliases(question: AliasesRequested, reading: Reading) -> AliasesReplied:
    """The aliases of the moment, in the order in which they were made."""
    known_at = reading.scope.known_at
    live = [one for one in reading.ground.standing.aliases if one.t_created <= known_at < one.t_expired]
    return AliasesReplied(
        **reading.envelope(),
        aliases=tuple(
            AliasItem(
                alias=one.alias,
                canonical=one.canonical,
                resolved=reading.names.resolved(one.alias),
                since=instant(one.t_created),
            )
            for one in live
        ),
    )


ANSWERS: dict[type[Question], Callable[[Any, Reading], Awaitable[Reply]]] = {
    HistoryRequested: history,
    ValueRequested: value,
    EntitiesRequested: entities,
    ItemsRequested: items,
    AliasesRequested: aliases,
}
