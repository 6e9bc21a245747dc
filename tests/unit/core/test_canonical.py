"""The export tells equal memories from different ones, down to a byte of an item."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from twiceshy.core.canonical import Edge, Node, Point, canonical_lines
from twiceshy.core.ids import version_id
from twiceshy.core.temporal import FOREVER
from twiceshy.events.common import instant

STARTED_AT = 1_700_000_000_000
INCIDENT = "pagerduty/1"
Memory = tuple[list[Node], list[Point]]


def memory(at: int = STARTED_AT + 5_000, concluded_at: int = STARTED_AT) -> Memory:
    """One incident published twice with other content, admitted at ``at`` and ``at + 7``: every kind of node.

    It was over at ``concluded_at``; an episode cannot begin later than it is admitted.
    """
    first, second = at, at + 7
    began = [min(concluded_at, first), min(concluded_at, second)]
    episodes = [
        version_id("t", f"episode|{INCIDENT}", began[index], stamp) for index, stamp in enumerate((first, second))
    ]
    mistakes = [
        version_id("t", f"mistake|0|{INCIDENT}", began[index], stamp) for index, stamp in enumerate((first, second))
    ]
    fact = version_id("t", "fact|service:a|size", STARTED_AT, first)
    rule = version_id("t", "rule|missing-test", began[1], second)
    lesson = version_id("t", f"lesson|{INCIDENT}", began[1], second)
    playbook = version_id("t", f"playbook|{INCIDENT}", began[1], second)

    def version(identity: str, slot: str, began: int, at: int, gone: int = FOREVER, **more: Any) -> dict[str, Any]:
        return {
            "version_id": identity, "slot": slot, "t_valid": began, "t_invalid": FOREVER, "t_created": at,
            "t_expired": gone, "source": "event-1" if at == first else "event-2", **more,
        }  # fmt: skip

    body = orjson.dumps({"title": "It broke", "concluded_at": instant(concluded_at).isoformat()}).decode()
    mention = {
        "version_id": episodes[1],
        "role": "affected",
        "t_valid": began[1],
        "t_created": second,
        "t_expired": FOREVER,
    }
    made = {"version_id": fact, "slot": "fact|service:a|size"}
    result = {"t_created": second, "change": "corrected", "episode_id": episodes[1], "t_valid": began[1],
              "expired": [episodes[0]], "facts_made": [made]}  # fmt: skip
    nodes = [
        Node("Entry", {"event_id": "event-1", "t_created": first, "result": "{}"}),
        Node("Entry", {"event_id": "event-2", "t_created": second, "result": orjson.dumps(result).decode()}),
        Node("Incident", {"key": INCIDENT, "event_id": "event-2", "revised_at": second, "episode_id": episodes[1],
                          "t_valid": began[1]}),
        Node("MemoryEntity", {"key": "service:a", "t_created": first, "source": "event-1"}),
        Node("Observation", {"observation_id": "observation-1", "slot": "fact|service:a|size", "object": "3",
                             "event_id": "event-1", "revised_at": first, "trust": 0.3, "t_created": first,
                             "t_retracted": second}),
        Node("MemoryEpisode", version(episodes[0], f"episode|{INCIDENT}", began[0], first, second,
                                      body=body, concluded_at=concluded_at)),
        Node("MemoryEpisode", version(episodes[1], f"episode|{INCIDENT}", began[1], second, body=body,
                                      concluded_at=concluded_at),
             (Edge("MENTIONS", mention, "MemoryEntity", "service:a"),
              Edge("RESOLVED_BY", {"t_created": second}, "MemoryEntity", "service:a"))),
        Node("MemoryFact", version(fact, "fact|service:a|size", STARTED_AT, first, second, object="3",
                                   invalidated_at=second, invalidated_by_event="event-2", superseded_by=[fact],
                                   supersedes=[]),
             (Edge("SUBJECT", {"version_id": fact, "t_created": first}, "MemoryEntity", "service:a"),)),
        Node("MemoryLesson", version(lesson, f"lesson|{INCIDENT}", began[1], second, episode_id=episodes[1], text="x"),
             (Edge("RESTS_ON", {"t_created": second}, "MemoryEpisode", episodes[1]),)),
        Node("MemoryPlaybook", version(playbook, f"playbook|{INCIDENT}", began[1], second, episode_id=episodes[1],
                                       steps=["undo"])),
        Node("MemoryMistake", version(mistakes[0], f"mistake|0|{INCIDENT}", began[0], first, second,
                                      episode_id=episodes[0])),
        Node("MemoryMistake", version(mistakes[1], f"mistake|0|{INCIDENT}", began[1], second, episode_id=episodes[1])),
        Node("MemoryRule", version(rule, "rule|missing-test", began[1], second, rests_on=[mistakes[1]], incidents=1),
             (Edge("RESTS_ON", {"t_created": second}, "MemoryMistake", mistakes[1]),)),
    ]  # fmt: skip
    points = [
        Point({"version_id": identity, "generation": "g1", "tenant": "t", "t_created": stamp, "t_expired": gone,
               "t_valid": start, "slot": f"episode|{INCIDENT}", "text": "It broke"}, [0.1, 0.2], {7: 0.5, 3: 1.5})
        for identity, stamp, gone, start in zip(episodes, (first, second), (second, FOREVER), began, strict=True)
    ]  # fmt: skip
    return nodes, points


def changed(value: Any) -> Any:
    """``value`` with the least possible change."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + 0.001
    if isinstance(value, str):
        return value + " "
    return [*value, "x"]


