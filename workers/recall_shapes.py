"""recall.requests.v1 → recall, rows as items → recall.replies.<tenant>

What an item looks like of which the graph, or a payload, has told. Rows of the graph are as the queries
`cypher.RECALLED` and `cypher.ITEMS` return them, and end with the four stamps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from twiceshy.core.believing import floored
from twiceshy.core.ids import incident_parts
from twiceshy.core.risky import risky
from twiceshy.core.temporal import FOREVER
from twiceshy.core.texts import lexical_text
from twiceshy.events.common import instant
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.items import (
    Episode,
    Lesson,
    MistakeItem,
    Playbook,
    Rule,
    SupersededBy,
    Why,
)

SUPERSEDED_BY_MAX = 20

Row = Sequence[Any]


def stamps(t_valid: int, t_invalid: int, t_created: int, t_expired: int) -> dict[str, Any]:
    """The four stamps of an item."""
    return {
        "t_valid": instant(t_valid),
        "t_invalid": None if t_invalid == FOREVER else instant(t_invalid),
        "ingested_at": instant(t_created),
        "t_expired": None if t_expired == FOREVER else instant(t_expired),
    }


@dataclass(frozen=True, slots=True)
class Remembered:
    """An episode's version as a store has it. ``stamps`` are the four of an item, ready for it.

    ``trust`` is that of its origin, and ``doubted`` whether it derives from what was purged.
    """

    version_id: str
    key: str
    origin: str
    said_at: int
    trust: float
    incident: IncidentConcluded
    incomplete: bool
    stamps: dict[str, Any]
    doubted: bool = False
    superseded_by: tuple[SupersededBy, ...] = ()

    @property
    def words(self) -> str:
        """All that the store tells of it in words."""
        return f"{self.incident.title}\n{lexical_text(self.incident)}"

    def episode(self, rank: int, score: float, why: Why) -> Episode:
        told = self.incident
        cause = told.cause.statement if told.cause else None
        return Episode(
            id=self.version_id,
            origin=self.origin,
            trust=floored(self.trust, self.doubted),
            contested=any(claim.contested for claim in self.superseded_by),
            **self.stamps,
            rank=rank,
            fingerprint=told.fingerprint,
            title=told.title,
            summary=told.summary,
            cause=cause,
            cause_category=told.cause.category if told.cause else None,
            resolution=told.resolution,
            severity=told.severity,
            concluded_at=told.concluded_at,
            score=round(score, 6),
            incomplete=self.incomplete,
            why=why,
            entities=told.entities,
            code_refs=told.code_refs,
            links=told.links,
            superseded_by=self.superseded_by,
            risky=risky("\n".join(filter(None, (told.title, told.summary, cause, told.resolution)))),
        )


def remembered(row: Row) -> Remembered:
    """An episode's row without what it derives from."""
    version_id, key, origin, said_at, trust, body, incomplete, *stamped = row
    incident = IncidentConcluded.model_validate_json(body)
    return Remembered(version_id, key, origin, said_at, trust, incident, incomplete, stamps(*stamped))


def superseded_by(claims: Iterable[tuple[str, float, int]], trust: float) -> tuple[SupersededBy, ...]:
    """Who takes an episode's place by claims of (successor, trust, start); one that counts makes it no contest.

    ``trust`` is that of the episode's origin: whoever is trusted less only claims.
    """
    contested: dict[tuple[str, int], bool] = {}
    for successor, claimed_with, since in claims:
        contested[successor, since] = contested.get((successor, since), True) and claimed_with < trust
    named = [(incident_parts(successor), since, alone) for (successor, since), alone in contested.items()]
    return tuple(
        SupersededBy(origin=origin, fingerprint=fingerprint, since=instant(since), contested=alone)
        for (origin, fingerprint), since, alone in named[:SUPERSEDED_BY_MAX]
    )


def lesson(row: Row, *, doubted: bool) -> Lesson:
    return Lesson(**_taught(row, doubted), text=row[6] or "", risky=risky(row[6] or ""))


def playbook(row: Row, *, doubted: bool) -> Playbook:
    steps = tuple(row[6] or ())
    return Playbook(**_taught(row, doubted), steps=steps, risky=risky("\n".join(steps)))


def mistake(row: Row, *, doubted: bool) -> MistakeItem:
    return MistakeItem(**_taught(row, doubted), category=row[6], statement=row[7])


def _taught(row: Row, doubted: bool) -> dict[str, Any]:
    """What lessons, playbooks and mistakes have alike. Each begins with the episode that it rests on."""
    episode_id, version_id, _, origin, _, trust = row[:6]
    return {
        "id": version_id,
        "origin": origin,
        "trust": floored(trust, doubted),
        "rests_on": (episode_id,),
        **stamps(*row[-4:]),
    }


def rule(row: Row) -> Rule:
    version_id, category, statement, rests_on, incidents, origins, trust, *stamped = row
    return Rule(
        id=version_id,
        origin=None,
        trust=trust or 0.0,
        rests_on=tuple(rests_on),
        category=category,
        statement=statement,
        incidents=incidents,
        origins=origins,
        **stamps(*stamped),
    )
