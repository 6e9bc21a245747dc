"""What one log entry does to a tenant's memory: a fold, entry by entry, over what the batch before left.

    recorded = record(memory, entry)      mutates ``memory`` and adds to ``memory.writes``

Pure but for the memory passed in: the same memory and entry give the same result and the same writes.
"""

from typing import Literal

from twiceshy.core.facts import claims_of, observation_row, revise_facts
from twiceshy.core.ids import version_id
from twiceshy.core.memory import IncidentState, Memory, Row, key_of, provenance, stamps, write_entity
from twiceshy.core.temporal import FOREVER, episode_valid_from, transaction_time
from twiceshy.events.chain import EntryLogged, Recorded
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import IncidentConcluded

Change = Literal["remembered", "reaffirmed", "corrected"]


def episode_slot(incident: str) -> str:
    return f"episode|{incident}"


def record(memory: Memory, entry: EntryLogged) -> Recorded:
    """Applies ``entry``. One whose event was applied before changes nothing and gets the same result."""
    known = memory.applied.get(entry.event_id)
    if known is not None:
        return known
    at = transaction_time(memory.watermark, entry.admitted_at)
    if entry.kind == "incident" and entry.incident is not None:
        result = _record_incident(memory, entry, entry.incident, at)
    else:
        result = Recorded(t_created=at, change="passed")
    memory.watermark = at
    memory.applied[entry.event_id] = result
    memory.writes.entries.append(
        {
            "event_id": entry.event_id,
            "t_created": at,
            "result": result.model_dump_json(exclude_defaults=True),
            **provenance(entry.event_id),
        }
    )
    return result


def current(memory: Memory, entry: EntryLogged) -> bool:
    """Whether the entry's revision is the one that memory goes by."""
    if entry.incident is None:
        return False
    state = memory.incidents.get(key_of(entry.incident))
    return state is not None and state.event_id == entry.event_id


def _record_incident(memory: Memory, entry: EntryLogged, incident: IncidentConcluded, at: int) -> Recorded:
    key = key_of(incident)
    before = memory.incidents.get(key)
    claims = claims_of(entry, incident, at)
    if before is not None and (entry.revised_at, entry.event_id) < (before.revised_at, before.event_id):
        # An older revision that arrives late is kept, taken back from the start.
        memory.writes.observations += [observation_row(claim, t_retracted=at) for claim in claims]
        return Recorded(t_created=at, change="stale", episode_id=before.episode_id, t_valid=before.t_valid)
    made, expired = revise_facts(memory, entry, key, claims, at)
    change: Change
    gone: tuple[str, ...] = ()
    if before is not None and before.content_hash == entry.content_hash:
        state, change = before, "reaffirmed"
    else:
        state = _write_episode(memory, entry, incident, at)
        gone = () if before is None else (before.episode_id,)
        change = "remembered" if before is None else "corrected"
        memory.writes.expired_episodes += [
            {"version_id": episode, "at": at} for episode in gone if not memory.writes.expire(episode, at, {})
        ]
    state.revised_at, state.event_id = entry.revised_at, entry.event_id
    memory.incidents[key] = state
    memory.writes.incidents[key] = {
        "key": key,
        "revised_at": state.revised_at,
        "event_id": state.event_id,
        "content_hash": state.content_hash,
        "episode_id": state.episode_id,
        "t_valid": state.t_valid,
        **provenance(entry.event_id),
    }
    return Recorded(
        t_created=at,
        change=change,
        episode_id=state.episode_id,
        t_valid=state.t_valid,
        expired=gone,
        facts_made=made,
        facts_expired=expired,
    )


def _write_episode(memory: Memory, entry: EntryLogged, incident: IncidentConcluded, at: int) -> IncidentState:
    key = key_of(incident)
    started_at = None if incident.started_at is None else milliseconds(incident.started_at)
    concluded_at = milliseconds(incident.concluded_at)
    t_valid = episode_valid_from(started_at, concluded_at, entry.admitted_at)
    episode_id = version_id(entry.tenant, episode_slot(key), t_valid, at)
    stamped = stamps(t_valid, FOREVER, at)
    row: Row = {
        "version_id": episode_id,
        "slot": episode_slot(key),
        "incident": key,
        "incident_fingerprint": incident.fingerprint,
        "origin": incident.origin.name,
        "trust": entry.settings.origin_trust,
        "summary_nl": incident.summary,
        "resolution_nl": incident.resolution,
        "details_nl": incident.details,
        "body": incident.model_dump_json(exclude={"details"}, exclude_defaults=True),
        "content_hash": entry.content_hash,
        "concluded_at": concluded_at,
        "incomplete": incident.incomplete,
        "released_by": entry.admission.by,
        **stamped,
        **provenance(entry.event_id),
    }
    memory.writes.episodes.append(row)
    memory.writes.made[episode_id] = [row]
    for mention in dict.fromkeys(incident.entities):
        write_entity(memory, entry, mention.key, at)
        edges = memory.writes.resolutions if mention.role == "resolution" else memory.writes.mentions
        edge = {"version_id": episode_id, "role": mention.role, **stamped, **provenance(entry.event_id)}
        memory.writes.made[episode_id].append(edge)
        edges.append({"from": episode_id, "to": mention.key, "stamps": edge})
    return IncidentState(entry.revised_at, entry.event_id, entry.content_hash, episode_id, t_valid)
