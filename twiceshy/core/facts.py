"""What an incident's facts do to their slots: observations, and the versions that they make and expire."""

from collections import defaultdict

from twiceshy.core.ids import derive, version_id
from twiceshy.core.memory import ENTITY_KEY, Claimed, Memory, Row, key_of, provenance, stamps, write_entity
from twiceshy.core.temporal import FOREVER, Observation, Segment, Version, applied, believed, diff
from twiceshy.events.chain import EntryLogged, FactVersionRef
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import FactClaim, IncidentConcluded


def slot_of(claim: FactClaim, many_valued: tuple[str, ...]) -> str:
    """A fact's identity within a tenant; a many-valued predicate has its object in it too."""
    parts = (claim.subject, claim.predicate) + ((claim.object,) if claim.predicate in many_valued else ())
    return "fact|" + "|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)


def claims_of(entry: EntryLogged, incident: IncidentConcluded, at: int) -> list[Claimed]:
    key = key_of(incident)
    return [
        Claimed(
            seen=Observation(
                slot=slot_of(fact, entry.settings.many_valued),
                object=fact.object,
                holds=fact.holds,
                valid_from=milliseconds(fact.valid_from),
                valid_to=FOREVER if fact.valid_to is None else min(milliseconds(fact.valid_to), FOREVER),
                incident=key,
                revised_at=entry.revised_at,
                event_id=entry.event_id,
                trust=entry.settings.origin_trust,
                confidence=fact.confidence,
                t_created=at,
            ),
            observation_id=derive("observation", entry.tenant, entry.event_id, str(index)),
            subject=fact.subject,
            predicate=fact.predicate,
            origin=incident.origin.name,
        )
        for index, fact in enumerate(incident.facts)
    ]


def revise_facts(
    memory: Memory, entry: EntryLogged, incident: str, claims: list[Claimed], at: int
) -> tuple[tuple[FactVersionRef, ...], tuple[FactVersionRef, ...]]:
    """Takes back what earlier revisions of the incident said, adds what this one says, and writes the difference."""
    touched = dict.fromkeys(claim.seen.slot for claim in claims)
    for slot, claimed in memory.observations.items():
        taken_back = [claim for claim in claimed if claim.seen.incident == incident]
        if taken_back:
            touched.setdefault(slot)
            memory.writes.retracted += [{"observation_id": c.observation_id, "at": at} for c in taken_back]
            memory.observations[slot] = [claim for claim in claimed if claim.seen.incident != incident]
    for claim in claims:
        memory.observations[claim.seen.slot].append(claim)
        memory.writes.observations.append(observation_row(claim, t_retracted=FOREVER))
    made: list[FactVersionRef] = []
    expired: list[FactVersionRef] = []
    for slot in sorted(touched):
        made_here, expired_here = _rewrite_slot(memory, entry, slot, at)
        made += made_here
        expired += expired_here
    return tuple(made), tuple(expired)


def _rewrite_slot(
    memory: Memory, entry: EntryLogged, slot: str, at: int
) -> tuple[list[FactVersionRef], list[FactVersionRef]]:
    live = memory.observations[slot]
    segments = believed(claim.seen for claim in live)
    change = diff(memory.versions[slot], segments)

    def of_version(version: Version) -> str:
        return version_id(entry.tenant, slot, version.t_valid, version.t_created)

    def of_segment(segment: Segment) -> str:
        return version_id(entry.tenant, slot, segment.start, at)

    successors: dict[str, list[str]] = defaultdict(list)
    predecessors: dict[str, list[str]] = defaultdict(list)
    for segment, version in change.supersedes:
        successors[of_version(version)].append(of_segment(segment))
        predecessors[of_segment(segment)].append(of_version(version))
    for version in change.expired:
        _expire_fact(memory, of_version(version), entry.event_id, at, successors[of_version(version)])
    for segment in change.inserted:
        _write_fact(memory, entry, _founding(live, segment), segment, at, predecessors[of_segment(segment)])
    after = applied(memory.versions[slot], change, slot=slot, at=at)
    memory.versions[slot] = [version for version in after if version.t_expired == FOREVER]
    return (
        [FactVersionRef(version_id=of_segment(segment), slot=slot) for segment in change.inserted],
        [FactVersionRef(version_id=of_version(version), slot=slot) for version in change.expired],
    )


def _expire_fact(memory: Memory, fact_id: str, by: str, at: int, successors: list[str]) -> None:
    closing = {"invalidated_at": at, "invalidated_by_event": by, "superseded_by": successors}
    if not memory.writes.expire(fact_id, at, closing):
        memory.writes.expired_facts.append({"version_id": fact_id, "at": at, "by": by, "superseded_by": successors})


def _founding(live: list[Claimed], segment: Segment) -> Claimed:
    """The observation that wins at the segment's start."""
    return max(
        (
            claim
            for claim in live
            if claim.seen.holds
            and claim.seen.event_id == segment.event_id
            and claim.seen.object == segment.object
            and claim.seen.valid_from <= segment.start < claim.seen.valid_to
        ),
        key=lambda claim: (claim.seen.valid_from, -claim.seen.valid_to),
    )


def _write_fact(
    memory: Memory, entry: EntryLogged, founding: Claimed, segment: Segment, at: int, supersedes: list[str]
) -> None:
    fact_id = version_id(entry.tenant, founding.seen.slot, segment.start, at)
    stamped = stamps(segment.start, segment.end, at)
    source = provenance(segment.event_id, confidence=founding.seen.confidence)
    row: Row = {
        "version_id": fact_id,
        "slot": founding.seen.slot,
        "subject": founding.subject,
        "predicate": founding.predicate,
        "object": segment.object,
        "origin": founding.origin,
        "founder": segment.founder,
        "supersedes": supersedes,
        **stamped,
        **source,
    }
    memory.writes.facts.append(row)
    memory.writes.made[fact_id] = [row]
    write_entity(memory, entry, founding.subject, at)
    _write_edge(memory.writes.subjects, memory, fact_id, founding.subject, {**stamped, **source})
    if ENTITY_KEY.match(segment.object):
        write_entity(memory, entry, segment.object, at)
        _write_edge(memory.writes.objects, memory, fact_id, segment.object, {**stamped, **source})


def _write_edge(edges: list[Row], memory: Memory, fact_id: str, to: str, properties: Row) -> None:
    edge = {"version_id": fact_id, **properties}
    memory.writes.made[fact_id].append(edge)
    edges.append({"from": fact_id, "to": to, "stamps": edge})


def observation_row(claim: Claimed, t_retracted: int) -> Row:
    seen = claim.seen
    return {
        "observation_id": claim.observation_id,
        "slot": seen.slot,
        "subject": claim.subject,
        "predicate": claim.predicate,
        "object": seen.object,
        "holds": seen.holds,
        "valid_from": seen.valid_from,
        "valid_to": seen.valid_to,
        "incident": seen.incident,
        "origin": claim.origin,
        "revised_at": seen.revised_at,
        "event_id": seen.event_id,
        "trust": seen.trust,
        "confidence": seen.confidence,
        "t_created": seen.t_created,
        "t_retracted": t_retracted,
        **provenance(seen.event_id, confidence=seen.confidence),
    }
