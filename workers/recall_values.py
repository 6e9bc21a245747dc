"""recall.requests.v1 → recall, what held, and what was believed of it → recall.replies.<tenant>

The versions of a fact: the one of a moment on both axes, or all of them.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from twiceshy.core.aliases import Names, place
from twiceshy.core.believing import Evidence
from twiceshy.core.facts import claimed
from twiceshy.core.memory import Row
from twiceshy.core.purges import purged
from twiceshy.core.temporal import access_count, reaffirmed_by
from twiceshy.events.common import instant
from twiceshy.events.items import FactVersion
from twiceshy.events.recall import HistoryReplied, HistoryRequested, ValueReplied, ValueRequested
from twiceshy.stores import cypher
from workers.recall_facts import (
    EVER,
    Told,
    as_claims,
    judged,
    known_again,
    read_claims,
    read_evidence,
    read_observations,
    told_of,
    withheld_at_last,
)
from workers.recall_standing import Reading, bound

VERSIONS_MAX = 500


async def value(question: ValueRequested, reading: Reading) -> ValueReplied:
    """What held, and where nothing does because of a claim that it does not, what is trusted more than that."""
    names, scope, asked = reading.names, reading.scope, question.subject
    places = sorted(place(ref, question.predicate) for ref in names.group(asked))
    rows, claims = await asyncio.gather(
        reading.graph.read(cypher.FACTS_AT, places=places, **bound(scope)),
        read_claims(reading.graph, dict.fromkeys(places, EVER), scope.known_at, names),
    )
    versions = [version for version in (Told(*row) for row in rows) if names.means(asked, version.subject)]
    about = [one for one in claims if names.means(asked, one.said["subject"])]
    evidence = await read_evidence(reading.graph, scope, about)
    found = judged(sorted(versions, key=lambda one: (one.subject, one.object)), evidence, scope.known_at)
    open_slots = sorted(evidence.slots() - {version.slot for version in versions})
    denied = [one for slot in open_slots for one in evidence.denied(slot, scope.as_of)]
    return ValueReplied(
        **reading.envelope(withheld=found.withheld),
        as_of=instant(scope.as_of),
        names=reading.names_of(asked),
        facts=found.facts,
        contested_by=as_claims(denied),
    )


@dataclass(frozen=True, slots=True)
class Closing:
    """A version, and what a history tells of it besides: the event that began it, and what closed it."""

    version: Told
    source: str
    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]
    invalidated_at: int | None
    invalidated_by_event: str | None


async def history(question: HistoryRequested, reading: Reading) -> HistoryReplied:
    """Every version, also of what was purged, which is shown here alone."""
    names, scope, asked = reading.names, reading.scope, question.subject
    # What was believed at other times rests on what was said under the names that were one then.
    ever = Names(reading.ground.standing.aliases).group(asked)
    rows, said = await asyncio.gather(
        reading.graph.read(
            cypher.FACT_VERSIONS,
            places=sorted(place(ref, question.predicate) for ref in names.group(asked)),
            known_at=scope.known_at,
            count=VERSIONS_MAX + 1,
        ),
        read_observations(
            reading.graph, {place(ref, question.predicate): EVER for ref in ever}, scope.known_at, unless_by=0
        ),
    )
    closings = [one for one in map(_closing, rows) if names.means(asked, one.version.subject)]
    live = [claimed(row, names) for row in said if row["t_retracted"] > scope.known_at]
    evidence = await read_evidence(reading.graph, scope, live)
    # Each version is held against all that was said: other answers need not wait for a long history.
    versions = await asyncio.to_thread(_versions, closings[:VERSIONS_MAX], said, evidence, reading)
    return HistoryReplied(
        **reading.envelope(),
        names=reading.names_of(asked),
        versions=versions,
        truncated=len(rows) > VERSIONS_MAX,
    )


def _versions(
    newest_first: Sequence[Closing], said: Sequence[Row], evidence: Evidence, reading: Reading
) -> tuple[FactVersion, ...]:
    scope, standing = reading.scope, reading.ground.standing
    can_lack = any(purged(scope.purges, row["origin"], row["said_at"]) for row in said)
    return tuple(
        _version(one, reading, evidence, withheld=can_lack and withheld_at_last(one.version, said, standing, scope))
        for one in reversed(newest_first)
    )


def _closing(row: Sequence[Any]) -> Closing:
    *told, source, supersedes, superseded_by, invalidated_at, invalidated_by_event = row
    return Closing(
        Told(*told), source, tuple(supersedes or ()), tuple(superseded_by or ()), invalidated_at, invalidated_by_event
    )


def _version(one: Closing, reading: Reading, evidence: Evidence, *, withheld: bool) -> FactVersion:
    version = one.version.as_known(reading.scope.known_at)
    closed = version.t_expired <= reading.scope.known_at
    slot, segment = known_again(version, reading.names)
    seen = [supporter.seen for supporter in evidence.supporters(slot, segment)]
    return FactVersion(
        **told_of(version, evidence, slot, segment, reading.scope.known_at),
        founder=version.founder,
        source=one.source,
        invalidated_by_event=one.invalidated_by_event if closed else None,
        invalidated_at=instant(one.invalidated_at) if closed and one.invalidated_at is not None else None,
        reaffirmed_by=tuple(other.incident for other in reaffirmed_by(seen, segment)),
        access_count=access_count(seen, segment),
        supersedes=one.supersedes,
        superseded_by=one.superseded_by if closed else (),
        withheld="origin_purge" if withheld else None,
    )
