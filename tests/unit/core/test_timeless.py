"""An export without system time: equal for equal events at other times, and different for all else."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core.exported_memories import STARTED_AT, Memory, memory, of_tables
from tests.unit.core.random_histories import histories
from tests.unit.core.temporal_histories import Entry, Published, Purged, Superseded, remember
from tests.unit.core.test_canonical import every_change
from twiceshy.core.canonical import Node, canonical_lines
from twiceshy.core.temporal import FOREVER
from twiceshy.core.timeless import COMPACTED, Timeless

HOUR = 3_600_000
LATER = 86_400_000


def timeless(told: Memory) -> list[bytes]:
    return canonical_lines(*told, system_time=False)


def lines_of(told: Memory, kind: str, label: str) -> list[Any]:
    return [line for line in map(orjson.loads, timeless(told)) if line.get(kind) == label]


def properties_of(told: Memory, label: str) -> list[Any]:
    return [line["properties"] for line in lines_of(told, "node", label)]


def moved(history: Sequence[Entry], by: int) -> list[Entry]:
    """The same history, admitted at another time; what it says of the world stays."""
    others: list[Entry] = []
    for entry in history:
        stamps = {name: getattr(entry, name, None) for name in ("admitted_at", "since")}
        changes: dict[str, Any] = {name: stamp + by for name, stamp in stamps.items() if stamp is not None}
        others.append(replace(entry, **changes))
    return others


def test_equal_events_at_other_times_are_equal_without_system_time() -> None:
    other = memory(at=STARTED_AT + LATER)
    assert canonical_lines(*other) != canonical_lines(*memory())
    assert timeless(other) == timeless(memory())


def test_episode_that_was_admitted_before_it_was_over_is_the_same_as_one_admitted_after() -> None:
    over = STARTED_AT + 60_000
    early, late = memory(at=over - 50_000, concluded_at=over), memory(at=over + 50_000, concluded_at=over)
    assert timeless(early) == timeless(late)


@given(histories(), st.integers(1, LATER), st.data())
def test_any_history_at_another_time_is_equal_without_system_time(
    history: list[Entry], by: int, data: st.DataObject
) -> None:
    """Compacted too, up to the same place of the history."""
    one, other = remember(history), remember(moved(history, by))
    before = data.draw(st.sampled_from([0, *one.stamps]))
    memories = [of_tables(one.tables, before), of_tables(other.tables, before + by if before else 0)]
    assert canonical_lines(*memories[0]) != canonical_lines(*memories[1])
    assert timeless(memories[0]) == timeless(memories[1])


def test_no_stamp_and_no_version_id_is_left_without_system_time() -> None:
    told = memory()
    text = b"\n".join(timeless(told)).decode()
    stamps = {node.properties["t_created"] for node in told.nodes if node.label == "Entry"}
    versions = {node.properties["version_id"] for node in told.nodes if "version_id" in node.properties}
    assert [left for left in (*map(str, stamps), *versions) if left in text] == []


def test_edge_says_which_version_it_joins_without_system_time() -> None:
    told = memory()
    [lesson, rule] = lines_of(told, "edge", "RESTS_ON")
    episodes, mistakes = (
        [line["id"] for line in lines_of(told, "node", label)] for label in ("MemoryEpisode", "MemoryMistake")
    )
    assert lesson["to"] in episodes
    assert rule["to"] in mistakes
    assert len(set(episodes)) == 3


def test_what_does_not_derive_from_system_time_makes_another_export_without_it_too() -> None:
    expected = timeless(memory())
    derived = ("version_id", "revised_at", "t_valid", "t_created", "result", "since")
    same = [
        what
        for what, other in every_change()
        if "." in what and not what.endswith(derived) and timeless(other) == expected
    ]
    assert same == []


def test_purge_is_told_by_the_events_that_it_lies_between() -> None:
    [purge] = properties_of(memory(), "Purge")
    assert {"since": "event-2", "purged_by": "event-3", "unblocked_by": None}.items() <= purge.items()


@pytest.mark.parametrize(("since", "expected"), [(0, None), (1, "event-1"), (FOREVER, "event-3")])
def test_purge_reaches_back_to_the_first_event_since_its_moment(since: int, expected: Any) -> None:
    nodes, points, horizons = memory()
    others = [
        replace(node, properties={**node.properties, "since": since}) if node.label == "Purge" else node
        for node in nodes
    ]
    assert [expected] == [purge["since"] for purge in properties_of(Memory(others, points, horizons), "Purge")]


@pytest.mark.parametrize(("behind", "expected"), [(-1, None), (0, "event-1"), (6, "event-1"), (HOUR, "event-3")])
def test_horizon_is_told_by_the_last_event_that_it_lies_behind(behind: int, expected: str | None) -> None:
    told = memory()
    horizon = STARTED_AT + 5_000 + behind
    *_, line = map(orjson.loads, timeless(Memory(told.nodes, told.points, {"embed": horizon})))
    assert {"horizon": {"embed": expected}} == line


def test_version_that_was_compacted_has_no_name() -> None:
    [fact] = lines_of(memory(), "edge", "runs_on")
    [corrected] = [entry["result"] for entry in properties_of(memory(), "Entry") if "expired" in entry["result"]]
    assert fact["properties"]["supersedes"] == [COMPACTED]
    assert [version["version"] for version in corrected["facts_expired"]] == [COMPACTED]
    assert [fact["id"]] == [version["version"] for version in corrected["facts_made"]]


def test_start_of_an_episode_that_was_compacted_is_not_told_beside_its_entry() -> None:
    nodes, points, horizons = memory()
    [_, gone, _] = [node.identity for node in nodes if node.label == "MemoryEpisode"]
    left = Memory([node for node in nodes if node.identity != gone], points, horizons)
    starts = [entry["result"].get("t_valid", "none") for entry in properties_of(left, "Entry")]
    assert starts == ["none", None, "none"]


def test_reversion_beside_an_entry_is_told_by_the_names_of_its_versions() -> None:
    told = memory()
    episodes = [line["id"] for line in lines_of(told, "node", "MemoryEpisode")]
    [applied] = [entry["result"] for entry in properties_of(told, "Entry") if "reversions" in entry["result"]]
    [reversion] = applied["reversions"]
    assert {reversion["made"], reversion["expired"]} <= set(episodes)
    assert (reversion["t_valid"], applied["counts"]) == (STARTED_AT, {"episodes_made": 1})


def test_text_that_looks_like_the_id_of_a_version_stays_as_it_is() -> None:
    told = memory()
    [fact] = [node for node in told.nodes if node.label == "MemoryFact"]
    names = Timeless((node.label, node.properties) for node in told.nodes)
    assert {"text": fact.identity} == names.properties({"text": fact.identity}, of="")
    assert names.identity(fact.identity) != fact.identity


def superseding(admitted_at: int, named: int = 3 * HOUR) -> list[Entry]:
    """An incident superseded from hour 2 on by one that begins then, and by a person from the time named on."""
    return [
        Published("p/0", "event-1", admitted_at),
        Published("p/1", "event-2", admitted_at + 1, starts_at=2 * HOUR, supersedes=("p/0",)),
        Published("p/2", "event-3", admitted_at + 2),
        Superseded("p/0", "p/2", named, admitted_at + 3),
    ]


def test_successor_that_was_admitted_before_it_began_is_the_same_as_one_admitted_after() -> None:
    early, late = (of_tables(remember(superseding(at)).tables) for at in (HOUR, 10 * HOUR))
    [until] = {node.properties["t_invalid"] for node in early.nodes if node.properties.get("incident") == "p/0"
               and node.properties.get("t_expired") == FOREVER}  # fmt: skip
    assert until == HOUR + 1
    assert timeless(early) == timeless(late)


def test_moment_that_a_person_names_for_a_supersession_is_told() -> None:
    one, other = (of_tables(remember(superseding(HOUR, named)).tables) for named in (3 * HOUR, 4 * HOUR))
    assert timeless(one) != timeless(other)


def test_purge_of_other_events_is_another_memory() -> None:
    said: list[Entry] = [Published(f"p/{number}", f"event-{number}", 100 + number) for number in range(3)]
    one, other = ([*said, Purged("p", 200, since=since)] for since in (101, 102))
    assert timeless(of_tables(remember(one).tables)) != timeless(of_tables(remember(other).tables))


def test_stamp_of_no_entry_is_told_as_it_is() -> None:
    nodes = [Node("MemoryEntity", {"key": "a", "t_created": 7})]
    assert properties_of(Memory(nodes, [], {}), "MemoryEntity") == [{"key": "a", "created_by": 7}]
