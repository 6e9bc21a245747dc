"""The stamps of an entry, what a write does to the versions of a slot, and how they are asked."""

from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime

import pytest

from tests.unit.core.temporal_histories import SLOT
from twiceshy.core.temporal import (
    FOREVER,
    Segment,
    Version,
    answer,
    applied,
    diff,
    effective_revision_time,
    episode_valid_from,
    transaction_time,
)


def version(place: str, start: int, end: int, *, created: int = 1, expired: int = FOREVER) -> Version:
    return Version(
        slot=SLOT,
        object=place,
        t_valid=start,
        t_invalid=end,
        t_created=created,
        t_expired=expired,
        founder="A",
        event_id="e",
    )


@pytest.mark.parametrize(
    ("event_time", "known_at", "found"),
    [
        (99, 15, False),
        (100, 15, True),
        (199, 15, True),
        (200, 15, False),
        (150, 9, False),
        (150, 10, True),
        (150, 19, True),
        (150, 20, False),
    ],
)
def test_both_axes_of_a_version_are_half_open(event_time: int, known_at: int, found: bool) -> None:
    only = version("acme", 100, 200, created=10, expired=20)
    assert answer([only], event_time, known_at) == (only if found else None)


def test_diff_of_what_is_believed_already_is_empty_whatever_event_says_it() -> None:
    standing = version("acme", 100, FOREVER)
    change = diff([standing], [Segment(100, FOREVER, "acme", "A", "another event")])
    assert (change.expired, change.inserted, change.kept, change.supersedes) == ((), (), (standing,), ())


@pytest.mark.parametrize(
    "other",
    [
        Segment(101, FOREVER, "acme", "A", "e"),
        Segment(100, 200, "acme", "A", "e"),
        Segment(100, FOREVER, "beta", "A", "e"),
        Segment(100, FOREVER, "acme", "B", "e"),
    ],
)
def test_diff_sees_a_change_of_start_end_object_or_founder(other: Segment) -> None:
    standing = version("acme", 100, FOREVER)
    change = diff([standing], [other])
    assert (change.expired, change.inserted, change.kept) == ((standing,), (other,), ())
    assert change.supersedes == ((other, standing),)


def test_inserted_segment_supersedes_the_expired_versions_that_it_overlaps_and_not_those_it_touches() -> None:
    first, second, third = version("a", 0, 10), version("b", 10, 20), version("c", 20, 30)
    new = [Segment(5, 20, "x", "X", "x"), Segment(20, 25, "y", "Y", "y"), Segment(30, 40, "z", "Z", "z")]
    change = diff([third, first, second], new)
    assert change.expired == (first, second, third)
    assert change.supersedes == ((new[0], first), (new[0], second), (new[1], third))


def test_diff_passes_over_what_has_expired() -> None:
    gone = version("acme", 100, FOREVER, expired=5)
    segment = Segment(100, FOREVER, "acme", "A", "e")
    change = diff([gone], [segment])
    assert (change.expired, change.inserted, change.kept) == ((), (segment,), ())


def test_write_expires_at_its_own_time_and_leaves_the_past_as_it_was() -> None:
    past = version("old", 0, 10, expired=5)
    standing, kept = version("acme", 100, FOREVER), version("beta", 50, 100)
    change = diff([standing, kept], [kept.segment, Segment(100, 200, "gamma", "B", "b")])
    assert applied([past, standing, kept], change, slot="s", at=7) == (
        past,
        replace(standing, t_expired=7),
        kept,
        Version(slot="s", object="gamma", t_valid=100, t_invalid=200, t_created=7, founder="B", event_id="b"),
    )


def test_version_cannot_be_changed_in_place() -> None:
    with pytest.raises(FrozenInstanceError):
        version("acme", 100, 200).t_invalid = 150  # type: ignore[misc]


@pytest.mark.parametrize(("ce_time", "expected"), [(None, 50), (49, 49), (50, 50), (51, 50), (0, 0), (-1, -1)])
def test_revision_is_dated_by_its_ce_time_unless_that_is_missing_or_ahead(ce_time: int | None, expected: int) -> None:
    assert effective_revision_time(ce_time, 50) == expected


@pytest.mark.parametrize(("watermark", "admitted_at", "expected"), [(5, 9, 9), (5, 6, 6), (5, 5, 6), (5, 1, 6)])
def test_transaction_time_goes_up_also_when_a_clock_goes_back(watermark: int, admitted_at: int, expected: int) -> None:
    assert transaction_time(watermark, admitted_at) == expected


@pytest.mark.parametrize(
    ("started_at", "concluded_at", "expected"), [(10, 20, 10), (None, 20, 20), (None, 99, 50), (60, 99, 50), (0, 20, 0)]
)
def test_episode_is_valid_from_its_start_else_its_conclusion_never_later_than_admitted(
    started_at: int | None, concluded_at: int, expected: int
) -> None:
    assert episode_valid_from(started_at, concluded_at, admitted_at=50) == expected


def test_forever_is_the_last_millisecond_of_the_year_9999() -> None:
    assert datetime.fromtimestamp(FOREVER // 1000, UTC) == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert FOREVER % 1000 == 999
