"""A graph as tables in memory: what the queries RECORD and PIECE write, and what a batch or a command reads before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from twiceshy.core.aliases import NO_NAMES, Alias, Names
from twiceshy.core.facts import claimed
from twiceshy.core.memory import Content, IncidentState, Memory, Revision, Row, Supersession, Writes
from twiceshy.core.purges import Purge
from twiceshy.core.recording import record
from twiceshy.core.temporal import FOREVER, Observation, Version
from twiceshy.events.chain import EntryLogged, OriginInvalidation, Recorded

MENTIONING = ("MENTIONS", "RESOLVED_BY")
STATE = IncidentState.__slots__
EDGE = ("version_id", "t_valid", "t_invalid", "t_created", "t_expired", "source", "status", "confidence_score")
PURGE = ("origin", "since", "at", "block", "unblocked_at")


@dataclass
class Tables:
    watermark: int = 0
    horizon: int = 0
    entries: dict[str, Row] = field(default_factory=dict)
    incidents: dict[str, Row] = field(default_factory=dict)
    entities: dict[str, Row] = field(default_factory=dict)
    episodes: dict[str, Row] = field(default_factory=dict)
    observations: dict[str, Row] = field(default_factory=dict)
    facts: dict[str, Row] = field(default_factory=dict)
    purges: dict[int, Row] = field(default_factory=dict)
    edges: list[tuple[str, Row]] = field(default_factory=list)

    def remember(self, *batch: EntryLogged) -> list[Recorded]:
        """Applies entries as the worker does: incidents together, a command alone."""
        results: list[Recorded] = []
        for commands, run in groupby(batch, key=lambda entry: entry.command is not None):
            together = list(run)
            for part in [[entry] for entry in together] if commands else [together]:
                memory = self.load(*part)
                results += [record(memory, entry) for entry in part]
                self.watermark = memory.watermark
                self._apply(memory.writes)
        return results

    def load(self, *entries: EntryLogged) -> Memory:
        """All that is live, and for a purge what the incidents of its origin had said before."""
        aliases = [alias for alias in self.aliases() if alias.t_expired == FOREVER]
        memory = Memory(
            watermark=self.watermark,
            aliases=aliases,
            names=Names(aliases),
            purges=[Purge(**{name: row[name] for name in PURGE}) for row in self.purges.values()],
            horizon=self.horizon,
        )
        for entry in entries:
            if entry.event_id in self.entries:
                memory.applied[entry.event_id] = self.result(entry.event_id)
        for key, row in self.incidents.items():
            if row["episode_id"]:
                memory.incidents[key] = IncidentState(**{name: row[name] for name in STATE})
        for row in self.observations.values():
            if row["t_retracted"] == FOREVER:
                memory.observe(claimed(dict(row), memory.names))
        for row in self.facts.values():
            if row["t_expired"] == FOREVER:
                memory.versions[row["slot"]].append(version(row))
        self._load_episodes(memory)
        for entry in entries:
            if isinstance(entry.command, OriginInvalidation):
                self._load_what_was_said(memory, entry.command.origin)
        return memory

    def result(self, event_id: str) -> Recorded:
        return Recorded.model_validate_json(self.entries[event_id]["result"])

    def aliases(self) -> list[Alias]:
        return [
            Alias(alias=edge["from"], canonical=edge["to"], t_created=edge["t_created"], t_expired=edge["t_expired"])
            for kind, edge in self.edges
            if kind == "ALIAS_OF"
        ]

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
        labels: dict[str, dict[Any, Row]] = {
            "Entry": self.entries,
            "Incident": self.incidents,
            "MemoryEntity": self.entities,
            "MemoryEpisode": self.episodes,
            "Observation": self.observations,
            "MemoryFact": self.facts,
            "Purge": self.purges,
        }
        return {label: list(rows.values()) for label, rows in labels.items() if rows}

    def _load_episodes(self, memory: Memory) -> None:
        for key, state in memory.incidents.items():
            memory.episodes[key] = self._content(state.episode_id)
        for kind, edge in self.edges:
            if kind == "SUPERSEDES" and edge["t_expired"] == FOREVER:
                source, target = (self.episodes[edge[end]]["incident"] for end in ("from", "to"))
                standing = (edge["version_id"], source, edge["t_valid"], edge["status"], edge["from"], edge["to"])
                memory.supersessions[target].append(Supersession(*standing))

    def _load_what_was_said(self, memory: Memory, origin: str) -> None:
        for row in self.entries.values():
            episode_id = self.result(row["event_id"]).episode_id if row.get("origin") == origin else None
            if episode_id is not None:
                said = (row["revised_at"], row["event_id"], row["content_hash"], episode_id, row["t_created"])
                memory.revisions[row["incident"]].append(Revision(*said))
                if self.episodes[episode_id]["t_expired"] > self.horizon:
                    memory.contents[episode_id] = self._content(episode_id)
        for row in self.observations.values():
            memory.taken_back[row["incident"]].append(dict(row))

    def _content(self, episode_id: str) -> Content:
        mentions = [
            (kind, edge["role"], edge["to"])
            for kind, edge in self.edges
            if kind in MENTIONING and edge["from"] == episode_id
        ]
        return Content(self.episodes[episode_id], sorted(mentions))

    def _apply(self, writes: Writes) -> None:
        created = (
            (self.entries, writes.entries, "event_id"),
            (self.episodes, writes.episodes, "version_id"),
            (self.observations, writes.observations, "observation_id"),
            (self.facts, writes.facts, "version_id"),
            (self.purges, writes.purges, "at"),
        )
        for table, rows, identity in created:
            for row in rows:
                assert row[identity] not in table, "two nodes of one identity"
                table[row[identity]] = dict(row)
        for key, row in writes.incidents.items():
            self.incidents[key] = row
        for key, row in writes.entities.items():
            self.entities.setdefault(key, row)
        self._connect(writes)
        self._close(writes)
        for row in writes.retracted:
            assert self.observations[row["observation_id"]]["t_retracted"] == FOREVER, "taken back twice"
            self.observations[row["observation_id"]]["t_retracted"] = row["at"]
        for row in writes.unblocked:
            for purge in self.purges.values():
                if purge["origin"] == row["origin"] and purge["block"] and purge["unblocked_at"] == FOREVER:
                    purge["unblocked_at"] = row["at"]
        for row in writes.horizons:
            self.horizon = row["horizon"]

    def _connect(self, writes: Writes) -> None:
        edges = (
            ("MENTIONS", self.episodes, self.entities, writes.mentions),
            ("RESOLVED_BY", self.episodes, self.entities, writes.resolutions),
            ("SUBJECT", self.facts, self.entities, writes.subjects),
            ("OBJECT", self.facts, self.entities, writes.objects),
            ("SUPERSEDES", self.episodes, self.episodes, writes.supersessions),
            ("ALIAS_OF", self.entities, self.entities, writes.aliased),
        )
        for kind, sources, targets, rows in edges:
            for row in rows:
                assert row["from"] in sources
                assert row["to"] in targets
                told = row.get("stamps") or _of_version(sources[row["from"]])
                self.edges.append((kind, {**told, **{name: part for name, part in row.items() if name != "stamps"}}))
        made = [edge["version_id"] for kind, edge in self.edges if kind == "SUPERSEDES"]
        assert len(made) == len(set(made)), "two edges of one identity"

    def _close(self, writes: Writes) -> None:
        for row in writes.expired_episodes:
            self._expire(self.episodes, MENTIONING, row)
        for row in writes.expired_facts:
            self._expire(self.facts, ("SUBJECT", "OBJECT"), row)
            by = {"invalidated_at": row["at"], "invalidated_by_event": row["by"], "superseded_by": row["superseded_by"]}
            self.facts[row["version_id"]] |= by
        for row in writes.expired_supersessions:
            standing = [e for kind, e in self.edges if kind == "SUPERSEDES" and e["version_id"] == row["version_id"]]
            self._end(standing, row["at"])
        for row in writes.unaliased:
            ends = (row["from"], row["to"])
            open_ = [e for e in self._of_kind("ALIAS_OF") if (e["from"], e["to"], e["t_expired"]) == (*ends, FOREVER)]
            self._end(open_, row["at"])

    def _of_kind(self, kind: str) -> Iterable[Row]:
        return (edge for of_kind, edge in self.edges if of_kind == kind)

    def _end(self, edges: Sequence[Row], at: int) -> None:
        assert [edge["t_expired"] for edge in edges] == [FOREVER], "not one edge that can be closed"
        edges[0]["t_expired"] = at

    def _expire(self, table: dict[str, Row], kinds: Sequence[str], row: Row) -> None:
        assert table[row["version_id"]]["t_expired"] == FOREVER, "closed twice"
        table[row["version_id"]]["t_expired"] = row["at"]
        for kind, edge in self.edges:
            if kind in kinds and edge["from"] == row["version_id"]:
                edge["t_expired"] = row["at"]


def _of_version(row: Row) -> Row:
    """What an edge has of the version that it begins at."""
    return {name: row[name] for name in EDGE}


def version(row: Row) -> Version:
    names = ("slot object t_valid t_invalid t_created t_expired founder").split()
    return Version(**{name: row[name] for name in names}, event_id=row["source"])
