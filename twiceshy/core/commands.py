"""What operators' commands do to a tenant's memory, each as an entry of the log.

Nothing is deleted: what a command takes away is closed at the command's own stamp.
"""

from collections.abc import Collection
from dataclasses import replace
from functools import singledispatch

from twiceshy.core.aliases import Alias, Names, Refusal, stated
from twiceshy.core.episodes import (
    SUPERSEDED,
    expire_episode,
    link_supersessions,
    rewrite_episodes,
    superseded_slot,
    supersession_row,
    write_state,
    write_version,
)
from twiceshy.core.facts import claimed, observe, rewrite_slots, take_back
from twiceshy.core.ids import derive, incident_key
from twiceshy.core.memory import Content, Memory, Revision, provenance, write_entity
from twiceshy.core.purges import Purge, purged
from twiceshy.core.temporal import FOREVER, greatest_revision
from twiceshy.events import chain
from twiceshy.events.chain import EntryLogged, Recorded
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import IncidentRef

OPERATOR_TRUST = 1.0


@singledispatch
def apply_command(command: object, memory: Memory, entry: EntryLogged, at: int) -> Recorded:
    """Applies the command of ``entry``. One that a later stage carries out changes nothing here."""
    return Recorded(t_created=at, change="passed")


@apply_command.register
def _alias(command: chain.Alias, memory: Memory, entry: EntryLogged, at: int) -> Recorded:
    if refusal := memory.names.refusal(command.alias, command.canonical):
        return _rejected(at, refusal)
    memory.aliases.append(Alias(alias=command.alias, canonical=command.canonical, t_created=at))
    for name in (command.alias, command.canonical):
        write_entity(memory, entry, name, at)
    edge = {"t_created": at, "t_expired": FOREVER, **provenance(entry.event_id)}
    memory.writes.aliased.append({"from": command.alias, "to": command.canonical, "stamps": edge})
    return _renamed(memory, entry, at)


@apply_command.register
def _unalias(command: chain.Unalias, memory: Memory, entry: EntryLogged, at: int) -> Recorded:
    alias = stated(memory.aliases, command.alias, command.canonical)
    if isinstance(alias, Refusal):
        return _rejected(at, alias)
    memory.aliases.remove(alias)
    memory.writes.unaliased.append({"from": alias.alias, "to": alias.canonical, "at": at})
    return _renamed(memory, entry, at)


def _renamed(memory: Memory, entry: EntryLogged, at: int) -> Recorded:
    """Computes anew what is believed of every slot in which a name now comes to something else."""
    memory.names = Names.at(memory.aliases, at)
    before = set(memory.observations) | set(memory.versions)
    rows = [one.said for of_slot in memory.observations.values() for one in of_slot.values()]
    memory.observations.clear()
    memory.said_by.clear()
    for row in rows:
        memory.observe(claimed(row, memory.names))
    made, expired = rewrite_slots(memory, entry, before | set(memory.observations), at)
    counts = {"facts_made": len(made), "facts_expired": len(expired)}
    return Recorded(t_created=at, change="applied", counts=counts)


@apply_command.register
def _supersede(command: chain.Supersede, memory: Memory, entry: EntryLogged, at: int) -> Recorded:
    target, successor = _key(command.incident), _key(command.by)
    for key in (target, successor):
        if key not in memory.incidents:
            return _rejected(at, Refusal("unknown_incident", f"Memory has no incident {key}: correct its name."))
    if target == successor:
        return _rejected(at, Refusal("supersedes_itself", "An incident does not supersede itself: name another one."))
    row = supersession_row(
        entry,
        0,
        at,
        target=target,
        successor=successor,
        valid_from=milliseconds(command.at),
        origin=memory.incidents[successor].origin,
        incident=_said_by(entry),
        trust=OPERATOR_TRUST,
    )
    touched = observe(memory, [row])
    reversions = rewrite_episodes(memory, entry, touched, at)
    link_supersessions(memory, entry, [target], at)
    return Recorded(t_created=at, change="applied", reversions=reversions, counts={"episodes_made": len(reversions)})


def _said_by(entry: EntryLogged) -> str:
    """In place of an incident, the command that said something: no revision of an incident takes it back.

    No key of an incident begins with a slash, for no origin is empty.
    """
    return f"/command/{entry.event_id}"


@apply_command.register
def _unblock(command: chain.Unblock, memory: Memory, entry: EntryLogged, at: int) -> Recorded:
    standing = [p for p in memory.purges if p.block and p.origin == command.origin and p.unblocked_at == FOREVER]
    if not standing:
        return _rejected(at, Refusal("not_blocked", f"{command.origin} is not blocked: its incidents are taken."))
    memory.purges = [replace(purge, unblocked_at=at) if purge in standing else purge for purge in memory.purges]
    memory.writes.unblocked.append({"origin": command.origin, "at": at})
    return Recorded(t_created=at, change="applied")


