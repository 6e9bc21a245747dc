"""What one log entry does to a tenant's memory: a fold, entry by entry, over what the batch before left.

    recorded = record(memory, entry)      mutates ``memory`` and adds to ``memory.writes``

Pure but for the memory passed in: the same memory and entry give the same result and the same writes.
"""

from typing import Literal

from twiceshy.core.commands import apply_command
from twiceshy.core.episodes import (
    SUPERSEDED,
    link_supersessions,
    rewrite_episodes,
    superseded_slot,
    supersession_rows,
    write_episode,
    write_state,
)
from twiceshy.core.facts import fact_rows, observe, rewrite_slots, take_back
from twiceshy.core.memory import IncidentState, Memory, Row, key_of, provenance
from twiceshy.core.purges import blocked
from twiceshy.core.temporal import FOREVER, transaction_time
from twiceshy.events.chain import EntryLogged, Recorded
from twiceshy.events.incident import IncidentConcluded

Change = Literal["remembered", "reaffirmed", "corrected"]


def record(memory: Memory, entry: EntryLogged) -> Recorded:
    """Applies ``entry``. One whose event was applied before changes nothing and gets the same result."""
    known = memory.applied.get(entry.event_id)
    if known is not None:
        return known
    at = transaction_time(memory.watermark, entry.admitted_at)
    if entry.incident is not None:
        result = _record_incident(memory, entry, entry.incident, at)
    elif entry.command is not None:
        result = apply_command(entry.command, memory, entry, at)
    else:
        result = Recorded(t_created=at, change="passed")
    memory.watermark = at
    memory.applied[entry.event_id] = result
    memory.writes.entries.append(_entry_row(entry, result))
    return result


def current(memory: Memory, entry: EntryLogged) -> bool:
    """Whether the entry's revision is the one that memory goes by."""
    if entry.incident is None:
        return False
    state = memory.incidents.get(key_of(entry.incident))
    return state is not None and state.event_id == entry.event_id


def _entry_row(entry: EntryLogged, result: Recorded) -> Row:
    of_incident = (
        {}
        if entry.incident is None
        else {
            "incident": key_of(entry.incident),
            "origin": entry.incident.origin.name,
            "revised_at": entry.revised_at,
            "content_hash": entry.content_hash,
        }
    )
    return {
        "event_id": entry.event_id,
        "kind": entry.kind,
        "t_created": result.t_created,
        "result": result.model_dump_json(exclude_defaults=True),
        **of_incident,
        **provenance(entry.event_id),
    }


def _record_incident(memory: Memory, entry: EntryLogged, incident: IncidentConcluded, at: int) -> Recorded:
    key = key_of(incident)
    if blocked(memory.purges, incident.origin.name, at):
        return Recorded(
            t_created=at,
            change="rejected",
            reason="origin_blocked",
            detail=f"What {incident.origin.name} says is turned away. `twiceshy unblock` lets it speak again.",
        )
    before = memory.incidents.get(key)
    rows = fact_rows(entry, incident, at) + supersession_rows(entry, incident, at)
    if before is not None and (entry.revised_at, entry.event_id) < (before.revised_at, before.event_id):
        # An older revision that arrives late is kept, taken back from the start.
        memory.writes.observations += [{**row, "t_retracted": at} for row in rows]
        return Recorded(t_created=at, change="stale", episode_id=before.episode_id, t_valid=before.t_valid)
    touched = take_back(memory, key, at) | observe(memory, rows)
    made, expired = rewrite_slots(memory, entry, touched, at)
    state, change, gone = _revise_episode(memory, entry, incident, at)
    reversions = rewrite_episodes(memory, entry, touched, at)
    about = {slot.removeprefix(SUPERSEDED) for slot in touched if slot.startswith(SUPERSEDED)}
    link_supersessions(memory, entry, about | ({key} if memory.observations[superseded_slot(key)] else set()), at)
    return Recorded(
        t_created=at,
        change=change,
        episode_id=state.episode_id,
        t_valid=state.t_valid,
        t_invalid=None if state.t_invalid == FOREVER else state.t_invalid,
        expired=gone,
        facts_made=made,
        facts_expired=expired,
        reversions=reversions,
    )


def _revise_episode(
    memory: Memory, entry: EntryLogged, incident: IncidentConcluded, at: int
) -> tuple[IncidentState, Change, tuple[str, ...]]:
    """The state of the incident after this revision, what changed, and the episode versions that went."""
    key = key_of(incident)
    before = memory.incidents.get(key)
    change: Change = "remembered"
    gone: tuple[str, ...] = ()
    if before is not None and before.content_hash == entry.content_hash:
        state, change = before, "reaffirmed"
    else:
        state = write_episode(memory, entry, incident, at)
        if before is not None:
            change, gone = "corrected", (before.episode_id,)
    state.revised_at, state.event_id, state.said_at = entry.revised_at, entry.event_id, at
    write_state(memory, key, state, entry.event_id)
    return state, change, gone
