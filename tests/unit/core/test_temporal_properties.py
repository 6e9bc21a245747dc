"""The invariants of the two time axes over random histories, against an oracle of points.

How many examples are tried is the hypothesis profile's to say.
"""

from dataclasses import replace
from itertools import pairwise
from statistics import median

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.core.temporal_histories import (
    SLOT,
    Entry,
    Purged,
    counterexample,
    histories,
    remember,
    remembered,
)
from twiceshy.core.temporal import (
    FOREVER,
    Observation,
    applied,
    believed,
    diff,
    live,
    reaffirmed_by,
    supporters,
    trust_of,
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


@given(histories())
@settings(deadline=None)
def test_versions_answer_every_question_as_an_oracle_of_points_does(history: list[Entry]) -> None:
    assert counterexample(history) is None


@given(histories())
@settings(deadline=None)
def test_versions_of_any_moment_are_what_is_believed_of_the_observations_of_that_moment(
    history: list[Entry],
) -> None:
    memory = remember(history)
    for k in [moment for stamp in memory.stamps for moment in (stamp - 1, stamp)]:
        known = {v.segment for v in memory.versions if v.t_created <= k < v.t_expired}
        assert known == set(believed(live(memory.observations, k)))


@given(histories(purges=False).flatmap(lambda said: st.tuples(st.just(said), st.permutations(said))))
@settings(deadline=None)
def test_order_of_arrival_cannot_change_what_is_believed_in_the_end(
    orders: tuple[list[Entry], list[Entry]],
) -> None:
    one, other = (remember(order) for order in orders)
    assert set(one.current()) == set(other.current())


@given(histories(), st.data())
@settings(deadline=None)
def test_redelivered_event_changes_nothing(history: list[Entry], data: st.DataObject) -> None:
    published = [entry for entry in history if not isinstance(entry, Purged)]
    memory = remember(history)
    assert remembered(memory, data.draw(st.sampled_from(published))) == memory


@given(histories(purges=False))
@settings(deadline=None)
def test_incident_that_says_the_same_again_makes_no_version(history: list[Entry]) -> None:
    alone = [replace(entry, incident="A") for entry in history if not isinstance(entry, Purged)]
    counting = max(alone, key=lambda entry: (entry.revised_at, entry.event_id))
    again = replace(counting, event_id="later", ce_time=counting.revised_at)
    assert remember([*alone, again]).versions == remember(alone).versions


@given(st.lists(any_observation, max_size=12))
@settings(deadline=None)
def test_belief_is_total_disjoint_ordered_and_merged(observations: list[Observation]) -> None:
    segments = believed(observations)
    assert all(segment.start < segment.end for segment in segments)
    for before, after in pairwise(segments):
        assert before.end < after.start or (before.end == after.start and before.object != after.object)
    for segment in segments:
        support = supporters(observations, segment)
        assert trust_of(observations, segment) == max(seen.trust for seen in support)
        assert {seen.incident for seen in support} - {segment.founder} == {
            seen.incident for seen in reaffirmed_by(observations, segment)
        }


@given(st.lists(any_observation, max_size=12).flatmap(lambda o: st.tuples(st.just(o), st.permutations(o))))
@settings(deadline=None)
def test_belief_is_of_a_set(orders: tuple[list[Observation], list[Observation]]) -> None:
    one, other = orders
    assert believed([*other, *other]) == believed(one)
    assert [s.event_id for s in believed(other)] == [s.event_id for s in believed(one)]


@given(st.lists(any_observation, max_size=12), st.lists(any_observation, max_size=12))
@settings(deadline=None)
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


def test_random_histories_say_eight_things_of_the_slot_in_the_median() -> None:
    said: list[int] = []

    @given(histories())
    @settings(deadline=None, max_examples=200, derandomize=True, database=None)
    def collect(history: list[Entry]) -> None:
        said.append(len(remember(history).observations))

    collect()
    assert median(said) >= 8