def every_change() -> Iterator[tuple[str, Memory]]:
    """The memory with one thing changed, for each thing that can be: properties, edges, payloads, vectors."""
    nodes, points = memory()
    for at, node in enumerate(nodes):
        for name, value in node.properties.items():
            other = replace(node, properties={**node.properties, name: changed(value)})
            yield f"{node.label}.{name}", ([*nodes[:at], other, *nodes[at + 1 :]], points)
        for number, edge in enumerate(node.edges):
            others = [replace(edge, properties={**edge.properties, name: changed(value)})
                      for name, value in edge.properties.items()]  # fmt: skip
            others += [replace(edge, to=edge.to + "x"), replace(edge, type="OBJECT"), replace(edge, to_label="X")]
            for other_edge in others:
                edges = (*node.edges[:number], other_edge, *node.edges[number + 1 :])
                other = replace(node, edges=edges)
                yield f"{node.label} {edge.type}", ([*nodes[:at], other, *nodes[at + 1 :]], points)
    for point in points:
        others_of_point = [replace(point, payload={**point.payload, name: changed(value)})
                           for name, value in point.payload.items() if name != "generation"]  # fmt: skip
        others_of_point += [
            replace(point, dense=[0.1, 0.20000002]),
            replace(point, dense=None),
            replace(point, lexical={7: 0.5, 3: 1.5000001}),
            replace(point, lexical={8: 0.5, 3: 1.5}),
        ]
        for other_point in others_of_point:
            yield "point", (nodes, [other_point if kept is point else kept for kept in points])


def test_one_byte_of_one_item_makes_another_export() -> None:
    expected = canonical_lines(*memory())
    same = [what for what, changed_memory in every_change() if canonical_lines(*changed_memory) == expected]
    assert same == []


@pytest.mark.parametrize("lose", range(13))
def test_lost_node_makes_another_export(lose: int) -> None:
    nodes, points = memory()
    assert canonical_lines(nodes[:lose] + nodes[lose + 1 :], points) != canonical_lines(nodes, points)


def test_order_in_which_the_stores_answer_does_not_count() -> None:
    nodes, points = memory()
    backwards = [
        replace(node, properties=dict(reversed(list(node.properties.items()))), edges=node.edges[::-1])
        for node in nodes[::-1]
    ]
    assert canonical_lines(backwards, points[::-1]) == canonical_lines(nodes, points)


def test_generation_is_no_part_of_a_memory() -> None:
    nodes, points = memory()
    rebuilt = [replace(point, payload={**point.payload, "generation": "g2"}) for point in points]
    assert canonical_lines(nodes, rebuilt) == canonical_lines(nodes, points)


@pytest.mark.parametrize("system_time", [True, False])
def test_lines_are_json_with_sorted_keys(system_time: bool) -> None:
    for line in canonical_lines(*memory(), system_time=system_time):
        assert orjson.dumps(orjson.loads(line), option=orjson.OPT_SORT_KEYS) == line


def test_equal_events_at_other_times_are_equal_without_system_time() -> None:
    other = memory(at=STARTED_AT + 86_400_000)
    assert canonical_lines(*other) != canonical_lines(*memory())
    assert canonical_lines(*other, system_time=False) == canonical_lines(*memory(), system_time=False)


def test_episode_that_was_admitted_before_it_was_over_is_the_same_as_one_admitted_after() -> None:
    over = STARTED_AT + 60_000
    early, late = memory(at=over - 50_000, concluded_at=over), memory(at=over + 50_000, concluded_at=over)
    assert canonical_lines(*early, system_time=False) == canonical_lines(*late, system_time=False)


def test_no_stamp_and_no_version_id_is_left_without_system_time() -> None:
    nodes, points = memory()
    text = b"\n".join(canonical_lines(nodes, points, system_time=False)).decode()
    stamps = {node.properties["t_created"] for node in nodes if node.label == "Entry"}
    versions = {node.properties["version_id"] for node in nodes if "version_id" in node.properties}
    assert [left for left in (*map(str, stamps), *versions) if left in text] == []


def test_edge_says_which_version_it_joins_without_system_time() -> None:
    lines = [orjson.loads(line) for line in canonical_lines(*memory(), system_time=False)]
    lesson = next(line for line in lines if line.get("node") == "MemoryLesson")
    episodes = [line["id"] for line in lines if line.get("node") == "MemoryEpisode"]
    assert lesson["edges"][0]["to"]["id"] in episodes
    assert len(set(episodes)) == 2


def test_what_does_not_derive_from_system_time_makes_another_export_without_it_too() -> None:
    expected = canonical_lines(*memory(), system_time=False)
    derived = ("version_id", "revised_at", "t_valid", "t_created", "result")
    same = [
        what
        for what, other in every_change()
        if "." in what and not what.endswith(derived) and canonical_lines(*other, system_time=False) == expected
    ]
    assert same == []
