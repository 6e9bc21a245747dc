"""recall.requests.v1 → recall, what is read of what was found → recall.replies.<tenant>

Reads the items that a reply holds: from FalkorDB side by side, or the episodes alone from Qdrant's payloads.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from twiceshy.core.temporal import FOREVER
from twiceshy.core.texts import lexical_text
from twiceshy.events.common import instant
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.recall import Episode, Fact, Include, Lesson, MistakeItem, Playbook, Rule, Why
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph
from twiceshy.stores.points import Scope
from twiceshy.stores.vectors import Vectors

TAUGHT: frozenset[Include] = frozenset({"lessons", "playbooks", "mistakes"})


@dataclass(frozen=True, slots=True)
class Remembered:
    """An episode's version as a store has it. ``stamps`` are the four of an item, ready for it."""

    version_id: str
    origin: str
    trust: float
    incident: IncidentConcluded
    incomplete: bool
    stamps: dict[str, Any]

    @property
    def words(self) -> str:
        """All that the store tells of it in words."""
        return f"{self.incident.title}\n{lexical_text(self.incident)}"

    def episode(self, rank: int, score: float, why: Why) -> Episode:
        told = self.incident
        return Episode(
            id=self.version_id,
            origin=self.origin,
            trust=self.trust,
            **self.stamps,
            rank=rank,
            fingerprint=told.fingerprint,
            title=told.title,
            summary=told.summary,
            cause=told.cause.statement if told.cause else None,
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
        )


@dataclass(slots=True)
class Items:
    """What was read: episodes by version, and what stands beside them."""

    episodes: dict[str, Remembered] = field(default_factory=dict)
    lessons: list[Lesson] = field(default_factory=list)
    playbooks: list[Playbook] = field(default_factory=list)
    mistakes: list[MistakeItem] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)


async def read_graph(
    graph: Graph,
    scope: Scope,
    *,
    ids: Sequence[str],
    beside: Sequence[str],
    rules: Sequence[str],
    asked: Sequence[str],
    include: Iterable[Include],
) -> Items:
    """The episodes ``ids``; and of those in ``beside`` what they taught, and the rules and facts that go with them.

    Raises:
        TransientError: FalkorDB is away.
    """
    wanted = set(include)
    rows = await graph.read(
        cypher.RECALLED,
        episodes=ids,
        teaching=() if wanted.isdisjoint(TAUGHT) else beside,
        mistaken=beside if "rules" in wanted else (),
        rules=rules,
        mentioning=beside if "facts" in wanted else (),
        subjects=asked if "facts" in wanted else (),
        as_of=scope.as_of,
        known_at=scope.known_at,
    )
    items = Items()
    for episodes, taught, standing, facts in rows:
        for version_id, origin, trust, body, incomplete, *stamps in episodes:
            items.episodes[version_id] = _remembered(version_id, origin, trust, body, incomplete, stamps)
        # What the best episode taught comes first.
        places = {version_id: place for place, version_id in enumerate(ids)}
        for row in sorted(taught, key=lambda row: places[row[1]]):
            _add_taught(items, *row)
        items.rules += [_rule(*row) for row in standing]
        items.facts += [_fact(*row) for row in facts]
    return items


async def read_payloads(vectors: Vectors, scope: Scope, ids: Sequence[str]) -> Items:
    """The episodes alone, from what was indexed with them.

    Raises:
        TransientError: Qdrant is away.
    """
    episodes: dict[str, Remembered] = {}
    for version_id, told in (await vectors.payloads(scope.generation, ids)).items():
        stamps = [told[stamp] for stamp in ("t_valid", "t_invalid", "t_created", "t_expired")]
        remembered = _remembered(version_id, told["origin"], told["trust"], told["body"], True, stamps)
        # The body has no details; the text has. It is the title alone when nobody said what happened.
        incomplete = told["text"] == remembered.incident.title
        episodes[version_id] = replace(remembered, incomplete=incomplete)
    return Items(episodes=episodes)


def _remembered(
    version_id: str, origin: str, trust: float, body: str, incomplete: bool, stamps: Sequence[int]
) -> Remembered:
    incident = IncidentConcluded.model_validate_json(body)
    return Remembered(version_id, origin, trust, incident, incomplete, _stamps(*stamps))


def _add_taught(
    items: Items,
    label: str,
    episode_id: str,
    version_id: str,
    origin: str,
    trust: float,
    text: str | None,
    steps: list[str] | None,
    category: str | None,
    statement: str | None,
    *stamps: int,
) -> None:
    told: dict[str, Any] = {
        "id": version_id,
        "origin": origin,
        "trust": trust,
        "rests_on": (episode_id,),
        **_stamps(*stamps),
    }
    if label == "MemoryLesson":
        items.lessons.append(Lesson(**told, text=text or ""))
    elif label == "MemoryPlaybook":
        items.playbooks.append(Playbook(**told, steps=tuple(steps or ())))
    elif label == "MemoryMistake":
        told |= {"category": category, "statement": statement}
        items.mistakes.append(MistakeItem(**told))


def _rule(
    version_id: str,
    category: str,
    statement: str,
    rests_on: list[str],
    incidents: int,
    trust: float,
    *stamps: int,
) -> Rule:
    told: dict[str, Any] = {"category": category, **_stamps(*stamps)}
    return Rule(
        id=version_id,
        origin=None,
        trust=trust,
        rests_on=tuple(rests_on),
        statement=statement,
        incidents=incidents,
        **told,
    )


def _fact(
    version_id: str,
    subject: str,
    predicate: str,
    said: str,
    origin: str,
    trust: float | None,
    observations: list[str],
    *stamps: int,
) -> Fact:
    return Fact(
        id=version_id,
        origin=origin,
        trust=trust or 0.0,
        rests_on=tuple(observations),
        subject=subject,
        predicate=predicate,
        object=said,
        **_stamps(*stamps),
    )


def _stamps(t_valid: int, t_invalid: int, t_created: int, t_expired: int) -> dict[str, Any]:
    return {
        "t_valid": instant(t_valid),
        "t_invalid": None if t_invalid == FOREVER else instant(t_invalid),
        "ingested_at": instant(t_created),
        "t_expired": None if t_expired == FOREVER else instant(t_expired),
    }
