"""memory.log.v1 → graph, what an entry needs of the memory → memory.recorded.v1

Reads the part of a tenant's graph that a batch of incidents, or one command, can touch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any

from twiceshy.core.aliases import Names, place
from twiceshy.core.episodes import SUPERSEDED, superseded_slot
from twiceshy.core.facts import FACT, claimed, fact_slot
from twiceshy.core.ids import incident_key
from twiceshy.core.memory import Content, IncidentState, Memory, Revision, Row, Supersession, key_of
from twiceshy.core.temporal import FOREVER, Version, begin, transaction_time
from twiceshy.events import chain
from twiceshy.events.chain import EntryLogged, Recorded
from twiceshy.events.common import milliseconds
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph
from twiceshy.stores.standing import standing

OBSERVATION = (
    "observation_id", "slot", "place", "subject", "subject_ref", "predicate", "object", "object_ref", "many", "holds",
    "valid_from", "valid_to", "incident", "origin", "revised_at", "event_id", "trust", "confidence", "t_created",
    "said_at",
)  # fmt: skip
TAKEN_BACK = (*OBSERVATION, "source", "status", "confidence_score")
EPISODE = (
    "version_id", "slot", "incident", "incident_fingerprint", "origin", "trust", "summary_nl", "resolution_nl",
    "details_nl", "body", "content_hash", "concluded_at", "derived_from", "incomplete", "released_by", "said_at",
    "t_valid", "source", "status", "confidence_score",
)  # fmt: skip


@dataclass(slots=True)
class Wanted:
    """What to load of a place: of many-valued predicates the objects with one of ``refs`` (None: all).

    Of the slots that change, what matters from where they begin to.
    """

    refs: set[str] | None
    slots: set[str] = field(default_factory=set)


Places = dict[str, Wanted]


async def load(graph: Graph, entries: Sequence[EntryLogged]) -> Memory:
    """What a batch of incidents needs. The watermark first: what is read after it can only be newer."""
    memory = await _standing(graph)
    await _applied(graph, memory, entries)
    new = [entry for entry in entries if entry.event_id not in memory.applied and entry.incident is not None]
    keys = [key_of(entry.incident) for entry in new if entry.incident]
    # Of an entry that comes again it is told whether its revision stands.
    again = [key_of(entry.incident) for entry in entries if entry.incident is not None]
    if not keys:
        await _states(graph, memory, again)
        return memory
    places: Places = {superseded_slot(key): Wanted(None) for key in keys}
    targets: set[str] = set()
    changes: dict[str, int] = {}

    def changes_from(valid_from: int, subject: str, predicate: str, said: str, many: bool) -> None:
        slot = fact_slot(memory.names, subject, predicate, said, many=many)
        changes[slot] = min(valid_from, changes.get(slot, valid_from))
        objects = memory.names.group(said) if many else None
        _add_places(places, memory.names.group(subject), predicate, objects, slot)

    for said_at, *said in await graph.read(cypher.SAID_BY_INCIDENTS, incidents=keys, at=FOREVER):
        if said_at.startswith(SUPERSEDED):
            targets.add(said_at.removeprefix(SUPERSEDED))
        else:
            changes_from(*said)
    for entry in new:
        for fact in entry.incident.facts if entry.incident else ():
            many = fact.predicate in entry.settings.many_valued
            changes_from(milliseconds(fact.valid_from), fact.subject, fact.predicate, fact.object, many)
        for named in entry.incident.supersedes if entry.incident else ():
            targets.add(incident_key(named.origin, named.fingerprint))
    places |= {superseded_slot(target): Wanted(None) for target in targets}
    await _states(graph, memory, [*again, *targets])
    await _facts(graph, memory, changes)
    await _observations(graph, memory, places, FOREVER)
    await _successors(graph, memory)
    await _contents(graph, memory, targets)
    await _supersessions(graph, memory, [*keys, *targets], FOREVER)
    return memory


async def load_command(graph: Graph, entry: EntryLogged) -> Memory:
    """What a command needs, as it was before the command, should it have been begun and not finished."""
    memory = await _standing(graph)
    await _applied(graph, memory, [entry])
    if entry.event_id not in memory.applied:
        at = transaction_time(memory.watermark, entry.admitted_at)
        await _load_for(entry.command, graph, memory, at)
    return memory


@singledispatch
async def _load_for(command: object, graph: Graph, memory: Memory, at: int) -> None:
    """Loads what ``command`` can touch."""


@_load_for.register(chain.Alias)
@_load_for.register(chain.Unalias)
async def _for_alias(command: chain.Alias | chain.Unalias, graph: Graph, memory: Memory, at: int) -> None:
    refs = memory.names.group(command.alias) | memory.names.group(command.canonical)
    rows = await graph.read(cypher.PLACES_OF_NAMES, refs=sorted(refs))
    places: Places = {}
    for (said_at,) in rows:
        predicate, _, ref = said_at.partition("|")
        # A subject that is renamed can be at any place of the names that become one, or cease to be.
        _add_places(places, refs if ref in refs else memory.names.together(ref), predicate, None)
    await _observations(graph, memory, places, at)
    _add_versions(memory, await graph.read(cypher.CURRENT_FACTS_AT_PLACES, places=sorted(places), at=at), at)


@_load_for.register
async def _for_supersede(command: chain.Supersede, graph: Graph, memory: Memory, at: int) -> None:
    target, successor = (incident_key(named.origin, named.fingerprint) for named in (command.incident, command.by))
    await _states(graph, memory, [target, successor])
    await _observations(graph, memory, {superseded_slot(target): Wanted(None)}, at)
    await _successors(graph, memory)
    await _contents(graph, memory, [target])
    await _supersessions(graph, memory, [target], at)


@_load_for.register
async def _for_invalidation(command: chain.OriginInvalidation, graph: Graph, memory: Memory, at: int) -> None:
    since = 0 if command.since is None else milliseconds(command.since)
    rows = await graph.read(cypher.INCIDENTS_OF_ORIGIN, origin=command.origin, since=since)
    keys = [row[0] for row in rows]
    places: Places = {superseded_slot(key): Wanted(None) for key in keys}
    for row in await graph.read(cypher.TAKEN_BACK, incidents=keys, at=at):
        told = dict(zip(TAKEN_BACK, row, strict=True))
        memory.taken_back[told["incident"]].append(told)
        if told["slot"].startswith(FACT):
            _add_places(places, memory.names.group(told["subject"]), told["predicate"], None)
        else:
            places[told["place"]] = Wanted(None)
    places |= {row[0]: Wanted(None) for row in await graph.read(cypher.PLACES_OF_COMMANDS)}
    targets = [said_at.removeprefix(SUPERSEDED) for said_at in places if said_at.startswith(SUPERSEDED)]
    await _states(graph, memory, [*keys, *targets])
    await _observations(graph, memory, places, at)
    await _successors(graph, memory)
    facts = sorted(said_at for said_at in places if not said_at.startswith(SUPERSEDED))
    _add_versions(memory, await graph.read(cypher.CURRENT_FACTS_AT_PLACES, places=facts, at=at), at)
    await _contents(graph, memory, [*keys, *targets])
    await _supersessions(graph, memory, [*keys, *targets], at)
    if since:
        await _revisions(graph, memory, command.origin, since, set(keys))


async def _standing(graph: Graph) -> Memory:
    """What stood at the watermark: a command that was begun and not finished has done nothing yet."""
    now = await standing(graph)
    watermark = now.watermarks.get("graph", 0)
    live = [replace(one, t_expired=FOREVER) for one in now.aliases if one.t_created <= watermark < one.t_expired]
    unblocked = {purge.at: purge.unblocked_at for purge in now.purges if purge.unblocked_at <= watermark}
    return Memory(
        watermark=watermark,
        aliases=live,
        names=Names(live),
        purges=[replace(one, unblocked_at=unblocked.get(one.at, FOREVER)) for one in now.purges if one.at <= watermark],
        horizon=now.horizons.get("graph", 0),
    )


async def _applied(graph: Graph, memory: Memory, entries: Sequence[EntryLogged]) -> None:
    event_ids = list(dict.fromkeys(entry.event_id for entry in entries))
    for event_id, result in await graph.read(cypher.APPLIED_ENTRIES, event_ids=event_ids):
        memory.applied[event_id] = Recorded.model_validate_json(result)


def _add_places(
    places: Places, subjects: Iterable[str], predicate: str, objects: Iterable[str] | None, slot: str | None = None
) -> None:
    """Adds the places of a predicate by the folded references of its subjects, and the slot that changes there."""
    for ref in subjects:
        wanted = places.setdefault(place(ref, predicate), Wanted(set()))
        if objects is None:
            wanted.refs = None
        elif wanted.refs is not None:
            wanted.refs.update(objects)
        if slot is not None:
            wanted.slots.add(slot)


async def _states(graph: Graph, memory: Memory, keys: Sequence[str]) -> None:
    if not keys:
        return
    for key, *state in await graph.read(cypher.INCIDENTS, incidents=list(dict.fromkeys(keys))):
        memory.incidents[key] = IncidentState(*state)


async def _successors(graph: Graph, memory: Memory) -> None:
    """The incidents that are said to supersede others: the edges end at their episodes."""
    named = {one.seen.object for of_slot in memory.observations.values() for one in of_slot.values()
             if not one.seen.slot.startswith(FACT)}  # fmt: skip
    if unknown := named - memory.incidents.keys():
        await _states(graph, memory, sorted(unknown))


async def _observations(graph: Graph, memory: Memory, places: Places, at: int) -> None:
    asked = [
        {
            "place": said_at,
            "many": wanted.refs is not None,
            "refs": sorted(wanted.refs or ()),
            "since": min((memory.begin[slot] for slot in wanted.slots), default=None),
        }
        for said_at, wanted in places.items()
    ]
    for row in await graph.read(cypher.LIVE_OBSERVATIONS, places=asked, at=at, forever=FOREVER):
        told: Row = {**dict(zip(OBSERVATION, row, strict=True)), "t_retracted": FOREVER}
        memory.observe(claimed(told, memory.names))


async def _facts(graph: Graph, memory: Memory, changes: Mapping[str, int]) -> None:
    """The versions of slots that what changes from a time on can touch, and where the first of them begins."""
    if not changes:
        return
    asked = [[slot, since] for slot, since in changes.items()]
    _add_versions(memory, await graph.read(cypher.CURRENT_FACTS, slots=asked, at=FOREVER), FOREVER)
    memory.begin |= {slot: begin(memory.versions[slot], since) for slot, since in changes.items()}


def _add_versions(memory: Memory, rows: Iterable[list[Any]], at: int) -> None:
    for slot, said, t_valid, t_invalid, t_created, founder, source in rows:
        memory.versions[slot].append(
            Version(
                slot=slot,
                object=said,
                t_valid=t_valid,
                t_invalid=t_invalid,
                t_created=t_created,
                founder=founder,
                event_id=source,
            )
        )


async def _contents(graph: Graph, memory: Memory, keys: Iterable[str]) -> None:
    """What the current episodes of incidents say."""
    known = {memory.incidents[key].episode_id: key for key in keys if key in memory.incidents}
    for version_id, content, _ in await _read_contents(graph, sorted(known)):
        memory.episodes[known[version_id]] = content


async def _read_contents(graph: Graph, version_ids: Sequence[str]) -> list[tuple[str, Content, int]]:
    if not version_ids:
        return []
    found = []
    for *told, t_expired, mentions in await graph.read(cypher.EPISODE_CONTENTS, version_ids=version_ids):
        row = dict(zip(EPISODE, told, strict=True))
        mentioned = [(kind, role, key) for kind, role, key in mentions if key is not None]
        found.append((row["version_id"], Content(row, mentioned), t_expired))
    return found


async def _supersessions(graph: Graph, memory: Memory, keys: Iterable[str], at: int) -> None:
    asked = list(dict.fromkeys(keys))
    for target, *edge in await graph.read(cypher.SUPERSESSIONS, incidents=asked, at=at):
        memory.supersessions[target].append(Supersession(*edge))


async def _revisions(graph: Graph, memory: Memory, origin: str, until: int, keys: set[str]) -> None:
    """The revisions that incidents can fall back to, and what the episodes of these say, unless it was compacted."""
    for key, revised_at, event_id, content_hash, t_created, result in await graph.read(
        cypher.REVISIONS, origin=origin, until=until
    ):
        recorded = Recorded.model_validate_json(result)
        if key in keys and recorded.episode_id is not None:
            memory.revisions[key].append(Revision(revised_at, event_id, content_hash, recorded.episode_id, t_created))
    wanted = {revision.episode_id for of_key in memory.revisions.values() for revision in of_key}
    for version_id, content, t_expired in await _read_contents(graph, sorted(wanted)):
        if t_expired > memory.horizon:
            memory.contents[version_id] = content
