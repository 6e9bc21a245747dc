"""The adapter of quarantine: a graph of its own, which no recall can reach."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from twiceshy.core.quarantine import AFTER, BEFORE, DECISIONS_KEPT, Candidate, changed_at, expiry_id, standing
from twiceshy.events.quarantine import (
    IncidentQuarantined,
    QuarantineDecided,
    QuarantineGroup,
    QuarantineSettlement,
    QuarantineState,
)
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph, Row

GRAPH_NAME = "twiceshy:quarantine"
ALL_STATES = tuple(QuarantineState)

ITEMS_A_PAGE = 100

_COUNT_MAX = 2**31


@dataclass(frozen=True, slots=True)
class Due:
    """A pending item whose time to live is over."""

    tenant: str
    item_id: str
    expires_at: int


class Quarantine:
    def __init__(self, redis: Redis) -> None:
        self._graph = Graph(redis, GRAPH_NAME)

    async def prepare(self) -> None:
        await self._graph.ensure_indexes(cypher.QUARANTINE_INDEXES)

    async def complete(self) -> bool:
        """Whether what its topic has is there. A graph that was lost is not complete until all is put back."""
        return bool(await self._graph.read(cypher.PUT_BACK))

    async def note_complete(self) -> None:
        await self._graph.write(cypher.NOTE_PUT_BACK)

    async def put_back(self, items: Sequence[IncidentQuarantined]) -> None:
        """Puts items to the state that they have here, unless they were changed later than that."""
        newest: dict[str, IncidentQuarantined] = {}
        for item in items:
            before = newest.get(item.item_id)
            if before is None or changed_at(before) < changed_at(item):
                newest[item.item_id] = item
        await self._graph.write(cypher.PUT_ITEMS_BACK, items=[_properties(item) for item in newest.values()])

    async def hold(self, items: Sequence[IncidentQuarantined]) -> list[IncidentQuarantined]:
        """Adds items that are not there yet, and returns each as it stands: one that was decided on stays so."""
        if not items:
            return []
        # An event may be twice in a batch.
        each = {item.item_id: item for item in reversed(items)}
        rows = await self._graph.write(cypher.HOLD_ITEMS, items=[_properties(item) for item in reversed(each.values())])
        return _items(rows)

    async def kept_out(self, item_ids: Sequence[str]) -> list[IncidentQuarantined]:
        """Those of the ids that are items of any tenant, and were not released."""
        if not item_ids:
            return []
        return _items(await self._graph.read(cypher.ITEMS_KEPT_OUT, items=list(item_ids)))

    async def items(
        self,
        tenant: str,
        states: Sequence[QuarantineState] = ALL_STATES,
        *,
        group: QuarantineGroup | None = None,
        count: int = _COUNT_MAX,
    ) -> list[IncidentQuarantined]:
        """The first ``count`` of a tenant's items, or of a group of them, in one of ``states``, oldest first."""
        rows = await self._graph.read(
            cypher.QUARANTINED_ITEMS,
            tenant=tenant,
            states=[state.value for state in states],
            origin=group and group.origin,
            subject=group and group.subject,
            count=count,
        )
        return _items(rows)

    async def pending(self, tenant: str) -> AsyncIterator[IncidentQuarantined]:
        """All that is pending of a tenant, oldest first, read a page at a time."""
        held_at, item_id = -1, ""
        while page := _items(
            await self._graph.read(
                cypher.PENDING_ITEMS, tenant=tenant, held_at=held_at, item_id=item_id, count=ITEMS_A_PAGE
            )
        ):
            for item in page:
                yield item
            held_at, item_id = page[-1].held_at, page[-1].item_id

    async def by_id(self, tenant: str, item_ids: Sequence[str]) -> list[IncidentQuarantined]:
        return _items(await self._graph.read(cypher.ITEMS_BY_ID, tenant=tenant, items=list(item_ids)))

    async def of_decision(self, tenant: str, decision_id: str) -> list[IncidentQuarantined]:
        """The items that a decision has changed, as they stand."""
        return _items(await self._graph.read(cypher.ITEMS_OF_DECISION, tenant=tenant, decision=decision_id))

    async def ids(self, tenant: str, prefix: str, count: int) -> list[str]:
        """The first ``count`` of the ids that begin with ``prefix``."""
        # An index answers what lies between two texts, and nothing else that begins with one. No id has a tilde.
        rows = await self._graph.read(cypher.ITEM_IDS, tenant=tenant, prefix=prefix, past=f"{prefix}~", count=count)
        return [row[0] for row in rows]

    async def candidates(self, decided: QuarantineDecided) -> list[Candidate]:
        """What there is of the items that a decision names; of a group, those of a state that it can change."""
        if decided.group is None:
            items = list(dict.fromkeys(decided.items))
            rows = await self._graph.read(cypher.CANDIDATES_BY_ID, tenant=decided.tenant, items=items)
        else:
            rows = await self._graph.read(
                cypher.CANDIDATES_OF_GROUP,
                tenant=decided.tenant,
                origin=decided.group.origin,
                subject=decided.group.subject,
                states=[state.value for state in BEFORE[decided.decision]],
            )
        return [_candidate(row) for row in rows]

    async def settle(
        self, tenant: str, item_ids: Sequence[str], settlement: QuarantineSettlement, expires_at: int | None = None
    ) -> None:
        """Changes items by a decision, all at once, but for those that were changed since it was made.

        Repeating it changes nothing. ``expires_at`` is when what becomes pending expires.
        """
        said = _json(settlement)
        changes = [
            {
                "item_id": item_id,
                "tenant": tenant,
                "at": settlement.at,
                "decision": said,
                "decision_id": settlement.event_id,
                "until": expires_at,
                "expires_at": None,
            }
            for item_id in item_ids
        ]
        await self._settle(settlement.decision, changes, untold=False)

    async def due(self, now_ms: int, count: int) -> list[Due]:
        """Pending items whose time is over, the longest ago first.

        Those that were changed later than ``now_ms``, by a clock that ran ahead, cannot be settled yet.
        """
        return [Due(*row) for row in await self._graph.read(cypher.ITEMS_DUE, now=now_ms, count=count)]

    async def expire(self, due: Sequence[Due], at: Sequence[int]) -> None:
        """Expires items that are still as they were, each at its moment; nobody is told of it yet."""
        changes = []
        for one, moment in zip(due, at, strict=True):
            identity = expiry_id(one.item_id, one.expires_at)
            changes.append(
                {
                    "item_id": one.item_id,
                    "tenant": one.tenant,
                    "at": moment,
                    "decision": _json(QuarantineSettlement(event_id=identity, decision="expire", at=moment)),
                    "decision_id": identity,
                    "until": None,
                    "expires_at": one.expires_at,
                }
            )
        await self._settle("expire", changes, untold=True)

    async def untold(self, count: int) -> list[IncidentQuarantined]:
        """Items that are to be told, as they stand: expired ones, and those that `tell_again` found."""
        return _items(await self._graph.read(cypher.ITEMS_UNTOLD, count=count))

    async def note_told(self, items: Sequence[IncidentQuarantined]) -> None:
        """Notes that items were told as they stand here. What was changed since is to be told again."""
        told = [{"item_id": item.item_id, "changed_at": changed_at(item)} for item in items]
        await self._graph.write(cypher.NOTE_TOLD, items=told)

    async def tell_again(self, items: Sequence[IncidentQuarantined]) -> None:
        """Notes that items were told as they stand here, so that what was changed since is told once more.

        Whoever changed it may have told so before, and the last that the topic has of an item is what is put back.
        """
        if items:
            told = [{"item_id": item.item_id, "changed_at": changed_at(item)} for item in items]
            await self._graph.write(cypher.NOTE_CHANGED_SINCE, items=told)

    async def _settle(self, decision: str, changes: list[dict[str, Any]], *, untold: bool) -> None:
        states = [state.value for state in BEFORE[decision]]
        await self._graph.write(
            cypher.SETTLE_ITEMS,
            items=changes,
            states=states,
            state=AFTER[decision].value,
            untold=untold,
            kept=DECISIONS_KEPT,
        )


