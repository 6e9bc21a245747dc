"""What of a tenant's memory one batch of log entries needs, and what it adds to it."""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from twiceshy.core.ids import incident_key
from twiceshy.core.temporal import FOREVER, Observation, Version
from twiceshy.events.chain import EntryLogged, Recorded
from twiceshy.events.incident import IncidentConcluded

Row = dict[str, Any]

ENTITY_KEY = re.compile(r"^[a-z][a-z0-9_-]{0,63}:(?!//)\S")


@dataclass(slots=True)
class IncidentState:
    """The greatest revision of an incident, and the episode version that holds its content."""

    revised_at: int
    event_id: str
    content_hash: str
    episode_id: str
    t_valid: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """An observation with what the store keeps of it besides."""

    seen: Observation
    observation_id: str
    subject: str
    predicate: str
    origin: str


@dataclass(slots=True)
class Writes:
    """What a batch adds to the graph, as parameter rows of `cypher.RECORD`."""

    entries: list[Row] = field(default_factory=list)
    incidents: dict[str, Row] = field(default_factory=dict)
    entities: dict[str, Row] = field(default_factory=dict)
    episodes: list[Row] = field(default_factory=list)
    observations: list[Row] = field(default_factory=list)
    facts: list[Row] = field(default_factory=list)
    mentions: list[Row] = field(default_factory=list)
    resolutions: list[Row] = field(default_factory=list)
    subjects: list[Row] = field(default_factory=list)
    objects: list[Row] = field(default_factory=list)
    expired_episodes: list[Row] = field(default_factory=list)
    expired_facts: list[Row] = field(default_factory=list)
    retracted: list[Row] = field(default_factory=list)
    made: dict[str, list[Row]] = field(default_factory=dict)

    def parameters(self) -> dict[str, list[Row]]:
        rows = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "made"}
        return {name: list(part.values()) if isinstance(part, dict) else part for name, part in rows.items()}

    def expire(self, version_id: str, at: int, closing: Row) -> bool:
        """Closes a version that this batch makes, and its edges, where it stands; False for an older one.

        Within one query the graph does not find the edges that the query itself has made.
        """
        rows = self.made.get(version_id)
        if rows is None:
            return False
        rows[0] |= closing
        for row in rows:
            row["t_expired"] = at
        return True


@dataclass(slots=True)
class Memory:
    """What of a tenant's memory a batch needs. ``observations`` and ``versions`` hold the live ones, by slot."""

    watermark: int
    applied: dict[str, Recorded] = field(default_factory=dict)
    incidents: dict[str, IncidentState] = field(default_factory=dict)
    observations: dict[str, list[Claimed]] = field(default_factory=lambda: defaultdict(list))
    versions: dict[str, list[Version]] = field(default_factory=lambda: defaultdict(list))
    writes: Writes = field(default_factory=Writes)


def key_of(incident: IncidentConcluded) -> str:
    return incident_key(incident.origin.name, incident.fingerprint)


def write_entity(memory: Memory, entry: EntryLogged, key: str, at: int) -> None:
    known_type, _, ref = key.partition(":") if ENTITY_KEY.match(key) else ("thing", "", key)
    memory.writes.entities.setdefault(
        key,
        {
            "key": key,
            "entity_type": known_type,
            "entity_ref": ref,
            "folded": ref.strip().casefold(),
            "t_created": at,
            **provenance(entry.event_id),
        },
    )


def stamps(t_valid: int, t_invalid: int, at: int) -> Row:
    return {"t_valid": t_valid, "t_invalid": t_invalid, "t_created": at, "t_expired": FOREVER}


def provenance(event_id: str, confidence: float = 1.0) -> Row:
    return {"source": event_id, "status": "active", "confidence_score": confidence}
