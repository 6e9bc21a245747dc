"""The worked example, and one example of each rule."""

import doctest
from dataclasses import replace

import pytest

from tests.unit.core.temporal_histories import SLOT, Published, Purged, Statement, remember
from twiceshy.core import temporal
from twiceshy.core.temporal import (
    FOREVER,
    Observation,
    Segment,
    access_count,
    believed,
    greatest_revision,
    live,
    reaffirmed_by,
    supporters,
)


def says(
    origin: str, learned: int, *statements: Statement, ce_time: int | None = None, trust: float = 0.3
) -> Published:
    """A revision of the one incident of an origin, of which its name and the time tell the event id."""
    return Published(f"{origin}/1", f"{origin}-{learned}", learned, ce_time, statements, trust)


def said(
    place: str,
    start: int,
    end: int = FOREVER,
    *,
    by: str = "A",
    holds: bool = True,
    revised_at: int = 0,
    event_id: str = "e",
    trust: float = 0.3,
) -> Observation:
    return Observation(
        slot=SLOT,
        object=place,
        holds=holds,
        valid_from=start,
        valid_to=end,
        incident=by,
        revised_at=revised_at,
        event_id=event_id,
        trust=trust,
        confidence=1.0,
        t_created=0,
    )


def spans(*observations: Observation) -> list[tuple[int, int, str, str]]:
    return [(s.start, s.end, s.object, s.founder) for s in believed(observations)]


ALICE = [
    says("A", 100, Statement("acme", 100)),
    says("B", 205, Statement("beta", 200)),
    says("C", 300, Statement("gamma", 150)),
]


@pytest.mark.parametrize(
    ("event_time", "known_at", "expected"),
    [
        (120, 400, "acme"),
        (180, 400, "gamma"),
        (180, 250, "acme"),
        (250, 203, "acme"),
        (250, 400, "beta"),
        (250, 99, None),
    ],
)
def test_worked_example_answers_what_was_true_and_what_we_knew(
    event_time: int, known_at: int, expected: str | None
) -> None:
    assert remember(ALICE).asked(event_time, known_at) == expected


def test_late_news_becomes_a_bounded_segment_that_leaves_the_current_one_alone() -> None:
    memory = remember(ALICE)
    assert memory.current() == [
        Segment(200, FOREVER, "beta", "B/1", "B-205"),
        Segment(100, 150, "acme", "A/1", "A-100"),
        Segment(150, 200, "gamma", "C/1", "C-300"),
    ]
    assert [v.t_created for v in memory.versions if v.object == "beta"] == [205]


def test_correction_takes_back_what_the_incident_had_said() -> None:
    memory = remember([*ALICE, says("B", 350, Statement("gamma", 150))])
    assert memory.asked(250, 400) == "gamma"
    assert memory.asked(250, 349) == "beta"
    assert memory.asked(120, 400) == "acme"


def test_bounded_statement_does_not_end_an_open_one_that_was_not_taken_back() -> None:
    history = [says("A", 100, Statement("acme", 100)), says("B", 310, Statement("acme", 100, 300))]
    assert remember(history).asked(400, 500) == "acme"
    history.append(says("C", 320, Statement("acme", 300, holds=False)))
    assert remember(history).asked(400, 500) is None
    assert remember(history).asked(299, 500) == "acme"
    assert remember(history).asked(300, 500) is None
    assert remember(history).asked(400, 319) == "acme"


def test_same_object_said_again_from_later_on_makes_no_version() -> None:
    before = remember(ALICE[:1])
    after = remember([*ALICE[:1], says("D", 170, Statement("acme", 160))])
    assert after.versions == before.versions
    (segment,) = believed(live(after.observations, 170))
    assert [seen.incident for seen in reaffirmed_by(live(after.observations, 170), segment)] == ["D/1"]


@pytest.mark.parametrize("purged", ["A", "B"])
def test_purge_of_one_of_two_supporters_leaves_the_others_word_and_trust(purged: str) -> None:
    trusts = {"A": 1.0, "B": 0.4}
    left = "B" if purged == "A" else "A"
    history = [says(name, 100, Statement("acme", 100), trust=trust) for name, trust in trusts.items()]
    memory = remember([*history, Purged(purged, 200)])
    assert memory.asked(150, 300) == "acme"
    (segment,) = memory.current()
    assert segment.founder == f"{left}/1"
    before, after = (supporters(live(memory.observations, known_at), segment) for known_at in (199, 200))
    assert [max(seen.trust for seen in of) for of in (before, after)] == [1.0, trusts[left]]


def test_what_a_purged_incident_had_closed_is_believed_again() -> None:
    memory = remember([*ALICE, Purged("B", 400)])
    assert memory.asked(250, 400) == "gamma"
    assert memory.asked(250, 399) == "beta"


def test_same_content_published_again_makes_no_version_and_counts_as_the_later_revision() -> None:
    memory = remember([ALICE[0], says("A", 200, Statement("acme", 100))])
    assert memory.versions == remember(ALICE[:1]).versions
    assert [seen.event_id for seen in live(memory.observations, 200)] == ["A-200"]


def test_older_revision_that_arrives_late_is_kept_and_was_never_live() -> None:
    memory = remember([says("A", 200, Statement("beta", 100)), says("A", 300, Statement("acme", 100), ce_time=150)])
    assert memory.asked(100, 400) == "beta"
    assert [(seen.object, seen.t_created, seen.t_retracted) for seen in memory.observations] == [
        ("beta", 200, FOREVER),
        ("acme", 300, 300),
    ]


