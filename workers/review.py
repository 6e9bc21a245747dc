"""quarantine, memory → what a reviewer is shown

An item as it stands, with what memory has learned of its incident since, and the earlier ones of its burst. Nothing is
written.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from twiceshy.core.ids import incident_key
from twiceshy.core.temporal import effective_revision_time
from twiceshy.events.quarantine import IncidentQuarantined
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph


@dataclass(frozen=True, slots=True)
class Earlier:
    """An event of a burst that was admitted before the item was held; memory may not know its incident any more."""

    event_id: str
    incident: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """``newer_at`` is when memory's revision of the incident was made (ms), if that is newer than the item."""

    item: IncidentQuarantined
    newer_at: int | None
    earlier: tuple[Earlier, ...]


async def reviewed(graph: Graph, items: Sequence[IncidentQuarantined]) -> list[Reviewed]:
    """Each item with what is to be known beside it. ``graph`` is that of the tenant's live memory.

    Raises:
        TransientError: the store is away.
    """
    keys = sorted({_key(item) for item in items})
    rows = await graph.read(cypher.INCIDENTS, incidents=keys) if keys else []
    revisions = {key: (revised_at, event_id) for key, revised_at, event_id, *_ in rows}
    earlier = await _earlier(graph, sorted({event_id for item in items for event_id in item.flagged}))
    return [
        Reviewed(item, _newer_at(item, revisions.get(_key(item))), tuple(earlier[one] for one in item.flagged))
        for item in items
    ]


def _key(item: IncidentQuarantined) -> str:
    return incident_key(item.origin, item.incident.fingerprint)


def _newer_at(item: IncidentQuarantined, revision: tuple[int, str] | None) -> int | None:
    own = effective_revision_time(item.time_ms, item.held_at), item.event_id
    return revision[0] if revision is not None and revision > own else None


async def _earlier(graph: Graph, event_ids: list[str]) -> dict[str, Earlier]:
    found = {event_id: Earlier(event_id) for event_id in event_ids}
    if not event_ids:
        return found
    applied = await graph.read(cypher.APPLIED_ENTRIES, event_ids=event_ids)
    versions = {
        version: event_id for event_id, result in applied if (version := orjson.loads(result).get("episode_id"))
    }
    if not versions:
        return found
    for version, incident, body in await graph.read(cypher.INCIDENTS_OF_VERSIONS, version_ids=sorted(versions)):
        event_id = versions[version]
        found[event_id] = Earlier(event_id, incident, orjson.loads(body).get("title"))
    return found
