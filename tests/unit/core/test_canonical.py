"""The export tells equal memories from different ones, down to a byte of an item."""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.incidents import incident
from tests.unit.core.exported_memories import INCIDENT, SLOT, Memory, memory, of_tables
from tests.unit.core.random_histories import histories
from tests.unit.core.temporal_histories import Entry, remember
from twiceshy.core.canonical import Edge, Node, canonical_lines
from twiceshy.core.temporal import FOREVER
from twiceshy.events.quarantine import IncidentQuarantined, QuarantineReason, QuarantineState

NODES = len(memory().nodes)


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


def changes_of(node: Node) -> Iterator[tuple[str, Node]]:
    """A node with one thing changed, for each thing that can be: its properties, and its edges."""
    for name, value in node.properties.items():
        yield f"{node.label}.{name}", replace(node, properties={**node.properties, name: changed(value)})
    for number, edge in enumerate(node.edges):
        others = [replace(edge, properties={**edge.properties, name: changed(value)})
                  for name, value in edge.properties.items()]  # fmt: skip
        others += [replace(edge, to=edge.to + "x"), replace(edge, type="X"), replace(edge, to_label="X")]
        for other in others:
            yield f"{node.label} {edge.type}", replace(node, edges=with_at(node.edges, number, other))
        yield f"{node.label} without {edge.type}", replace(node, edges=node.edges[:number] + node.edges[number + 1 :])
        yield f"{node.label} twice {edge.type}", replace(node, edges=(*node.edges, edge))


def with_at(edges: tuple[Edge, ...], number: int, edge: Edge) -> tuple[Edge, ...]:
    return (*edges[:number], edge, *edges[number + 1 :])


def every_change() -> Iterator[tuple[str, Memory]]:
    """The memory with one thing changed, for each thing that can be: properties, edges, payloads, vectors, horizon."""
    nodes, points, horizons = memory()
    for at, node in enumerate(nodes):
        for what, other in changes_of(node):
            yield what, Memory([*nodes[:at], other, *nodes[at + 1 :]], points, horizons)
    for point in points:
        others = [replace(point, payload={**point.payload, name: changed(value)})
                  for name, value in point.payload.items() if name != "generation"]  # fmt: skip
        others += [
            replace(point, dense=[0.1, 0.20000002]),
            replace(point, dense=None),
            replace(point, lexical={7: 0.5, 3: 1.5000001}),
            replace(point, lexical={8: 0.5, 3: 1.5}),
        ]
        for other_point in others:
            yield "point", Memory(nodes, [other_point if kept is point else kept for kept in points], horizons)
    for stage, horizon in horizons.items():
        yield "horizon", Memory(nodes, points, {**horizons, stage: horizon + 1})
    yield "horizon", Memory(nodes, points, {})


def lines_of(memory: Memory) -> list[Any]:
    return [orjson.loads(line) for line in canonical_lines(*memory)]


def fact_among(nodes: list[Node]) -> Node:
    return next(node for node in nodes if node.label == "MemoryFact")


def lines_of_fact(fact: Node) -> list[Any]:
    return lines_of(Memory([fact], [], {}))


def test_one_byte_of_one_item_makes_another_export() -> None:
    expected = canonical_lines(*memory())
    same = [what for what, changed_memory in every_change() if canonical_lines(*changed_memory) == expected]
    assert same == []


@pytest.mark.parametrize("lose", range(NODES))
def test_lost_node_makes_another_export(lose: int) -> None:
    nodes, points, horizons = memory()
    assert canonical_lines(nodes[:lose] + nodes[lose + 1 :], points) != canonical_lines(nodes, points, horizons)


@given(histories(), st.integers(0, 999))
def test_any_change_of_any_memory_makes_another_export(history: list[Entry], seed: int) -> None:
    chance = random.Random(seed)
    nodes, points, horizons = of_tables(remember(history).tables)
    at = chance.randrange(len(nodes))
    what, other = chance.choice(list(changes_of(nodes[at])))
    after = canonical_lines([*nodes[:at], other, *nodes[at + 1 :]], points, horizons)
    assert after != canonical_lines(nodes, points, horizons), what


@given(histories(), st.integers(0, 999), st.booleans())
def test_order_in_which_the_stores_answer_does_not_count(history: list[Entry], seed: int, system_time: bool) -> None:
    chance = random.Random(seed)

    def mixed(items: Any) -> list[Any]:
        return chance.sample(list(items), len(items))

    by_hand, folded = memory(), of_tables(remember(history).tables)
    nodes, points = by_hand.nodes + folded.nodes, by_hand.points
    others = [
        replace(node, properties=dict(mixed(node.properties.items())), edges=tuple(mixed(node.edges))) for node in nodes
    ]
    expected = canonical_lines(nodes, points, by_hand.horizons, system_time=system_time)
    assert expected == canonical_lines(mixed(others), mixed(points), by_hand.horizons, system_time=system_time)


def test_generation_is_no_part_of_a_memory() -> None:
    nodes, points, horizons = memory()
    rebuilt = [replace(point, payload={**point.payload, "generation": "g2"}) for point in points]
    assert canonical_lines(nodes, rebuilt, horizons) == canonical_lines(nodes, points, horizons)


