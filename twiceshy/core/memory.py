"""What of a tenant's memory a batch of log entries needs, and what it adds to it."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from twiceshy.core.aliases import NO_NAMES, Alias, Names, folded_ref
from twiceshy.core.ids import incident_key
from twiceshy.core.purges import Purge
from twiceshy.core.temporal import FOREVER, Observation, Version
from twiceshy.core.things import ref_of, type_of
from twiceshy.events.chain import EntryLogged, Recorded
from twiceshy.events.incident import IncidentConcluded

Row = dict[str, Any]

COMMANDS_ALONE = ("aliased", "unaliased", "purges", "unblocked", "horizons")

WITH_THE_WATERMARK = ("entries", "incidents")
"""An entry is applied when it is there. An incident's state has no history: a command that was begun, and has to be
begun again, must find it as it was."""


@dataclass(slots=True)
class IncidentState:
    """The greatest revision of an incident, and the episode version that holds its content.

    ``said_at`` is the transaction time of that revision; ``trust`` that of its origin.
    """

    revised_at: int
    event_id: str
    content_hash: str
    episode_id: str
    t_valid: int
    t_invalid: int
    trust: float
    origin: str
    said_at: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """An observation with what the store keeps of it besides.

    ``seen`` goes by the names of the moment: its slot and object are what subject and object come to. ``said`` is
    the row in the store, with the names as they were said.
    """

    seen: Observation
    said: Row


@dataclass(slots=True)
class Content:
    """An episode version's properties, and the things that it mentions: (edge type, role, key)."""

    row: Row
    mentions: list[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Supersession:
    """An edge between the episodes of two incidents, as it is believed now."""

    version_id: str
    successor: str
    valid_from: int
    status: str
    source_version: str
    target_version: str


@dataclass(frozen=True, slots=True)
class Revision:
    """One publication of an incident, as it was applied."""

    revised_at: int
    event_id: str
    content_hash: str
    episode_id: str
    t_created: int


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
    supersessions: list[Row] = field(default_factory=list)
    expired_episodes: list[Row] = field(default_factory=list)
    expired_facts: list[Row] = field(default_factory=list)
    expired_supersessions: list[Row] = field(default_factory=list)
    retracted: list[Row] = field(default_factory=list)
    aliased: list[Row] = field(default_factory=list)
    unaliased: list[Row] = field(default_factory=list)
    purges: list[Row] = field(default_factory=list)
    unblocked: list[Row] = field(default_factory=list)
    horizons: list[Row] = field(default_factory=list)
    made: dict[str, Row] = field(default_factory=dict)

    def parameters(self) -> dict[str, list[Row]]:
        """What an incident's entry can add: all but what commands do."""
        return {name: rows for name, rows in self._lists() if name not in COMMANDS_ALONE}

    def pieces(self, rows_max: int) -> Iterator[dict[str, list[Row]]]:
        """All but what comes last, in order, so that what an edge joins comes before it, so many rows at a time."""
        parts = [(name, rows) for name, rows in self._lists() if name not in WITH_THE_WATERMARK]
        empty: dict[str, list[Row]] = {name: [] for name, _ in parts}
        piece, room = dict(empty), rows_max
        for name, rows in parts:
            start = 0
            while start < len(rows):
                if not room:
                    yield piece
                    piece, room = dict(empty), rows_max
                piece[name] = rows[start : start + room]
                start += len(piece[name])
                room -= len(piece[name])
        yield piece

    def last(self) -> "Writes":
        """What is written as the watermark moves, when all pieces are there."""
        return Writes(**{name: getattr(self, name) for name in WITH_THE_WATERMARK})

    def expire(self, version_id: str, at: int, closing: Row) -> bool:
        """Closes a version that this batch makes, where it stands; False for an older one.

        Within one query the graph does not find the edges that the query itself has made. They get the stamps that
        their version is written with.
        """
        made = self.made.get(version_id)
        if made is None:
            return False
        made |= {**closing, "t_expired": at}
        return True

    def _lists(self) -> Iterator[tuple[str, list[Row]]]:
        for name in self.__dataclass_fields__:
            if name != "made":
                part = getattr(self, name)
                yield name, list(part.values()) if isinstance(part, dict) else part


@dataclass(slots=True)
class Memory:
    """What of a tenant's memory a batch needs.

    ``observations`` (by slot, then id) and ``versions`` hold the live ones. Of a slot with a ``begin``, those that
    decide what is believed from then on. ``said_by`` has, by incident, the slot of each of its observations. The last
    three are there for a purge alone: of each incident that it can touch, the revisions, the observations that were
    taken back, and by version id what episodes said.
    """

    watermark: int
    applied: dict[str, Recorded] = field(default_factory=dict)
    aliases: list[Alias] = field(default_factory=list)
    names: Names = NO_NAMES
    purges: list[Purge] = field(default_factory=list)
    horizon: int = 0
    incidents: dict[str, IncidentState] = field(default_factory=dict)
    observations: dict[str, dict[str, Claimed]] = field(default_factory=lambda: defaultdict(dict))
    said_by: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    versions: dict[str, list[Version]] = field(default_factory=lambda: defaultdict(list))
    begin: dict[str, int] = field(default_factory=dict)
    episodes: dict[str, Content] = field(default_factory=dict)
    supersessions: dict[str, list[Supersession]] = field(default_factory=lambda: defaultdict(list))
    writes: Writes = field(default_factory=Writes)
    revisions: dict[str, list[Revision]] = field(default_factory=lambda: defaultdict(list))
    taken_back: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    contents: dict[str, Content] = field(default_factory=dict)

    def observe(self, one: Claimed) -> None:
        """Adds a live observation."""
        identity: str = one.said["observation_id"]
        self.observations[one.seen.slot][identity] = one
        self.said_by[one.seen.incident][identity] = one.seen.slot

    def forget(self, incident: str, observation_id: str) -> str:
        """Takes a live observation out; the slot that it was in."""
        slot = self.said_by[incident].pop(observation_id)
        del self.observations[slot][observation_id]
        return slot


def key_of(incident: IncidentConcluded) -> str:
    return incident_key(incident.origin.name, incident.fingerprint)


def write_entity(memory: Memory, entry: EntryLogged, key: str, at: int) -> None:
    if key in memory.writes.entities:
        return
    memory.writes.entities[key] = {
        "key": key,
        "entity_type": type_of(key),
        "entity_ref": ref_of(key),
        "folded": folded_ref(key),
        "t_created": at,
        **provenance(entry.event_id),
    }


def stamps(t_valid: int, t_invalid: int, at: int) -> Row:
    return {"t_valid": t_valid, "t_invalid": t_invalid, "t_created": at, "t_expired": FOREVER}


def provenance(event_id: str, confidence: float = 1.0, status: str = "active") -> Row:
    return {"source": event_id, "status": status, "confidence_score": confidence}
