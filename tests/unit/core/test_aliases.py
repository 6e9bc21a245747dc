"""Names that are one: what each comes to, which are read together, and which aliases are refused."""

import doctest
from collections.abc import Sequence
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core.oracle_names import Sets
from twiceshy.core import aliases
from twiceshy.core.aliases import NO_NAMES, Alias, Names, Refusal, folded, folded_ref, name_of, place, stated
from twiceshy.core.temporal import FOREVER

Pair = tuple[str, str]

PREFIXES = ("", "service:", "host:")
REFS = ("a", "A", "b", "ｂ", "c", "d ", "db:1")
NAMES = [prefix + ref for prefix in PREFIXES for ref in REFS]
pairs = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=8)


def said(*pairs_of: Pair) -> list[Alias]:
    """Aliases (alias, canonical), made one after the other."""
    return [
        Alias(alias=alias, canonical=canonical, t_created=at) for at, (alias, canonical) in enumerate(pairs_of, start=1)
    ]


def names(*pairs_of: Pair) -> Names:
    return Names(said(*pairs_of))


def made(asked: Sequence[Pair]) -> list[Pair]:
    """Those that are not refused, each beside those before it."""
    taken: list[Pair] = []
    for alias, canonical in asked:
        if names(*taken).refusal(alias, canonical) is None:
            taken.append((alias, canonical))
    return taken


def refused(alias: str, canonical: str, *before: Pair) -> str | None:
    refusal = names(*before).refusal(alias, canonical)
    return refusal.code if refusal else None


@pytest.mark.parametrize("name", ["payments", " payments ", "Payments", "ＰＡＹＭＥＮＴＳ", "ﬁnance"])
def test_name_that_nobody_gave_another_one_is_what_was_said(name: str) -> None:
    assert NO_NAMES.resolved(name) == name
    assert NO_NAMES.group(name) == {folded(name)}
    assert not NO_NAMES


@pytest.mark.parametrize("name", ["Payments API", "  payments api ", "ｐayments API", "PAYMENTS API"])
def test_names_compare_trimmed_in_one_normal_form_and_case_folded(name: str) -> None:
    assert names(("payments api", "payments")).resolved(name) == "payments"


@given(st.text())
def test_folding_a_folded_name_changes_nothing(name: str) -> None:
    assert folded(name) == folded(folded(name))


def test_canonical_name_is_spelled_as_the_first_alias_spells_it() -> None:
    known = names(("pay", "Payments"), ("payments-svc", "payments"))
    assert [known.resolved(name) for name in ("pay", "payments-svc", "PAYMENTS", "service:payments")] == [
        *["Payments"] * 3,
        "service:Payments",
    ]


def test_alias_of_an_alias_comes_to_the_last_name() -> None:
    known = names(("a", "b"), ("c", "d"), ("b", "c"))
    assert {known.resolved(name) for name in "abcd"} == {"d"}


def test_alias_without_a_type_holds_for_things_of_every_type_which_they_keep() -> None:
    known = names(("pay", "payments"))
    assert [known.resolved(name) for name in ("pay", "service:pay", "host:pay", "service:Payments")] == [
        "payments",
        "service:payments",
        "host:payments",
        "service:payments",
    ]


def test_alias_with_a_type_holds_for_that_thing_alone_which_it_decides() -> None:
    known = names(("service:pay", "service:payments"), ("pay", "checkout"))
    assert [known.resolved(name) for name in ("service:pay", "host:pay", "pay", "host:payments")] == [
        "service:payments",
        "host:checkout",
        "checkout",
        "host:payments",
    ]


def test_things_of_every_type_can_come_to_one_thing_that_has_a_type() -> None:
    known = names(("payments", "service:payments"))
    assert {known.resolved(name) for name in ("payments", "host:payments", "service:Payments")} == {"service:payments"}


def test_chain_goes_on_where_an_alias_is_without_a_type_and_the_next_one_has_one() -> None:
    known = names(("x", "y"), ("service:y", "service:z"))
    assert [known.resolved(name) for name in ("service:x", "host:x")] == ["service:z", "host:y"]


def test_type_is_not_what_comes_before_a_colon_in_a_reference() -> None:
    known = names(("host:db:5432", "host:db"))
    assert known.resolved("host:DB:5432") == "host:db"
    assert known.group("host:db:5432") == known.together("db:5432") == {"db:5432", "db"}
    assert known.together("5432") == {"5432"}


def test_capital_letter_makes_no_type() -> None:
    known = names(("Service:pay", "service:payments"))
    assert [known.resolved(name) for name in ("service:pay", "Service:Pay")] == ["service:pay", "service:payments"]


@pytest.mark.parametrize(
    ("alias", "canonical", "code"),
    [
        ("Payments", " payments", "alias_of_itself"),
        ("service:payments", "service:PAYMENTS", "alias_of_itself"),
        ("A", "b", "alias_known"),
        ("a", "c", "alias_taken"),
        ("b", "a", "alias_cycle"),
        ("service:b", "a", "alias_cycle"),
        ("service:b", "service:a", "alias_cycle"),
        ("d", "c", "alias_cycle"),
        ("service:d", "host:c", None),
        ("b", "service:b", None),
        ("service:a", "service:b", None),
        ("d", "a", None),
    ],
)
def test_alias_is_refused_for_a_reason(alias: str, canonical: str, code: str | None) -> None:
    assert refused(alias, canonical, ("a", "B"), ("c", "d")) == code