def _properties(item: IncidentQuarantined) -> dict[str, Any]:
    """An item as the node that it is."""
    said = item.model_dump_json(exclude_defaults=True, exclude={"decisions"})
    return {
        "item_id": item.item_id,
        "tenant": item.tenant,
        "origin": item.origin,
        "subject": item.subject,
        "content_hash": item.content_hash,
        "rules_version": item.rules_version,
        "event_id": item.event_id,
        "state": item.state.value,
        "held_at": item.held_at,
        "changed_at": changed_at(item),
        "expires_at": item.expires_at,
        "size": len(said.encode()),
        "decisions": [_json(decision) for decision in item.decisions],
        "decision_ids": [decision.event_id for decision in item.decisions],
        "item": said,
    }


def _json(settlement: QuarantineSettlement) -> str:
    return settlement.model_dump_json(exclude_defaults=True)


def _items(rows: Sequence[Row]) -> list[IncidentQuarantined]:
    return [_item(row) for row in rows]


def _item(row: Row) -> IncidentQuarantined:
    state, expires_at, decisions, said = row
    held = IncidentQuarantined.model_validate_json(said)
    return standing(held, QuarantineState(state), expires_at, [_settlement(text) for text in decisions])


def _candidate(row: Row) -> Candidate:
    item_id, event_id, state, held_at, changed, content_hash, rules_version, size, last = row
    decision = None if last is None else _settlement(last)
    standing_as = QuarantineState(state)
    return Candidate(item_id, event_id, standing_as, held_at, changed, content_hash, rules_version, size, decision)


def _settlement(text: str) -> QuarantineSettlement:
    return QuarantineSettlement.model_validate_json(text)