@apply_command.register
def _compaction(command: chain.Compaction, memory: Memory, entry: EntryLogged, at: int) -> Recorded:
    before = milliseconds(command.before)
    if before > at:
        return _rejected(
            at, Refusal("in_the_future", "Versions are dropped that expired in the past: give an earlier time.")
        )
    if before > memory.horizon:
        memory.writes.horizons.append({"stage": "graph", "horizon": before})
        memory.horizon = before
    return Recorded(t_created=at, change="applied")


@apply_command.register
def _origin_invalidation(command: chain.OriginInvalidation, memory: Memory, entry: EntryLogged, at: int) -> Recorded:
    since = 0 if command.since is None else milliseconds(command.since)
    purge = Purge(origin=command.origin, since=since, at=at, block=command.block)
    memory.purges.append(purge)
    memory.writes.purges.append(
        {
            "origin": purge.origin,
            "since": since,
            "at": at,
            "block": purge.block,
            "unblocked_at": FOREVER,
            "event_id": entry.event_id,
            **provenance(entry.event_id),
        }
    )
    affected = sorted(
        key for key, state in memory.incidents.items() if state.origin == purge.origin and state.said_at >= since
    )
    kept = {key: _kept(memory, key) for key in affected}
    # First all that is said, for how long an episode holds is said by others.
    touched: dict[str, None] = {}
    for key, revision in kept.items():
        touched |= _said_again(memory, entry, key, revision, at)
    touched |= _without_successor(memory, {key for key, revision in kept.items() if revision is None}, at)
    for key, revision in kept.items():
        _revert(memory, entry, key, revision, at)
    made, expired = rewrite_slots(memory, entry, touched, at)
    rewrite_episodes(memory, entry, touched, at)
    about = {slot.removeprefix(SUPERSEDED) for slot in touched if slot.startswith(SUPERSEDED)}
    link_supersessions(memory, entry, about | set(affected), at)
    return Recorded(
        t_created=at,
        change="applied",
        wide=True,
        counts={
            "incidents": len(affected),
            "observations": len(memory.writes.retracted),
            "facts_made": len(made),
            "facts_expired": len(expired),
            "episodes_made": len(memory.writes.episodes),
        },
    )


def _kept(memory: Memory, key: str) -> Revision | None:
    """An incident's greatest revision that is not purged.

    An episode that a compaction has dropped cannot come back, and nor does its incident.
    """
    origin = memory.incidents[key].origin
    best = greatest_revision(r for r in memory.revisions[key] if not purged(memory.purges, origin, r.t_created))
    return None if best is None or _content(memory, key, best) is None else best


def _content(memory: Memory, key: str, revision: Revision) -> Content | None:
    """What a revision said: the incident's current episode, when it was not purged that this says the same."""
    current = memory.episodes.get(key)
    if current is not None and current.row["content_hash"] == revision.content_hash:
        said_at = current.row["said_at"]
        if not purged(memory.purges, memory.incidents[key].origin, said_at):
            return current
    return memory.contents.get(revision.episode_id)


def _said_again(memory: Memory, entry: EntryLogged, key: str, revision: Revision | None, at: int) -> dict[str, None]:
    """Takes back what an incident says, and has it say again what it had said in a revision; the slots touched."""
    touched = take_back(memory, key, at)
    if revision is None:
        return touched
    rows = [
        {**row, "observation_id": derive("observation", entry.event_id, row["observation_id"]), "t_created": at}
        | {"t_retracted": FOREVER}
        for row in memory.taken_back[key]
        if row["event_id"] == revision.event_id and row["said_at"] == row["t_created"]
    ]
    return touched | observe(memory, rows) | {superseded_slot(key): None}


def _revert(memory: Memory, entry: EntryLogged, key: str, revision: Revision | None, at: int) -> None:
    """Takes an incident's episode back to a revision; without one, nothing is left of it."""
    state = memory.incidents[key]
    content = None if revision is None else _content(memory, key, revision)
    if revision is None or content is None:
        expire_episode(memory, state.episode_id, at)
        write_state(memory, key, None, entry.event_id)
        return
    if content is not memory.episodes.get(key):
        state = write_version(memory, entry, key, content, at)
    state.revised_at, state.event_id, state.said_at = revision.revised_at, revision.event_id, revision.t_created
    write_state(memory, key, state, entry.event_id)


def _without_successor(memory: Memory, gone: Collection[str], at: int) -> dict[str, None]:
    """Takes back what commands said in favour of incidents of which nothing is left."""
    touched: dict[str, None] = {}
    for slot in [slot for slot in memory.observations if slot.startswith(SUPERSEDED)]:
        for observation_id, one in list(memory.observations[slot].items()):
            if one.seen.object in gone and one.seen.incident != one.seen.object:
                touched |= take_back(memory, one.seen.incident, at, {observation_id})
    return touched


def _key(named: IncidentRef) -> str:
    return incident_key(named.origin, named.fingerprint)


def _rejected(at: int, refusal: Refusal) -> Recorded:
    return Recorded(t_created=at, change="rejected", reason=refusal.code, detail=refusal.detail)
