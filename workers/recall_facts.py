"""recall.requests.v1 → recall, facts and what speaks for them → recall.replies.<tenant>

A version of a fact stands in the graph. How far it can be trusted is derived, at the moment of the read, from the
observations at all places where its subject's names have any.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twiceshy.core.aliases import NO_NAMES, Names, place
from twiceshy.core.believing import Evidence
from twiceshy.core.facts import claimed, fact_slot, slot_parts
from twiceshy.core.memory import Claimed, Row
from twiceshy.core.temporal import FOREVER, Segment
from twiceshy.events.common import instant
from twiceshy.events.items import Claim, Denied, Fact
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph
from twiceshy.stores.points import Scope
from twiceshy.stores.standing import Standing
from workers.recall_doubts import read_doubted
from workers.recall_shapes import stamps
from workers.recall_standing import bound

OBSERVATION = (
    "observation_id", "slot", "subject", "predicate", "object", "many", "holds", "valid_from", "valid_to", "incident",
    "origin", "revised_at", "event_id", "trust", "confidence", "t_created", "t_retracted", "said_at",
)  # fmt: skip
RESTS_ON_MAX = 20
CLAIMS_MAX = 20

Span = tuple[int, int]
EVER: Span = (-FOREVER, FOREVER)


@dataclass(frozen=True, slots=True)
class Told:
    """A version of a fact, as the columns of the queries have it."""

    version_id: str
    slot: str
    subject: str
    predicate: str
    object: str
    origin: str
    founder: str
    t_valid: int
    t_invalid: int
    t_created: int
    t_expired: int

    @property
    def segment(self) -> Segment:
        return Segment(self.t_valid, self.t_invalid, self.object, self.founder, "")

    def as_known(self, known_at: int) -> "Told":
        """The version without a closing that memory did not know of at ``known_at``."""
        return self if self.t_expired <= known_at else replace(self, t_expired=FOREVER)


@dataclass(frozen=True, slots=True)
class Facts:
    """``withheld``: something was found that only purged origins say.

    ``denied`` is what would hold, but for a claim that is trusted less.
    """

    facts: tuple[Fact, ...] = ()
    withheld: bool = False
    denied: tuple[Denied, ...] = ()


async def read_facts(
    graph: Graph, scope: Scope, names: Names, asked: Sequence[str], mentioning: Sequence[str]
) -> Facts:
    """The facts about the entities ``asked`` and about those that the episodes ``mentioning`` mention.

    Raises:
        TransientError: FalkorDB is away.
    """
    subjects = list(asked)
    if names and mentioning:
        # What is mentioned goes by the name as it was said, a fact by the one that it came to.
        rows = await graph.read(cypher.MENTIONED, episodes=mentioning)
        subjects, mentioning = list(dict.fromkeys([*subjects, *(names.resolved(row[0]) for row in rows)])), ()
    if not subjects and not mentioning:
        return Facts()
    [[holding, held]] = await graph.read(
        cypher.FACTS_ABOUT, subjects=subjects, first=list(asked), mentioning=mentioning, **bound(scope)
    )
    versions = [Told(*row) for row in holding]
    spans: dict[str, Span] = {}
    for version in versions:
        for ref in names.group(version.subject):
            start, end = spans.get(place(ref, version.predicate), (version.t_valid, version.t_invalid))
            spans[place(ref, version.predicate)] = min(start, version.t_valid), max(end, version.t_invalid)
    for subject, predicate in held:
        for ref in names.group(subject):
            spans.setdefault(place(ref, predicate), (scope.as_of, scope.as_of + 1))
    claims = await read_claims(graph, spans, scope.known_at, names)
    evidence = await read_evidence(graph, scope, claims)
    found = judged(versions, evidence, scope.known_at)
    return replace(found, denied=_denied(evidence, {version.slot for version in versions}, scope.as_of))


def _denied(evidence: Evidence, holding: Collection[str], as_of: int) -> tuple[Denied, ...]:
    """Of which slots, but for those where something holds, that is only by a claim that is trusted less."""
    found = []
    for slot in sorted(evidence.slots() - set(holding)):
        if displaced := evidence.denied(slot, as_of):
            subject, predicate = slot_parts(slot)
            by = evidence.denied_by(slot, as_of)
            found.append(
                Denied(
                    subject=subject,
                    predicate=predicate,
                    denied_by=None if by is None else _claim(by),
                    contested_by=as_claims(displaced),
                )
            )
    return tuple(found)


async def read_claims(graph: Graph, spans: Mapping[str, Span], known_at: int, names: Names) -> list[Claimed]:
    """What was live at ``known_at`` of what was said at places about a time within a span of each."""
    return [claimed(row, names) for row in await read_observations(graph, spans, known_at, unless_by=known_at)]


async def read_observations(graph: Graph, spans: Mapping[str, Span], known_at: int, *, unless_by: int) -> list[Row]:
    """What memory knew at ``known_at`` of what was said, and had not taken back by ``unless_by``."""
    if not spans:
        return []
    asked = [{"place": said_at, "start": start, "end": end} for said_at, (start, end) in sorted(spans.items())]
    rows = await graph.read(cypher.OBSERVATIONS_AT, places=asked, known_at=known_at, unless_by=unless_by)
    return [dict(zip(OBSERVATION, row, strict=True)) for row in rows]


async def read_evidence(graph: Graph, scope: Scope, claims: Sequence[Claimed]) -> Evidence:
    """The claims, without what was purged, and with less trust in what derives from it."""
    doubted = await read_doubted(graph, scope, {one.seen.incident for one in claims})
    return Evidence(claims, scope.purges, doubted)


def judged(versions: Iterable[Told], evidence: Evidence, known_at: int) -> Facts:
    """Versions that were believed at ``known_at`` as facts, but for those that only purged origins say."""
    facts, withheld = [], False
    for version in versions:
        if evidence.withheld(version.slot, version.segment):
            withheld = True
        else:
            facts.append(Fact(**told_of(version, evidence, version.slot, version.segment, known_at)))
    return Facts(tuple(facts), withheld)


def known_again(version: Told, names: Names) -> tuple[str, Segment]:
    """The slot and the segment of a version of any time, by the names of the moment."""
    parts = (version.subject, version.predicate, version.object)
    many = version.slot != fact_slot(NO_NAMES, *parts, many=False)
    return fact_slot(names, *parts, many=many), replace(version.segment, object=names.resolved(version.object))


def told_of(version: Told, evidence: Evidence, slot: str, segment: Segment, known_at: int) -> dict[str, Any]:
    """The fields of a fact. Slot and segment go by the names of the evidence's moment, the version by its own."""
    supporters = evidence.supporters(slot, segment)
    # What is said at one moment contests nothing that was no longer believed then.
    contested_by = evidence.contested_by(slot, segment) if known_at < version.t_expired else []
    origin = version.origin
    if supporters and all(one.seen.incident != version.founder for one in supporters):
        # Who began it was purged, and it stands on the word of others.
        origin = max(supporters, key=lambda one: one.seen.trust).said["origin"]
    return {
        "id": version.version_id,
        "origin": origin,
        "trust": evidence.trust(slot, segment),
        "rests_on": tuple(one.said["observation_id"] for one in supporters[:RESTS_ON_MAX]),
        "contested": bool(contested_by),
        "subject": version.subject,
        "predicate": version.predicate,
        "object": version.object,
        "contested_by": as_claims(contested_by),
        "incidents": len({one.seen.incident for one in supporters}),
        "origins": len({one.said["origin"] for one in supporters}),
        **stamps(version.t_valid, version.t_invalid, version.t_created, version.t_expired),
    }


def withheld_at_last(version: Told, said: Iterable[Row], standing: Standing, scope: Scope) -> bool:
    """Whether all that supported a version when memory last believed it was purged.

    ``said`` is everything that was said of it under any name, also what was taken back.
    """
    last = min(version.t_expired - 1, scope.known_at)
    names = standing.names(last)
    claims = [
        claimed(row, names)
        for row in said
        if row["holds"]
        and row["t_created"] <= last < row["t_retracted"]
        and row["valid_from"] < version.t_invalid
        and row["valid_to"] > version.t_valid
        and (row["object"] if not names else names.resolved(row["object"])) == version.object
    ]
    return Evidence(claims, scope.purges).withheld(version.slot, version.segment)


def as_claims(claims: Sequence[Claimed]) -> tuple[Claim, ...]:
    return tuple(_claim(one) for one in claims[:CLAIMS_MAX])


def _claim(one: Claimed) -> Claim:
    return Claim(
        id=one.said["observation_id"],
        object=one.seen.object,
        holds=one.seen.holds,
        origin=one.said["origin"],
        trust=one.seen.trust,
        valid_from=instant(one.seen.valid_from),
        valid_to=None if one.seen.valid_to == FOREVER else instant(one.seen.valid_to),
    )
