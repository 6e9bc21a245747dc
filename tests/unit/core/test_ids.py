import doctest
from typing import Any
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core import ids
from twiceshy.core.ids import NAMESPACE, derive, event_id, incident_key, incident_parts, version_id

# Separators and lengths are what a careless joining stumbles over; surrogates are what strict UTF-8 does.
texts = st.text(st.sampled_from('a1/%:,|"\\\ud83d\ude00😀')) | st.text()

events = st.tuples(texts, texts, texts, st.binary())


def test_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(ids).failed == 0


def test_derived_id_is_the_uuid5_of_netstrings() -> None:
    assert derive("ab", "", "é") == str(uuid5(NAMESPACE, "2:ab,0:,2:é,"))
    assert UUID(derive()).version == 5


def test_ids_are_the_same_for_ever() -> None:
    assert str(NAMESPACE) == "7b1d0c5e-3f0a-5b7e-9a53-6d2f4e8c1a90"
    assert derive("a") == "6d57d750-247f-5be3-96b0-24c6bdfe8f64"
    assert event_id("team", "/pagerduty", "1", b"{}") == "020031c4-164f-5758-a752-be6bc4183583"
    assert event_id("team", "/pagerduty", "1", b"{}", signed=True) == "272e334f-ecda-519d-a378-2f0e97562438"
    assert version_id("team", "service:payments/pool_size", 100, 205) == "d5dd7436-478d-57a8-9ac8-0abd2a974531"


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=4))
def test_different_parts_have_different_ids(one: list[str], other: list[str]) -> None:
    assert (derive(*one) == derive(*other)) == (one == other)


@given(st.lists(texts, min_size=1, max_size=4), st.data())
def test_moving_a_border_between_parts_changes_the_id(parts: list[str], data: st.DataObject) -> None:
    joined = "".join(parts)
    cut = data.draw(st.integers(0, len(joined)))
    moved = [joined[:cut], joined[cut:]]
    assert (derive(*moved) == derive(*parts)) == (moved == parts)


def test_surrogate_pair_is_not_the_character_it_encodes() -> None:
    assert derive("\ud83d\ude00") != derive("😀")


@pytest.mark.parametrize(
    "other",
    [
        ("team2", "/pagerduty", "1", b"{}"),
        ("team", "/grafana", "1", b"{}"),
        ("team", "/pagerduty", "2", b"{}"),
        ("team", "/pagerduty", "1", b"{ }"),
        ("team", "1", "/pagerduty", b"{}"),
    ],
)
def test_event_id_depends_on_each_part(other: tuple[str, str, str, bytes]) -> None:
    assert event_id(*other) != event_id("team", "/pagerduty", "1", b"{}")


@given(events, events)
def test_no_unsigned_event_has_the_id_of_a_signed_one(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert event_id(*one, signed=True) not in {event_id(*one), event_id(*other)}
    assert (event_id(*one, signed=True) == event_id(*other, signed=True)) == (one == other)


def test_same_event_has_the_same_id() -> None:
    assert event_id("team", "/pagerduty", "1", b"{}") == event_id("team", "/pagerduty", "1", b"{}")


@pytest.mark.parametrize(
    "other", [("team2", "s", 100, 205), ("team", "s2", 100, 205), ("team", "s", 101, 205), ("team", "s", 100, 206)]
)
def test_version_id_depends_on_each_part(other: tuple[str, str, int, int]) -> None:
    assert version_id(*other) != version_id("team", "s", 100, 205)


def test_version_id_takes_times_as_numbers_and_not_as_digits_in_a_row() -> None:
    assert version_id("team", "s", 10, 0) != version_id("team", "s", 1, 0)
    assert version_id("team", "s", 1, 23) != version_id("team", "s", 12, 3)


def test_ids_of_different_kinds_never_meet() -> None:
    assert version_id("a", "b", 1, 2) != derive("a", "b", "1", "2")


def test_incident_key_can_be_read() -> None:
    assert incident_key("pagerduty", "PD-Q3K2/2026-11-02") == "pagerduty/PD-Q3K2/2026-11-02"


@given(texts, texts)
def test_incident_key_gives_back_its_origin_and_fingerprint(origin: str, fingerprint: str) -> None:
    assert incident_parts(incident_key(origin, fingerprint)) == (origin, fingerprint)


def test_what_has_no_slash_names_no_incident() -> None:
    with pytest.raises(ValueError, match="no slash"):
        incident_parts("pagerduty")
