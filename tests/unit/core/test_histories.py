"""Random histories of log entries, recorded: the memory answers every question as an oracle of points does.

What is published comes late, again, corrected, and with less in it; origins are purged, wholly or from a moment on, and
turned away; names become one and cease to; people say which incident takes another's place.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.core.counterexamples import counterexample, known, lived
from tests.unit.core.oracle import Oracle, winners
from tests.unit.core.random_histories import (
    INCIDENTS,
    LARGE,
    MANY,
    OBJECTS,
    REGION,
    SINGLE,
    SUBJECTS,
    histories,
    publications,
)
from tests.unit.core.recorded_tables import Tables
from tests.unit.core.temporal_histories import (
    LAST_POINT,
    Entry,
    Published,
    logged,
    remember,
)
from twiceshy.core.aliases import Names
from twiceshy.core.facts import FACT, claimed, fact_slot
from twiceshy.core.temporal import FOREVER, Observation, Version, answer, believed

EXAMPLES = 10_000 if os.environ.get("CI") == "true" else 200


@given(histories())
@settings(max_examples=EXAMPLES)
def test_memory_has_of_every_moment_what_an_oracle_of_points_has(history: list[Entry]) -> None:
    assert counterexample(history) is None


@given(histories())
@settings(max_examples=EXAMPLES // 20)
def test_every_name_is_answered_at_every_point_of_world_time_as_known_at_every_moment(history: list[Entry]) -> None:
    memory, oracle = remember(history), Oracle()
    versions: dict[str, list[Version]] = defaultdict(list)
    for version in memory.versions:
        versions[version.slot].append(version)
    for entry, stamp in zip(history, memory.stamps, strict=True):
        oracle.read(entry)
        slots, sets, known_at = oracle.slots(), oracle.names(), oracle.watermark
        names = Names.at(memory.tables.aliases(), known_at)
        for subject in SUBJECTS:
            for predicate in (SINGLE, REGION):
                points = winners(slots[sets.called(subject), predicate])
                expected = [point and point[0] for point in points]
                slot = fact_slot(names, subject, predicate, "", many=False)
                assert expected == asked(versions[slot], known_at), stamp
            for thing in OBJECTS:
                points = winners(slots[sets.called(subject), MANY, sets.called(thing)])
                expected = [point and point[0] for point in points]
                slot = fact_slot(names, subject, MANY, thing, many=True)
                assert expected == asked(versions[slot], known_at), stamp


def asked(versions: Sequence[Version], known_at: int) -> list[str | None]:
    """What a slot, all of whose versions these are, answers at each point."""
    found = [answer(versions, point, known_at) for point in range(LAST_POINT + 1)]
    return [version.object if version else None for version in found]


@given(histories())
def test_versions_of_every_moment_are_what_is_believed_of_the_observations_of_that_moment(
    history: list[Entry],
) -> None:
    memory = remember(history)
    versions = memory.versions
    for moment in {each for stamp in memory.stamps for each in (stamp - 1, stamp)}:
        by_slot = observed(memory.tables, moment)
        found = defaultdict(list)
        for version in versions:
            if version.t_created <= moment < version.t_expired:
                found[version.slot].append(version.segment)
        for slot in by_slot.keys() | found.keys():
            assert list(believed(by_slot[slot])) == sorted(found[slot], key=lambda segment: segment.start)


def observed(tables: Tables, known_at: int) -> dict[str, list[Observation]]:
    """The observations of a moment by slot, by the names of then."""
    names = Names.at(tables.aliases(), known_at)
    by_slot: dict[str, list[Observation]] = defaultdict(list)
    for row in tables.observations.values():
        if row["slot"].startswith(FACT) and row["t_created"] <= known_at < row["t_retracted"]:
            seen = claimed(row, names).seen
            by_slot[seen.slot].append(seen)
    return by_slot


@given(publications().flatmap(lambda said: st.tuples(st.just(said), st.permutations(said))))
def test_order_in_which_incidents_arrive_cannot_change_what_is_believed_now(
    orders: tuple[Sequence[Published], Sequence[Published]],
) -> None:
    one, other = (known(lived(remember(order).tables), FOREVER - 1) for order in orders)
    for believed_now in (one, other):
        believed_now["observations"] = sorted(row[:-1] for row in believed_now["observations"])
    assert one == other


@given(publications())
def test_incident_that_says_the_same_again_makes_no_version(said: list[Published]) -> None:
    alone = [replace(entry, incident=INCIDENTS[0]) for entry in said]
    counting = max(alone, key=lambda entry: (entry.revised_at, entry.event_id))
    again = replace(counting, event_id="later", ce_time=counting.revised_at)
    before, after = remember(alone), remember([*alone, again])
    assert before.versions == after.versions
    assert before.tables.episodes == after.tables.episodes


@given(histories())
def test_nothing_that_was_written_is_changed_but_for_its_end(history: list[Entry]) -> None:
    tables = Tables()
    for entry in logged(history):
        before = [(row, dict(row)) for row in rows_of(tables)]
        tables.remember(entry)
        for row, written in before:
            ended = {name for name in written if row[name] != written[name]}
            assert ended <= {"t_expired", "t_retracted", "invalidated_at", "invalidated_by_event", "superseded_by"}
            assert not ended or FOREVER in (written.get("t_expired"), written.get("t_retracted"))


def rows_of(tables: Tables) -> list[dict[str, object]]:
    tabled = (tables.entries, tables.episodes, tables.observations, tables.facts, tables.entities)
    return [row for table in tabled for row in table.values()] + [edge for _, edge in tables.edges]


def test_large_histories_say_eight_things_of_a_slot_in_the_median() -> None:
    said: list[int] = []

    @given(histories().filter(lambda history: len(history) >= LARGE))
    @settings(max_examples=200, derandomize=True, database=None)
    def collect(history: list[Entry]) -> None:
        said.extend(len(standing) for standing in observed(remember(history).tables, FOREVER - 1).values())

    collect()
    assert median(said) >= 8


def test_random_histories_have_all_that_can_happen_to_a_memory() -> None:
    happened: Counter[str] = Counter()

    @given(histories())
    @settings(max_examples=300, derandomize=True, database=None)
    def collect(history: list[Entry]) -> None:
        tables = remember(history).tables
        for event_id, row in tables.entries.items():
            result = tables.result(event_id)
            moved = " moved" if any(result.counts.values()) or result.reversions else ""
            happened[f"{row['kind']} {result.reason or result.change}{moved}"] += 1
        happened["given back"] += any(row["said_at"] != row["t_created"] for row in tables.observations.values())

    collect()
    assert not EXPECTED - happened.keys()
    assert happened["given back"] > 10


EXPECTED = {
    *(f"incident {change}" for change in ("remembered", "reaffirmed", "corrected", "stale", "origin_blocked")),
    "incident corrected moved",
    "alias applied moved",
    "alias alias_taken",
    "alias alias_known",
    "unalias applied moved",
    "unalias no_such_alias",
    "origin-invalidation applied moved",
    "origin-invalidation applied",
    "unblock applied",
    "unblock not_blocked",
    "supersede applied moved",
    "supersede unknown_incident",
    "supersede supersedes_itself",
}
