"""An incident is a slot as well: its episode's versions, and what supersedes it.

``supersedes`` is an observation about the target: from the successor's start on, its cause no longer holds. It
counts if its origin is trusted at least as much as the target's; otherwise it is a claim, and contested.
"""

from collections.abc import Iterable

from twiceshy.core.facts import observation_row
from twiceshy.core.ids import incident_key, version_id
from twiceshy.core.memory import (
    Claimed,
    Content,
    IncidentState,
    Memory,
    Row,
    Supersession,
    key_of,
    provenance,
    stamps,
    write_entity,
)
from twiceshy.core.temporal import FOREVER, episode_valid_from
from twiceshy.events.chain import EntryLogged, EpisodeReversion
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import IncidentConcluded

SUPERSEDED = "|superseded|"
GONE = ""
"""In place of the episode of an incident of which nothing is left."""


def episode_slot(incident: str) -> str:
    return f"episode|{incident}"


def superseded_slot(incident: str) -> str:
    """The slot, and the place, of what is said about who takes an incident's place."""
    return f"{SUPERSEDED}{incident}"


def supersession_rows(entry: EntryLogged, incident: IncidentConcluded, at: int) -> list[Row]:
    """What a revision says of the incidents that it supersedes. No incident supersedes itself."""
    key, start = key_of(incident), starts_at(entry, incident)
    targets = dict.fromkeys(incident_key(named.origin, named.fingerprint) for named in incident.supersedes)
    return [
        supersession_row(
            entry,
            len(incident.facts) + number,
            at,
            target=target,
            successor=key,
            valid_from=start,
            origin=incident.origin.name,
            incident=key,
            trust=entry.settings.origin_trust,
        )
        for number, target in enumerate(targets)
        if target != key
    ]


def supersession_row(entry: EntryLogged, number: int, at: int, *, target: str, successor: str, **told: object) -> Row:
    """The observation that ``successor`` takes the place of ``target`` from its ``valid_from`` on."""
    return observation_row(
        entry,
        number,
        at,
        slot=superseded_slot(target),
        place=superseded_slot(target),
        subject=target,
        subject_ref=target,
        predicate="superseded_by",
        object=successor,
        object_ref=successor,
        many=False,
        holds=True,
        valid_to=FOREVER,
        confidence=1.0,
        **provenance(entry.event_id),
        **told,
    )


def starts_at(entry: EntryLogged, incident: IncidentConcluded) -> int:
    """An episode's ``t_valid``."""
    started_at = None if incident.started_at is None else milliseconds(incident.started_at)
    return episode_valid_from(started_at, milliseconds(incident.concluded_at), entry.admitted_at)


def holds_until(claims: Iterable[Claimed], t_valid: int, trust: float) -> int:
    """When an episode ceases to hold: at the start of the earliest claim that counts."""
    counting = (max(one.seen.valid_from, t_valid) for one in claims if counts(one, trust))
    return min(counting, default=FOREVER)


def counts(claim: Claimed, trust: float) -> bool:
    """Whether a claim to supersede an incident, whose origin is trusted so much, is more than a claim."""
    return claim.seen.trust >= trust


def write_episode(memory: Memory, entry: EntryLogged, incident: IncidentConcluded, at: int) -> IncidentState:
    """A version of an incident's episode with what a revision says."""
    key, trust = key_of(incident), entry.settings.origin_trust
    row: Row = {
        "slot": episode_slot(key),
        "incident": key,
        "incident_fingerprint": incident.fingerprint,
        "origin": incident.origin.name,
        "trust": trust,
        "summary_nl": incident.summary,
        "resolution_nl": incident.resolution,
        "details_nl": incident.details,
        "body": incident.told,
        "content_hash": entry.content_hash,
        "concluded_at": milliseconds(incident.concluded_at),
        "derived_from": [incident_key(named.origin, named.fingerprint) for named in incident.derived_from],
        "incomplete": incident.incomplete,
        "released_by": entry.admission.by,
        "said_at": at,
        "t_valid": starts_at(entry, incident),
        **provenance(entry.event_id),
    }
    mentions: list[tuple[str, str, str]] = [
        ("RESOLVED_BY" if mention.role == "resolution" else "MENTIONS", mention.role, mention.key)
        for mention in dict.fromkeys(incident.entities)
    ]
    return write_version(memory, entry, key, Content(row, mentions), at)


