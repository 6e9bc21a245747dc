"""what memory and quarantine have of a tenant → the scan by its present rules → what it would decide otherwise"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import orjson

from twiceshy.core.memory import key_of
from twiceshy.core.scan import scan
from twiceshy.core.temporal import FOREVER
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph
from twiceshy.stores.quarantine import Quarantine
from workers.guard_settled import BURST

EPISODES_A_PAGE = 500


@dataclass(frozen=True, slots=True)
class WouldHold:
    """An incident that was admitted, and the rules that would hold it. ``released_by``: the person who let it in."""

    incident: str
    event_id: str
    rules: tuple[str, ...]
    released_by: str | None


@dataclass(frozen=True, slots=True)
class WouldPass:
    """An item that is pending, and the rules that held it, none of which would now."""

    incident: str
    item_id: str
    rules: tuple[str, ...]


async def would_hold(graph: Graph) -> AsyncIterator[WouldHold]:
    """What memory believes of each incident now, scanned as it is kept: redacted."""
    after = -1
    while rows := await graph.read(cypher.EPISODES_BELIEVED, after=after, forever=FOREVER, count=EPISODES_A_PAGE):
        for _, body, details, source, released_by in rows:
            incident = IncidentConcluded.model_validate({**orjson.loads(body), "details": details})
            if rules := _rules(incident):
                yield WouldHold(key_of(incident), source, rules, released_by)
        after = rows[-1][0]


async def would_pass(quarantine: Quarantine, tenant: str) -> AsyncIterator[WouldPass]:
    """What is pending. An item of a burst is held for how many came with it, which no rule tells."""
    async for item in quarantine.pending(tenant):
        if not any(reason.category == BURST for reason in item.reasons) and not _rules(item.incident):
            yield WouldPass(key_of(item.incident), item.item_id, tuple(reason.rule for reason in item.reasons))


def _rules(incident: IncidentConcluded) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.rule for found in scan(incident).findings))
