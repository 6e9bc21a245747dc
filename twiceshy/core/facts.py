"""What was said about a slot: observations, and the versions that they make and expire."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable

from twiceshy.core.aliases import NO_NAMES, Names, folded_ref, place
from twiceshy.core.ids import derive, version_id
from twiceshy.core.memory import Claimed, Memory, Row, key_of, provenance, stamps, write_entity
from twiceshy.core.temporal import FOREVER, Observation, Segment, applied, believed, diff
from twiceshy.core.things import ENTITY_KEY
from twiceshy.events.chain import EntryLogged, FactVersionRef
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import IncidentConcluded

FACT = "fact|"

_PART = re.compile(r"(?:[^\\|]|\\.)+")
_ESCAPED = re.compile(r"\\(.)")


def fact_slot(names: Names, subject: str, predicate: str, said: str, *, many: bool) -> str:
    """A fact's identity within a tenant, by the names of the moment; a many-valued one has its object in it too."""
    parts = (names.resolved(subject), predicate, *((names.resolved(said),) if many else ()))
    return FACT + "|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)


def slot_parts(slot: str) -> tuple[str, str]:
    """The subject and the predicate that `fact_slot` made a slot of."""
    subject, predicate = (_ESCAPED.sub(r"\1", part) for part in _PART.findall(slot.removeprefix(FACT))[:2])
    return subject, predicate


def claimed(row: Row, names: Names) -> Claimed:
    """An observation's row in the store, seen by the names of the moment."""
    slot, said = row["slot"], row["object"]
    if names and slot.startswith(FACT):
        slot = fact_slot(names, row["subject"], row["predicate"], said, many=row["many"])
        said = names.resolved(said)
    return Claimed(
        Observation(
            slot=slot,
            object=said,
            holds=row["holds"],
            valid_from=row["valid_from"],
            valid_to=row["valid_to"],
            incident=row["incident"],
            revised_at=row["revised_at"],
            event_id=row["event_id"],
            trust=float(row["trust"]),
            confidence=float(row["confidence"]),
            t_created=row["t_created"],
            t_retracted=row["t_retracted"],
        ),
        row,
    )


def observation_row(entry: EntryLogged, number: int, at: int, **told: object) -> Row:
    """An observation that the entry makes, as the store has it. ``told`` is what it says, and where it belongs."""
    return {
        "observation_id": derive("observation", entry.tenant, entry.event_id, str(number)),
        "revised_at": entry.revised_at,
        "event_id": entry.event_id,
        "t_created": at,
        "t_retracted": FOREVER,
        "said_at": at,
        **told,
    }


def fact_rows(entry: EntryLogged, incident: IncidentConcluded, at: int) -> list[Row]:
    """What an incident's revision says in its facts."""
    return [
        observation_row(
            entry,
            number,
            at,
            slot=fact_slot(NO_NAMES, fact.subject, fact.predicate, fact.object, many=many),
            place=place(folded_ref(fact.subject), fact.predicate),
            subject=fact.subject,
            subject_ref=folded_ref(fact.subject),
            predicate=fact.predicate,
            object=fact.object,
            object_ref=folded_ref(fact.object),
            many=many,
            holds=fact.holds,
            valid_from=milliseconds(fact.valid_from),
            valid_to=FOREVER if fact.valid_to is None else min(milliseconds(fact.valid_to), FOREVER),
            incident=key_of(incident),
            origin=incident.origin.name,
            trust=entry.settings.origin_trust,
            confidence=fact.confidence,
            **provenance(entry.event_id, confidence=fact.confidence),
        )
        for number, fact in enumerate(incident.facts)
        for many in (fact.predicate in entry.settings.many_valued,)
    ]


def take_back(memory: Memory, incident: str, at: int, gone: Collection[str] | None = None) -> dict[str, None]:
    """Retracts what an incident says (all of it, or the observations ``gone``); the slots in which it did."""
    touched: dict[str, None] = {}
    for observation_id in list(memory.said_by[incident]):
        if gone is None or observation_id in gone:
            touched[memory.forget(incident, observation_id)] = None
            memory.writes.retracted.append({"observation_id": observation_id, "at": at})
    return touched


def observe(memory: Memory, rows: Iterable[Row]) -> dict[str, None]:
    """Adds what the rows say; the slots in which they do."""
    touched: dict[str, None] = {}
    for row in rows:
        one = claimed(row, memory.names)
        touched[one.seen.slot] = None
        memory.observe(one)
        memory.writes.observations.append(row)
    return touched