def test_longer_circles_are_refused_too() -> None:
    assert refused("c", "a", ("a", "b"), ("b", "c")) == "alias_cycle"
    assert refused("y", "x", ("x", "service:y")) == "alias_cycle"


def test_circle_that_another_alias_keeps_open_is_refused_for_that_can_be_undone() -> None:
    assert refused("service:y", "service:x", ("service:x", "service:w"), ("x", "y")) == "alias_cycle"


def test_refusal_says_what_to_undo() -> None:
    refusal = names(("pay", "payments")).refusal("PAY", "checkout")
    assert refusal is not None
    assert refusal.detail == "'PAY' is an alias of 'payments'. Undo that first: a name has one meaning."


def test_alias_is_known_from_when_it_was_made_until_before_it_was_undone() -> None:
    alias = Alias(alias="a", canonical="b", t_created=10, t_expired=20)
    assert [Names.at([alias], at).resolved("a") for at in (9, 10, 19, 20)] == ["a", "b", "b", "a"]


def test_alias_is_found_by_its_names_however_they_are_spelled() -> None:
    known = said(("pay", "Payments"), ("service:pay", "checkout"))
    assert stated(known, "PAY", "payments") is known[0]
    for alias, canonical in (("pay", "checkout"), ("service:pay", "payments"), ("Service:pay", "checkout")):
        missing = stated(known, alias, canonical)
        assert isinstance(missing, Refusal)
        assert missing.code == "no_such_alias"


def test_facts_of_all_names_that_are_read_together_have_places_of_their_own() -> None:
    known = names(("service:pay", "service:payments"))
    assert {place(ref, "owner") for ref in known.group("host:Pay")} == {"owner|pay", "owner|payments"}


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("service:pay", {"service:pay", "service:payments"}),
        ("pay", {"pay", "payments", "host:pay", "host:payments", "service:pay", "service:payments"}),
        ("payments", {"pay", "payments", "host:pay", "host:payments", "service:pay", "service:payments"}),
        ("host:till", {"host:till"}),
        ("till", {"till", "host:till", "service:till", "service:checkout"}),
        ("checkout", {"service:till", "service:checkout"}),
    ],
)
def test_name_without_a_type_means_things_of_every_type(asked: str, meant: set[str]) -> None:
    known = names(("pay", "payments"), ("service:till", "service:checkout"))
    every = [prefix + ref for prefix in PREFIXES for ref in ("pay", "payments", "till")] + ["service:checkout"]
    assert {key for key in every if known.means(asked, key)} == meant


@given(pairs)
def test_what_a_name_comes_to_comes_to_itself(asked: list[Pair]) -> None:
    known = names(*made(asked))
    assert [known.resolved(known.resolved(name)) for name in NAMES] == [known.resolved(name) for name in NAMES]


@given(pairs)
def test_names_come_to_what_a_union_of_sets_makes_of_them(asked: list[Pair]) -> None:
    plain = [pair for pair in asked if not any("ｂ" in name or "db" in name for name in pair)]
    taken = made(plain)
    known, sets = names(*taken), Sets(tuple(taken))
    for name in NAMES:
        if "ｂ" not in name and "db" not in name:
            assert name_of(known.resolved(name)) == name_of(sets.called(name))


@given(pairs)
def test_group_is_an_equivalence_that_holds_all_names_that_are_one(asked: list[Pair]) -> None:
    known = names(*made(asked))
    for name in NAMES:
        group = known.group(name)
        assert folded_ref(name) in group
        assert folded_ref(known.resolved(name)) in group
        assert all(known.together(ref) == group for ref in group)
        assert all(folded_ref(other) in group for other in NAMES if known.resolved(other) == known.resolved(name))


@given(pairs, st.randoms())
def test_order_in_which_aliases_are_made_does_not_matter(asked: list[Pair], chance: Random) -> None:
    taken = made(asked)
    shuffled = chance.sample(taken, len(taken))
    assert made(shuffled) == shuffled
    one, other = names(*taken), names(*shuffled)
    assert [name_of(one.resolved(name)) for name in NAMES] == [name_of(other.resolved(name)) for name in NAMES]
    assert [one.group(name) for name in NAMES] == [other.group(name) for name in NAMES]


@given(pairs, st.integers(0))
def test_undoing_an_alias_leaves_what_there_would_be_without_it(asked: list[Pair], which: int) -> None:
    taken = made(asked)
    if not taken:
        return
    undone = which % len(taken)
    known = said(*taken)
    ended = [
        Alias(alias=one.alias, canonical=one.canonical, t_created=one.t_created, t_expired=at)
        for number, one in enumerate(known)
        for at in (50 if number == undone else FOREVER,)
    ]
    without = Names(one for number, one in enumerate(known) if number != undone)
    for name in NAMES:
        assert Names.at(ended, 49).resolved(name) == Names(known).resolved(name)
        assert Names.at(ended, 50).resolved(name) == without.resolved(name)


def test_no_alias_that_is_undone_closes_a_circle() -> None:
    four = [("x", "y"), ("service:x", "service:w"), ("service:y", "service:z"), ("host:z", "x")]
    for order in permutations(four):
        taken = made(order)
        for undone in taken:
            left = names(*(pair for pair in taken if pair != undone))
            assert all(left.resolved(left.resolved(name)) == left.resolved(name) for name, _ in four)


def test_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(aliases).failed == 0
