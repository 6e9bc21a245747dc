"""The invariants of belief, and of a write, over any observations that their type allows.

How many examples are tried is the hypothesis profile's to say.
"""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.core.temporal_histories import SLOT
from twiceshy.core.temporal import (
    FOREVER,
    Observation,
    applied,
    begin,
    believed,
    diff,
    reaffirmed_by,
    supporters,
)

# Any value of the type, and mostly such as meet: what no clock gives and no event may say is among them.
any_observation = st.builds(
    Observation,
    slot=st.just(SLOT),
    object=st.sampled_from(["acme", "beta", ""]),
    holds=st.booleans(),
    valid_from=st.integers(-3, 3) | st.integers(),
    valid_to=st.integers(-3, 3) | st.integers() | st.just(FOREVER),
    incident=st.sampled_from(["A", "B", ""]),
    revised_at=st.integers(-1, 1),
    event_id=st.sampled_from(["e1", "e2", ""]),
    trust=st.floats(0, 1),
    confidence=st.floats(0, 1),
    t_created=st.integers(-3, 3),
    t_retracted=st.integers(-3, 3) | st.just(FOREVER),
)


@given(st.lists(any_observation, max_size=12))
def test_belief_is_total_disjoint_ordered_and_merged(observations: list[Observation]) -> None:
    segments = believed(observations)
    assert all(segment.start < segment.end for segment in segments)
    for before, after in pairwise(segments):
        assert before.end < after.start or (before.end == after.start and before.object != after.object)
    for segment in segments:
        support = supporters(observations, segment)
        assert {seen.incident for seen in support} - {segment.founder} == {
            seen.incident for seen in reaffirmed_by(observations, segment)
        }


@given(st.lists(any_observation, max_size=12).flatmap(lambda o: st.tuples(st.just(o), st.permutations(o))))
def test_belief_is_of_a_set(orders: tuple[list[Observation], list[Observation]]) -> None:
    one, other = orders
    assert believed([*other, *other]) == believed(one)
    assert [s.event_id for s in believed(other)] == [s.event_id for s in believed(one)]


@given(st.lists(any_observation, max_size=12), st.lists(any_observation, max_size=12))
def test_write_leads_from_the_segments_before_to_the_segments_after(
    first: list[Observation], then: list[Observation]
) -> None:
    versions = applied((), diff((), believed(first)), slot=SLOT, at=1)
    change = diff(versions, believed(then))
    written = applied(versions, change, slot=SLOT, at=2)
    current = {version for version in written if version.t_expired == FOREVER}
    assert {version.segment for version in current} == set(believed(then))
    assert {*change.expired, *change.kept} == set(versions)
    assert change.supersedes == tuple(
        (segment, version)
        for segment in change.inserted
        for version in change.expired
        if segment.start < version.t_invalid and version.t_valid < segment.end
    )
    again = diff(written, believed(then))
    assert (again.expired, again.inserted, set(again.kept)) == ((), (), current)


# Such as meet, and end each other.
close_observation = st.builds(
    replace,
    any_observation,
    valid_from=st.integers(0, 4),
    valid_to=st.integers(0, 5) | st.just(FOREVER),
    object=st.sampled_from(["acme", "beta"]),
)


@given(st.lists(close_observation, max_size=8), st.lists(close_observation, max_size=2), st.integers(0, 5))
@settings(max_examples=1_000)
def test_change_is_the_same_from_where_it_begins_as_from_the_beginning(
    standing: list[Observation], added: list[Observation], since: int
) -> None:
    gone = [seen for seen in standing if seen.valid_from >= since and seen.incident == "A"]
    added = [seen for seen in added if seen.valid_from >= since]
    versions = applied((), diff((), believed(standing)), slot=SLOT, at=1)
    touched = [version for version in versions if version.t_invalid >= since]
    start = begin(touched, since)
    endless = [seen.valid_from for seen in standing if seen.valid_to == FOREVER and seen.valid_from <= start]
    loaded = [seen for seen in standing if not endless or seen.valid_from >= max(endless)]
    stay = [seen for seen in loaded if seen not in gone]
    in_full = diff(versions, believed([*(seen for seen in standing if seen not in gone), *added]))
    in_part = diff(touched, believed([*stay, *added], start))
    assert (in_part.expired, in_part.inserted, in_part.supersedes) == (
        in_full.expired,
        in_full.inserted,
        in_full.supersedes,
    )
    events = [segment.event_id for segment in in_part.inserted]
    assert events == [segment.event_id for segment in in_full.inserted]