def write_version(memory: Memory, entry: EntryLogged, key: str, content: Content, at: int) -> IncidentState:
    """A new version of an episode from another one's content. When it ceases to hold is what is believed now."""
    told, before = content.row, memory.incidents.get(key)
    claims = memory.observations[superseded_slot(key)].values()
    t_invalid = holds_until(claims, told["t_valid"], told["trust"])
    episode_id = version_id(entry.tenant, episode_slot(key), told["t_valid"], at)
    stamped = stamps(told["t_valid"], t_invalid, at)
    row: Row = {**told, "version_id": episode_id, "copy_of": told.get("version_id"), **stamped}
    memory.writes.episodes.append(row)
    memory.writes.made[episode_id] = row
    for edge_type, role, mentioned in content.mentions:
        write_entity(memory, entry, mentioned, at)
        edges = memory.writes.resolutions if edge_type == "RESOLVED_BY" else memory.writes.mentions
        edges.append({"from": episode_id, "to": mentioned, "role": role})
    memory.episodes[key] = Content(row, content.mentions)
    if before is not None:
        expire_episode(memory, before.episode_id, at)
    return IncidentState(
        revised_at=before.revised_at if before else 0,
        event_id=told["source"],
        content_hash=told["content_hash"],
        episode_id=episode_id,
        t_valid=told["t_valid"],
        t_invalid=t_invalid,
        trust=told["trust"],
        origin=told["origin"],
        said_at=told["said_at"],
    )


def expire_episode(memory: Memory, episode_id: str, at: int) -> None:
    if not memory.writes.expire(episode_id, at, {}):
        memory.writes.expired_episodes.append({"version_id": episode_id, "at": at})


def write_state(memory: Memory, key: str, state: IncidentState | None, source: str) -> None:
    """Notes which revision of an incident counts; None when nothing of it is left."""
    if state is None:
        memory.incidents.pop(key, None)
        memory.writes.incidents[key] = {"key": key, "episode_id": GONE, **provenance(source)}
        return
    memory.incidents[key] = state
    memory.writes.incidents[key] = {
        "key": key,
        **{name: getattr(state, name) for name in IncidentState.__slots__},
        **provenance(source),
    }


def rewrite_episodes(memory: Memory, entry: EntryLogged, slots: Iterable[str], at: int) -> tuple[EpisodeReversion, ...]:
    """Makes episodes about whose successors something changed hold for as long as is believed now."""
    reversions = []
    for target in sorted(slot.removeprefix(SUPERSEDED) for slot in slots if slot.startswith(SUPERSEDED)):
        state = memory.incidents.get(target)
        if state is None:
            continue
        claims = memory.observations[superseded_slot(target)].values()
        if holds_until(claims, state.t_valid, state.trust) != state.t_invalid:
            after = write_version(memory, entry, target, memory.episodes[target], at)
            after.revised_at, after.event_id, after.said_at = state.revised_at, state.event_id, state.said_at
            after.content_hash = state.content_hash
            write_state(memory, target, after, entry.event_id)
            reversions.append(
                EpisodeReversion(
                    incident=target,
                    made=after.episode_id,
                    expired=state.episode_id,
                    t_valid=after.t_valid,
                    t_invalid=None if after.t_invalid == FOREVER else after.t_invalid,
                )
            )
    return tuple(reversions)


def link_supersessions(memory: Memory, entry: EntryLogged, targets: Iterable[str], at: int) -> None:
    """Makes the edges to the targets what is claimed now, between incidents that are both remembered."""
    for target in sorted(targets):
        wanted = {(e.successor, e.valid_from, e.status): e for e in _wanted(memory, entry, target, at)}
        standing = {(e.successor, e.valid_from, e.status): e for e in memory.supersessions[target]}
        for place, edge in standing.items():
            if place not in wanted:
                _close(memory, edge, at)
        for place, edge in wanted.items():
            if place not in standing:
                _link(memory, entry, edge, at)
        memory.supersessions[target] = [standing.get(place, edge) for place, edge in wanted.items()]


def _wanted(memory: Memory, entry: EntryLogged, target: str, at: int) -> list[Supersession]:
    """An edge a successor and start: active, when one of those who claim it counts."""
    state = memory.incidents.get(target)
    if state is None:
        return []
    active: dict[tuple[str, int], bool] = {}
    for one in memory.observations[superseded_slot(target)].values():
        claim = (one.seen.object, one.seen.valid_from)
        active[claim] = active.get(claim, False) or counts(one, state.trust)
    return [
        Supersession(
            version_id(entry.tenant, f"{successor.episode_id}|{state.episode_id}", valid_from, at),
            key,
            valid_from,
            "active" if counted else "contested",
            successor.episode_id,
            state.episode_id,
        )
        for (key, valid_from), counted in active.items()
        if (successor := memory.incidents.get(key)) is not None
    ]


def _link(memory: Memory, entry: EntryLogged, edge: Supersession, at: int) -> None:
    row = {
        "version_id": edge.version_id,
        **stamps(edge.valid_from, FOREVER, at),
        **provenance(entry.event_id, status=edge.status),
    }
    memory.writes.made[edge.version_id] = row
    memory.writes.supersessions.append({"from": edge.source_version, "to": edge.target_version, "stamps": row})


def _close(memory: Memory, edge: Supersession, at: int) -> None:
    if not memory.writes.expire(edge.version_id, at, {}):
        ends = {"from": edge.source_version, "to": edge.target_version}
        memory.writes.expired_supersessions.append({"version_id": edge.version_id, **ends, "at": at})
