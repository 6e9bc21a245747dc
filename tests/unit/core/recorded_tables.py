"""A graph as tables in memory: what the query RECORD writes, and what a batch reads before it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from twiceshy.core.aliases import NO_NAMES
from twiceshy.core.facts import claimed
from twiceshy.core.memory import IncidentState, Memory, Row, Writes
from twiceshy.core.recording import record
from twiceshy.core.temporal import FOREVER, Observation, Version
from twiceshy.events.chain import EntryLogged, Recorded


@dataclass
class Tables:
    watermark: int = 0
    entries: dict[str, Row] = field(default_factory=dict)
    incidents: dict[str, Row] = field(default_factory=dict)
    entities: dict[str, Row] = field(default_factory=dict)
    episodes: dict[str, Row] = field(default_factory=dict)
    observations: dict[str, Row] = field(default_factory=dict)
    facts: dict[str, Row] = field(default_factory=dict)
    edges: list[tuple[str, Row]] = field(default_factory=list)

    def remember(self, *batch: EntryLogged) -> list[Recorded]:
        memory = self.load()
        results = [record(memory, entry) for entry in batch]
        self.watermark = memory.watermark
        self._apply(memory.writes)
        return results

    def load(self) -> Memory:
        memory = Memory(watermark=self.watermark)
        for event_id, row in self.entries.items():
            memory.applied[event_id] = Recorded.model_validate_json(row["result"])
        for key, row in self.incidents.items():
            if row["episode_id"]:
                memory.incidents[key] = IncidentState(**{name: row[name] for name in IncidentState.__slots__})
        for row in self.observations.values():
            if row["t_retracted"] == FOREVER:
                memory.observe(claimed(dict(row), memory.names))
        for row in self.facts.values():
            if row["t_expired"] == FOREVER:
                memory.versions[row["slot"]].append(version(row))
        return memory

    def versions(self) -> list[Version]:
        return [version(row) for row in self.facts.values()]

    def observed(self) -> list[Observation]:
        return [claimed(row, NO_NAMES).seen for row in self.observations.values()]

    def current(self) -> dict[str, list[tuple[int, int, str]]]:
        """By slot, what is believed: start, end and object, in order of world time."""
        found: dict[str, list[tuple[int, int, str]]] = {}
        for row in sorted(self.facts.values(), key=lambda row: int(row["t_valid"])):
            if row["t_expired"] == FOREVER:
                found.setdefault(row["slot"], []).append((row["t_valid"], row["t_invalid"], row["object"]))
        return found

    def by_label(self) -> dict[str, list[Row]]:
        """The nodes of a graph that has the same."""
        return {
            "Entry": list(self.entries.values()),
            "Incident": list(self.incidents.values()),
            "MemoryEntity": list(self.entities.values()),
            "MemoryEpisode": list(self.episodes.values()),
            "Observation": list(self.observations.values()),
            "MemoryFact": list(self.facts.values()),
        }

    def _apply(self, writes: Writes) -> None:
        created = (
            (self.entries, writes.entries, "event_id"),
            (self.episodes, writes.episodes, "version_id"),
            (self.observations, writes.observations, "observation_id"),
            (self.facts, writes.facts, "version_id"),
        )
        for table, rows, identity in created:
            for row in rows:
                assert row[identity] not in table, "two nodes of one identity"
                table[row[identity]] = dict(row)
        for key, row in writes.incidents.items():
            self.incidents[key] = self.incidents.get(key, {}) | row
        for key, row in writes.entities.items():
            self.entities.setdefault(key, row)
        self._connect(writes)
        for row in writes.expired_episodes:
            self._expire(self.episodes, ("MENTIONS", "RESOLVED_BY"), row)
        for row in writes.expired_facts:
            self._expire(self.facts, ("SUBJECT", "OBJECT"), row)
            by = {"invalidated_at": row["at"], "invalidated_by_event": row["by"], "superseded_by": row["superseded_by"]}
            self.facts[row["version_id"]] |= by
        for row in writes.retracted:
            self.observations[row["observation_id"]]["t_retracted"] = row["at"]

    def _connect(self, writes: Writes) -> None:
        edges = (
            ("MENTIONS", self.episodes, writes.mentions),
            ("RESOLVED_BY", self.episodes, writes.resolutions),
            ("SUBJECT", self.facts, writes.subjects),
            ("OBJECT", self.facts, writes.objects),
        )
        for kind, table, rows in edges:
            for row in rows:
                assert row["from"] in table
                assert row["to"] in self.entities
                self.edges.append((kind, {"from": row["from"], "to": row["to"], **row["stamps"]}))

    def _expire(self, table: dict[str, Row], kinds: Sequence[str], row: Row) -> None:
        table[row["version_id"]]["t_expired"] = row["at"]
        for kind, edge in self.edges:
            if kind in kinds and edge["from"] == row["version_id"]:
                edge["t_expired"] = row["at"]


def version(row: Row) -> Version:
    names = ("slot object t_valid t_invalid t_created t_expired founder").split()
    return Version(**{name: row[name] for name in names}, event_id=row["source"])