@pytest.mark.parametrize("system_time", [True, False])
def test_lines_are_json_with_sorted_keys(system_time: bool) -> None:
    for line in canonical_lines(*memory(), held=[held()], system_time=system_time):
        assert orjson.dumps(orjson.loads(line), option=orjson.OPT_SORT_KEYS) == line


def test_nodes_come_first_then_edges_points_the_horizon_and_what_is_held() -> None:
    lines = [orjson.loads(line) for line in canonical_lines(*memory(), held=[held()])]
    kinds = [next(kind for kind in ("node", "edge", "point", "horizon", "quarantined") if kind in line)
             for line in lines]  # fmt: skip
    assert list(dict.fromkeys(kinds)) == ["node", "edge", "point", "horizon", "quarantined"]
    assert sorted(kinds, key=list(dict.fromkeys(kinds)).index) == kinds
    assert [line["edge"] for line in lines if "edge" in line] == [
        "ALIAS_OF",
        "MENTIONS",
        "RESOLVED_BY",
        "RESTS_ON",
        "RESTS_ON",
        "SUPERSEDES",
        "runs_on",
    ]


def test_edge_says_what_it_joins() -> None:
    [alias] = [line for line in lines_of(memory()) if line.get("edge") == "ALIAS_OF"]
    ends = {name: alias[name] for name in ("from_node", "from", "to_node", "to")}
    assert ends == {"from_node": "MemoryEntity", "from": "service:a", "to_node": "MemoryEntity", "to": "a"}


def test_fact_is_an_edge_whose_label_is_its_predicate() -> None:
    fact = fact_among(memory().nodes)
    rest = {name: value for name, value in fact.properties.items() if name not in ("subject", "predicate", "object")}
    expected = {
        "edge": "runs_on",
        "id": fact.properties["version_id"],
        "from": "service:a",
        "to": "host:b",
        "to_entity": True,
        "properties": rest,
    }
    assert [expected] == lines_of_fact(fact)
    assert (rest["slot"], rest["founder"], rest["t_invalid"]) == (SLOT, INCIDENT, FOREVER)


def test_fact_about_a_value_is_an_edge_that_ends_at_no_entity() -> None:
    fact = fact_among(memory().nodes)
    about_a_value = replace(fact, edges=tuple(edge for edge in fact.edges if edge.type == "SUBJECT"))
    [line] = lines_of_fact(about_a_value)
    assert [{**line, "to_entity": True}] == lines_of_fact(fact)
    assert line["to_entity"] is False


def test_fact_whose_edges_say_something_else_is_told_as_the_graph_has_it() -> None:
    fact = fact_among(memory().nodes)
    subject, thing = fact.edges
    late = replace(thing, properties={**thing.properties, "t_expired": FOREVER})
    node, *edges = lines_of_fact(replace(fact, edges=(subject, late)))
    assert {"node": "MemoryFact", "id": fact.identity, "properties": fact.properties} == node
    assert [("OBJECT", "host:b", FOREVER), ("SUBJECT", "service:a", subject.properties["t_expired"])] == [
        (edge["edge"], edge["to"], edge["properties"]["t_expired"]) for edge in edges
    ]


@pytest.mark.parametrize("horizons", [{}, {"graph": 0, "lesson": 0, "consolidate": 0, "embed": 0}])
def test_memory_that_was_never_compacted_has_no_horizon(horizons: dict[str, int]) -> None:
    assert canonical_lines([], [], horizons) == []


def test_horizon_is_one_line_of_the_stages_that_have_one() -> None:
    assert canonical_lines([], [], {"graph": 9, "lesson": 0, "embed": 7}) == [b'{"horizon":{"embed":7,"graph":9}}']


def held(state: QuarantineState = QuarantineState.PENDING) -> IncidentQuarantined:
    said = incident(1)
    return IncidentQuarantined(
        item_id="item-1",
        event_id="event-9",
        tenant="default",
        origin=said.origin.name,
        content_hash="x",
        incident=said,
        reasons=(QuarantineReason(rule="invisible-text", category="prompt-injection"),),
        held_at=1,
        expires_at=2,
        state=state,
    )


@pytest.mark.parametrize("state", QuarantineState)
def test_item_in_quarantine_is_a_line_that_says_so(state: QuarantineState) -> None:
    [line] = canonical_lines([], [], held=[held(state)])
    told = orjson.loads(line)
    assert ("item-1", state.value, 1, 2) == (
        told["quarantined"], told["state"], told["held_at"], told["expires_at"])  # fmt: skip
    assert told["reasons"] == [{"rule": "invisible-text", "category": "prompt-injection"}]
    assert incident(1) == type(incident(1)).model_validate(told["incident"])
    assert {"node", "edge", "point", "id"}.isdisjoint(told)


def test_item_in_quarantine_has_no_times_of_the_clock_without_system_time() -> None:
    later = held().model_copy(update={"held_at": 3, "expires_at": 4})
    one, other = (canonical_lines([], [], held=[item], system_time=False) for item in (held(), later))
    assert one == other