def rewrite_slots(
    memory: Memory, entry: EntryLogged, slots: Iterable[str], at: int
) -> tuple[tuple[FactVersionRef, ...], tuple[FactVersionRef, ...]]:
    """Makes the versions of slots what is believed of them now: those made, and those expired."""
    made: list[FactVersionRef] = []
    expired: list[FactVersionRef] = []
    for slot in sorted(slot for slot in slots if slot.startswith(FACT)):
        made_here, expired_here = _rewrite_slot(memory, entry, slot, at)
        made += made_here
        expired += expired_here
    return tuple(made), tuple(expired)


def _rewrite_slot(
    memory: Memory, entry: EntryLogged, slot: str, at: int
) -> tuple[list[FactVersionRef], list[FactVersionRef]]:
    live = memory.observations[slot].values()
    segments = believed((one.seen for one in live), memory.begin.get(slot))
    change = diff(memory.versions[slot], segments)

    gone = {version: version_id(entry.tenant, slot, version.t_valid, version.t_created) for version in change.expired}
    come = {segment: version_id(entry.tenant, slot, segment.start, at) for segment in change.inserted}
    successors: dict[str, list[str]] = defaultdict(list)
    predecessors: dict[str, list[str]] = defaultdict(list)
    for segment, version in change.supersedes:
        successors[gone[version]].append(come[segment])
        predecessors[come[segment]].append(gone[version])
    for fact_id in gone.values():
        _expire_fact(memory, fact_id, entry.event_id, at, successors[fact_id])
    founding = _by_event(live) if come else {}
    for segment, fact_id in come.items():
        founder = _founding(founding[segment.event_id], segment)
        _write_fact(memory, entry, founder, segment, fact_id, at, predecessors[fact_id])
    after = applied(memory.versions[slot], change, slot=slot, at=at)
    memory.versions[slot] = [version for version in after if version.t_expired == FOREVER]
    return (
        [FactVersionRef.model_construct(version_id=fact_id, slot=slot) for fact_id in come.values()],
        [FactVersionRef.model_construct(version_id=fact_id, slot=slot) for fact_id in gone.values()],
    )


def _expire_fact(memory: Memory, fact_id: str, by: str, at: int, successors: list[str]) -> None:
    closing = {"invalidated_at": at, "invalidated_by_event": by, "superseded_by": successors}
    if not memory.writes.expire(fact_id, at, closing):
        memory.writes.expired_facts.append({"version_id": fact_id, "at": at, "by": by, "superseded_by": successors})


def _by_event(live: Iterable[Claimed]) -> dict[str, list[Claimed]]:
    by_event: dict[str, list[Claimed]] = defaultdict(list)
    for one in live:
        by_event[one.seen.event_id].append(one)
    return by_event


def _founding(of_event: Iterable[Claimed], segment: Segment) -> Claimed:
    """The observation that wins at the segment's start, of those of its event."""
    return max(
        (
            one
            for one in of_event
            if one.seen.holds
            and one.seen.object == segment.object
            and one.seen.valid_from <= segment.start < one.seen.valid_to
        ),
        key=lambda one: (one.seen.valid_from, -one.seen.valid_to, one.seen.confidence),
    )


def _write_fact(
    memory: Memory,
    entry: EntryLogged,
    founder: Claimed,
    segment: Segment,
    fact_id: str,
    at: int,
    supersedes: list[str],
) -> None:
    subject, predicate = memory.names.resolved(founder.said["subject"]), founder.said["predicate"]
    row: Row = {
        "version_id": fact_id,
        "slot": founder.seen.slot,
        "place": place(folded_ref(subject), predicate),
        "subject": subject,
        "predicate": predicate,
        "object": segment.object,
        "origin": founder.said["origin"],
        "founder": segment.founder,
        "supersedes": supersedes,
        **stamps(segment.start, segment.end, at),
        **provenance(segment.event_id, confidence=founder.seen.confidence),
    }
    memory.writes.facts.append(row)
    memory.writes.made[fact_id] = row
    write_entity(memory, entry, subject, at)
    memory.writes.subjects.append({"from": fact_id, "to": subject})
    if ENTITY_KEY.match(segment.object):
        write_entity(memory, entry, segment.object, at)
        memory.writes.objects.append({"from": fact_id, "to": segment.object})