def test_revision_that_no_longer_speaks_of_the_slot_takes_its_word_back() -> None:
    memory = remember([*ALICE[:2], says("B", 300)])
    assert memory.asked(250, 300) == "acme"
    assert memory.asked(250, 299) == "beta"


def test_exception_gives_way_again_to_what_held_before_it() -> None:
    assert spans(said("acme", 100), said("beta", 150, 200, by="B")) == [
        (100, 150, "acme", "A"),
        (150, 200, "beta", "B"),
        (200, FOREVER, "acme", "A"),
    ]


def test_time_in_which_nothing_holds_parts_two_segments_of_one_object() -> None:
    assert spans(said("acme", 100), said("acme", 150, 200, by="B", holds=False)) == [
        (100, 150, "acme", "A"),
        (200, FOREVER, "acme", "A"),
    ]


def test_time_that_nothing_covers_parts_two_segments_of_one_object() -> None:
    assert spans(said("acme", 100, 150), said("acme", 151, 200, by="B")) == [
        (100, 150, "acme", "A"),
        (151, 200, "acme", "B"),
    ]


def test_neighbouring_pieces_with_one_object_are_one_segment_of_the_first() -> None:
    observations = [said("acme", 100, 150), said("acme", 150, 200, by="B"), said("acme", 120, 160, by="C")]
    assert spans(*observations) == [(100, 200, "acme", "A")]


def test_segment_is_founded_by_who_wins_at_its_start() -> None:
    observations = [said("acme", 100, event_id="a"), said("beta", 50, 120, by="B"), said("acme", 90, by="C")]
    assert spans(*observations) == [(50, 90, "beta", "B"), (90, FOREVER, "acme", "C")]


@pytest.mark.parametrize("backwards", [False, True])
def test_equal_starts_are_decided_by_the_later_revision_and_then_by_the_event_id(backwards: bool) -> None:
    early = said("acme", 100, revised_at=1, event_id="z")
    late = said("gamma", 100, by="B", revised_at=2, event_id="a")
    greater = said("beta", 100, by="C", revised_at=2, event_id="b")
    order = [greater, late, early] if backwards else [early, late, greater]
    assert spans(*order) == [(100, FOREVER, "beta", "C")]
    assert spans(*(seen for seen in order if seen is not greater)) == [(100, FOREVER, "gamma", "B")]


def test_of_two_things_that_one_event_says_from_one_start_the_one_that_ends_first_is_the_exception() -> None:
    expected = [(100, 150, "acme", "A"), (150, FOREVER, "beta", "A")]
    assert spans(said("acme", 100, 150), said("beta", 100)) == expected
    assert spans(said("beta", 100), said("acme", 100, 150)) == expected


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        (said("beta", 100, holds=False), said("acme", 100)),
        (said("acme", 100), said("beta", 100)),
        (said("acme", 100, by="A"), said("acme", 100, by="B")),
    ],
)
def test_contradiction_within_one_event_is_decided_by_what_it_says_and_not_by_the_order(
    weaker: Observation, stronger: Observation
) -> None:
    expected = [(100, FOREVER, stronger.object, stronger.incident)]
    assert spans(weaker, stronger) == expected
    assert spans(stronger, weaker) == expected


def test_interval_without_length_covers_nothing_and_supports_nothing() -> None:
    empty = [said("beta", 120, 120, by="B"), said("acme", 120, 120, by="C"), said("acme", 130, 110, by="D")]
    assert spans(said("acme", 100), *empty) == [(100, FOREVER, "acme", "A")]
    assert access_count(empty, Segment(100, FOREVER, "acme", "A", "e")) == 0


def test_nothing_observed_is_nothing_believed() -> None:
    assert believed([]) == ()


def test_observation_is_live_from_its_creation_until_before_its_retraction() -> None:
    seen = replace(said("acme", 100), t_created=10, t_retracted=20)
    assert [known_at for known_at in (9, 10, 19, 20) if live([seen], known_at)] == [10, 19]
    assert live([said("acme", 100)], FOREVER - 1)


def test_supporters_say_the_same_object_inside_the_segment() -> None:
    segment = Segment(100, 200, "acme", "A", "e")
    inside = [said("acme", 199), said("acme", 50, 101, by="B"), said("acme", 120, 130, by="C")]
    outside = [
        said("acme", 200),
        said("acme", 50, 100),
        said("beta", 120),
        said("acme", 120, holds=False),
    ]
    assert supporters([*outside, *inside], segment) == tuple(inside)


def test_segment_names_the_last_twenty_incidents_that_reaffirm_it_and_counts_all() -> None:
    segment = Segment(100, FOREVER, "acme", "A", "e")
    others = [said("acme", 300 - n, by=f"I{n}", revised_at=n // 2, event_id=f"{n % 2}") for n in range(25)]
    again = [replace(seen, valid_from=seen.valid_from + 1) for seen in others]
    observations = [said("acme", 100, revised_at=99), said("acme", 110, revised_at=99), *others, *again]
    assert reaffirmed_by(observations, segment) == tuple(again[n] for n in range(24, 4, -1))
    assert access_count(observations, segment) == 25


def test_greatest_revision_is_the_latest_and_of_those_the_greatest_event_id() -> None:
    older = said("acme", 100, revised_at=1, event_id="z")
    smaller = said("acme", 100, revised_at=2, event_id="a")
    greatest = said("acme", 100, revised_at=2, event_id="b")
    assert greatest_revision([older, greatest, smaller]) is greatest
    assert greatest_revision(iter([smaller, older])) is smaller
    assert greatest_revision([]) is None


def test_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(temporal).failed == 0
