"""Memories to export: one with something of every kind, made by hand, and those that a fold leaves in tables."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from tests.unit.core.recorded_tables import Tables
from twiceshy.core.canonical import Edge, Node, Point
from twiceshy.core.ids import version_id
from twiceshy.core.temporal import FOREVER
from twiceshy.events.common import instant

STARTED_AT = 1_700_000_000_000
INCIDENT = "pagerduty/1"
SLOT = "fact|service:a|runs_on"

VERSIONED = ("MemoryEpisode", "MemoryFact")


class Memory(NamedTuple):
    """What `canonical_lines` takes, in its order."""

    nodes: list[Node]
    points: list[Point]
    horizons: dict[str, int]


def memory(at: int = STARTED_AT + 5_000, concluded_at: int = STARTED_AT) -> Memory:
    """One incident published twice with other content, superseded, renamed, purged in part, and compacted.

    The entries are admitted at ``at``, ``at + 7``, and so on. The incident was over at ``concluded_at``; an episode
    cannot begin later than it is admitted.
    """
    first, second, third = at, at + 7, at + 14
    began = [min(concluded_at, first), min(concluded_at, second)]

    def versions_of(slot: str) -> list[str]:
        return [version_id("t", slot, began[number], stamp) for number, stamp in enumerate((first, second))]

    episodes, mistakes = versions_of(f"episode|{INCIDENT}"), versions_of(f"mistake|0|{INCIDENT}")
    copy = version_id("t", f"episode|{INCIDENT}", began[1], third)
    lesson, playbook = versions_of(f"lesson|{INCIDENT}")[1], versions_of(f"playbook|{INCIDENT}")[1]
    rule = version_id("t", "rule|missing-test", began[1], second)
    fact = version_id("t", SLOT, STARTED_AT, first)
    compacted = version_id("t", SLOT, STARTED_AT, first - 1)
    names = {first: "event-1", second: "event-2", third: "event-3"}

    def version(identity: str, slot: str, began: int, at: int, gone: int = FOREVER, **more: Any) -> dict[str, Any]:
        return {
            "version_id": identity, "slot": slot, "t_valid": began, "t_invalid": FOREVER, "t_created": at,
            "t_expired": gone, "source": names[at], "status": "active", "confidence_score": 1.0, "said_at": at, **more,
        }  # fmt: skip

    def of_episode(number: int) -> dict[str, Any]:
        return {"episode_id": episodes[number], "incident": INCIDENT}

    body = orjson.dumps({"title": "It broke", "concluded_at": instant(concluded_at).isoformat()}).decode()
    told: dict[str, Any] = {"body": body, "concluded_at": concluded_at, "incident": INCIDENT}
    mention = {"version_id": episodes[1], "role": "affected", "t_valid": began[1], "t_created": second,
               "t_expired": third}  # fmt: skip
    versions = (*episodes, copy, fact, compacted)
    nodes = [
        *_entries(versions, (first, second, third), began[1]),
        Node("Purge", {"event_id": "event-3", "origin": "hoaxer", "since": second, "at": third, "block": True,
                       "unblocked_at": FOREVER, "source": "event-3"}),
        Node("Incident", {"key": INCIDENT, "event_id": "event-2", "revised_at": second, "episode_id": copy,
                          "t_valid": began[1], "said_at": second}),
        Node("MemoryEntity", {"key": "service:a", "t_created": first, "source": "event-1"},
             (Edge("ALIAS_OF", {"t_created": third, "t_expired": FOREVER, "source": "event-3"}, "MemoryEntity", "a"),)),
        Node("MemoryEntity", {"key": "host:b", "t_created": first, "source": "event-1"}),
        Node("MemoryEntity", {"key": "a", "t_created": third, "source": "event-3"}),
        Node("Observation", {"observation_id": "observation-1", "slot": SLOT, "object": "host:b",
                             "event_id": "event-1", "revised_at": first, "trust": 0.3, "t_created": first,
                             "t_retracted": second, "said_at": first, "valid_from": STARTED_AT}),
        Node("MemoryEpisode", version(episodes[0], f"episode|{INCIDENT}", began[0], first, second, **told)),
        Node("MemoryEpisode", version(episodes[1], f"episode|{INCIDENT}", began[1], second, third, **told),
             (Edge("MENTIONS", mention, "MemoryEntity", "service:a"),
              Edge("RESOLVED_BY", {"t_created": second}, "MemoryEntity", "service:a"))),
        Node("MemoryEpisode", version(copy, f"episode|{INCIDENT}", began[1], third, **{**told, "said_at": second},
                                      copy_of=episodes[1]),
             (Edge("SUPERSEDES", {"version_id": version_id("t", "x", STARTED_AT, third), "t_valid": STARTED_AT,
                                  "t_created": third}, "MemoryEpisode", episodes[0]),)),
        _fact(fact, compacted, first, second),
        Node("MemoryLesson", version(lesson, f"lesson|{INCIDENT}", began[1], second, **of_episode(1), text="x"),
             (Edge("RESTS_ON", {"t_created": second}, "MemoryEpisode", episodes[1]),)),
        Node("MemoryPlaybook", version(playbook, f"playbook|{INCIDENT}", began[1], second, **of_episode(1),
                                       steps=["undo"])),
        Node("MemoryMistake", version(mistakes[0], f"mistake|0|{INCIDENT}", began[0], first, second, **of_episode(0))),
        Node("MemoryMistake", version(mistakes[1], f"mistake|0|{INCIDENT}", began[1], second, **of_episode(1))),
        Node("MemoryRule", version(rule, "rule|missing-test", began[1], second, rests_on=[mistakes[1]], incidents=1),
             (Edge("RESTS_ON", {"t_created": second}, "MemoryMistake", mistakes[1]),)),
    ]  # fmt: skip
    points = _points(episodes, (first, second), (second, third), began)
    return Memory(nodes, points, {"graph": first, "embed": first})


def _entries(versions: Sequence[str], admitted: Sequence[int], began: int) -> list[Node]:
    """What is published, corrected, and superseded, with what it came to."""
    before, corrected, copy, fact, compacted = versions
    first, second, third = admitted
    result = {"t_created": second, "change": "corrected", "episode_id": corrected, "t_valid": began,
              "expired": [before], "facts_made": [{"version_id": fact, "slot": SLOT}],
              "facts_expired": [{"version_id": compacted, "slot": SLOT}]}  # fmt: skip
    reversion = {"incident": INCIDENT, "made": copy, "expired": corrected, "t_valid": began}
    applied = {"t_created": third, "change": "applied", "reversions": [reversion], "counts": {"episodes_made": 1}}
    return [
        Node("Entry", {"event_id": "event-1", "t_created": first, "result": "{}"}),
        Node("Entry", {"event_id": "event-2", "t_created": second, "result": orjson.dumps(result).decode()}),
        Node("Entry", {"event_id": "event-3", "t_created": third, "result": orjson.dumps(applied).decode()}),
    ]


def _fact(fact: str, predecessor: str, first: int, second: int) -> Node:
    """What was believed between two entries of what a service runs on."""
    linked = {"version_id": fact, "t_valid": STARTED_AT, "t_invalid": FOREVER, "t_created": first, "t_expired": second,
              "source": "event-1", "status": "active", "confidence_score": 1.0}  # fmt: skip
    known = {"slot": SLOT, "subject": "service:a", "predicate": "runs_on", "object": "host:b", "founder": INCIDENT}
    closed = {"invalidated_at": second, "invalidated_by_event": "event-2", "superseded_by": [fact],
              "supersedes": [predecessor]}  # fmt: skip
    ends = (Edge("SUBJECT", linked, "MemoryEntity", "service:a"), Edge("OBJECT", linked, "MemoryEntity", "host:b"))
    return Node("MemoryFact", {**linked, **known, **closed}, ends)


def _points(episodes: Sequence[str], made: Sequence[int], closed: Sequence[int], began: Sequence[int]) -> list[Point]:
    return [
        Point({"version_id": identity, "generation": "g1", "tenant": "t", "t_created": stamp, "t_expired": gone,
               "t_valid": start, "slot": f"episode|{INCIDENT}", "text": "It broke", "said_at": stamp}, [0.1, 0.2],
              {7: 0.5, 3: 1.5})
        for identity, stamp, gone, start in zip(episodes, made, closed, began, strict=True)
    ]  # fmt: skip


def of_tables(tables: Tables, compacted_before: int = 0) -> Memory:
    """The memory that a graph with these tables has, after a compaction."""
    labels = {
        label: [row for row in rows if label not in VERSIONED or row["t_expired"] > compacted_before]
        for label, rows in tables.by_label().items()
    }
    kept = {row["version_id"] for label in VERSIONED for row in labels.get(label, ())}
    edges: dict[str, list[Edge]] = defaultdict(list)
    for kind, row in tables.edges:
        label = "MemoryEpisode" if kind == "SUPERSEDES" else "MemoryEntity"
        if label not in VERSIONED or row["to"] in kept:
            properties = {name: value for name, value in row.items() if name not in ("from", "to")}
            edges[row["from"]].append(Edge(kind, properties, label, row["to"]))
    nodes = []
    for label, rows in labels.items():
        for row in rows:
            # The graph has no property that is null.
            node = Node(label, {name: value for name, value in row.items() if value is not None})
            nodes.append(Node(node.label, node.properties, tuple(edges.get(node.identity, ()))))
    return Memory(nodes, [], {"graph": compacted_before, "embed": compacted_before})
