"""Which entities a question is about."""

import pytest

from twiceshy.core.aliases import NO_NAMES, Alias, Names, folded_ref
from twiceshy.core.mentions import ASKED_FOR, FOUND_IN_TEXT, Asked, Known, Mention, known, names_in, scored


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


ALIASES = (
    Alias(alias="payments-svc", canonical="payments", t_created=1),
    Alias(alias="Payments API", canonical="payments-svc", t_created=2),
    Alias(alias="service:pay", canonical="component:till", t_created=3),
)


@pytest.mark.parametrize(
    ("asked", "key", "expected"),
    [
        ("service:payments", "service:payments", True),
        ("service:Payments", "service:payments", True),
        ("payments", "service:payments", True),
        ("team:payments", "service:payments", False),
        ("service:payments-svc", "service:payments", True),
        ("payments api", "service:Payments-SVC", True),
        ("payments api", "payments", True),
        ("payments", "team:payments api", True),
        ("service:payments", "team:payments api", False),
        ("service:pay", "component:till", True),
        ("pay", "component:till", True),
        ("pay", "team:pay", True),
        ("pay", "team:till", False),
        ("team:pay", "component:till", False),
        ("till", "service:pay", True),
    ],
)
def test_an_entity_is_named_by_type_and_name_or_by_its_name_alone(asked: str, key: str, expected: bool) -> None:
    assert Names.at(ALIASES, 3).means(asked, key) is expected
    mention = Mention(key, folded_ref(key), 0, ())
    assert bool(Asked([asked], "", Names.at(ALIASES, 3)).strength(mention)) is expected
    assert bool(Asked([], f"is “{asked}” down?", Names.at(ALIASES, 3)).strength(mention)) is expected


def test_without_the_alias_names_are_names_of_their_own() -> None:
    assert not NO_NAMES.means("payments-svc", "service:payments")
    assert Asked(["payments-svc"], "", NO_NAMES).refs() == ["payments-svc"]
    assert set(Asked(["payments-svc"], "", Names.at(ALIASES, 3)).refs()) == {"payments", "payments-svc", "payments api"}


def test_an_entity_that_is_given_counts_more_than_one_in_the_text() -> None:
    mention = Mention("service:payments", "payments", 1, (("one", 5),))
    assert Asked(["payments"], "payments is down", NO_NAMES).strength(mention) == ASKED_FOR
    assert Asked(["checkout"], "payments is down", NO_NAMES).strength(mention) == FOUND_IN_TEXT


def test_names_that_are_one_are_one_entity_with_the_mentions_of_all() -> None:
    said = [
        Mention("service:payments", "payments", 2, (("new", 9), ("both", 5))),
        Mention("service:payments-svc", "payments-svc", 2, (("both", 5), ("old", 1))),
        Mention("team:payments", "payments", 1, (("team", 3),)),
    ]
    found = known(Asked(["service:payments api"], "payments", Names.at(ALIASES, 3)), said)
    assert found == {
        "service:payments": (Known("service:payments", 3, ("new", "both", "old")), ASKED_FOR),
        "team:payments": (Known("team:payments", 1, ("team",)), FOUND_IN_TEXT),
    }


def test_an_entity_that_everything_mentions_counts_less() -> None:
    rare, hub = Known("a:rare", 1, ("one",)), Known("a:hub", 100, ("one", "two"))
    assert [episode for episode, _ in scored([(hub, ASKED_FOR), (rare, ASKED_FOR)])] == ["one", "two"]
    assert dict(scored([(rare, ASKED_FOR)]))["one"] > dict(scored([(hub, ASKED_FOR)]))["one"]


def test_an_entity_found_in_the_text_counts_less_than_one_asked_for() -> None:
    entity = Known("a:b", 1, ("one",))
    assert dict(scored([(entity, FOUND_IN_TEXT)]))["one"] < dict(scored([(entity, ASKED_FOR)]))["one"]


def test_episodes_that_mention_the_same_keep_their_order() -> None:
    assert [episode for episode, _ in scored([(Known("a:b", 3, ("new", "old", "older")), 1.0)])] == [
        "new",
        "old",
        "older",
    ]
