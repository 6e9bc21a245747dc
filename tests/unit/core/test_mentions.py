"""Which entities a question is about."""

import pytest

from twiceshy.core.aliases import folded_ref
from twiceshy.core.mentions import ASKED_FOR, FOUND_IN_TEXT, Known, named, names_in, scored


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("service:Payments", "payments"),
        ("payments", "payments"),
        ("change:deploy/4711", "deploy/4711"),
        ("https://example.com", "https://example.com"),
        ("service: no key", "service: no key"),
    ],
)
def test_name_is_looked_up_without_its_type(name: str, expected: str) -> None:
    assert folded_ref(name) == expected


def test_names_in_a_text_are_runs_of_words() -> None:
    assert names_in("Is the payments-db of “Google Cloud” down?") == [
        "payments-db",
        "google",
        "cloud",
        "down",
        "is the",
        "the payments-db",
        "payments-db of",
        "of google",
        "google cloud",
        "cloud down",
        "is the payments-db",
        "the payments-db of",
        "payments-db of google",
        "of google cloud",
        "google cloud down",
    ]


def test_names_in_a_long_text_are_bounded() -> None:
    assert len(names_in(" ".join(f"word{n}" for n in range(10_000)))) < 200


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("service:payments", True),
        ("service:Payments", True),
        ("payments", True),
        ("team:payments", False),
        ("pay", False),
    ],
)
def test_an_entity_is_named_by_type_and_name_or_by_its_name_alone(asked: str, expected: bool) -> None:
    assert named(asked, Known("service:payments", "payments", 0, ())) is expected


def test_an_entity_that_everything_mentions_counts_less() -> None:
    rare, hub = Known("a:rare", "rare", 1, ("one",)), Known("a:hub", "hub", 100, ("one", "two"))
    assert [episode for episode, _ in scored([(hub, ASKED_FOR), (rare, ASKED_FOR)])] == ["one", "two"]
    assert dict(scored([(rare, ASKED_FOR)]))["one"] > dict(scored([(hub, ASKED_FOR)]))["one"]


def test_an_entity_found_in_the_text_counts_less_than_one_asked_for() -> None:
    entity = Known("a:b", "b", 1, ("one",))
    assert dict(scored([(entity, FOUND_IN_TEXT)]))["one"] < dict(scored([(entity, ASKED_FOR)]))["one"]


def test_episodes_that_mention_the_same_keep_their_order() -> None:
    assert [episode for episode, _ in scored([(Known("a:b", "b", 3, ("new", "old", "older")), 1.0)])] == [
        "new",
        "old",
        "older",
    ]
