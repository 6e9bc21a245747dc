"""Rules: three mistakes of a category from three incidents, and the same again whenever an entry comes again."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core.rules import QUOTES_MAX, OpenMistake, RuleVersion, consolidate
from twiceshy.core.temporal import FOREVER
from twiceshy.events.chain import Consolidated
from twiceshy.events.common import TEXT_CHARS_MAX


def mistake(number: int, incident: str = "", category: str = "missing-alert", t_expired: int = FOREVER) -> OpenMistake:
    """The mistake that the entry of transaction time ``number`` opened."""
    return OpenMistake(
        version_id=f"m{number:03}",
        slot=f"mistake|0|{incident or number}",
        category=category,
        incident=incident or f"incident {number}",
        statement=f"No alert {number}.",
        t_created=number,
        t_expired=t_expired,
        t_valid=1_000 - number,
    )


def consolidated(
    mistakes: Sequence[OpenMistake],
    at: int,
    *,
    rules: list[RuleVersion] | None = None,
    incidents_min: int = 3,
    categories: Sequence[str] = ("missing-alert",),
) -> Consolidated:
    return consolidate(
        tenant="default",
        categories=categories,
        mistakes=mistakes,
        rules=[] if rules is None else rules,
        incidents_min=incidents_min,
        at=at,
    )


def test_three_mistakes_from_three_incidents_make_a_rule_that_quotes_them() -> None:
    rules: list[RuleVersion] = []
    made = consolidated([mistake(1), mistake(2), mistake(3)], 3, rules=rules)
    [rule] = made.made
    assert rule.statement == "Again and again (missing-alert): “No alert 1.” “No alert 2.” “No alert 3.”"
    assert (rule.rests_on, rule.incidents, rule.t_valid) == (("m001", "m002", "m003"), 3, 997)
    assert (made.withdrawn, made.ended) == ((), ())
    assert rules == [RuleVersion(rule.version_id, "missing-alert", rule.rests_on, 3, FOREVER)]


def test_two_incidents_make_no_rule_however_many_mistakes_they_made() -> None:
    mistakes = [mistake(1, "A"), mistake(2, "A"), mistake(3, "A"), mistake(4, "B")]
    assert consolidated(mistakes, 4) == Consolidated()


def test_mistakes_of_different_categories_do_not_add_up() -> None:
    mistakes = [mistake(1), mistake(2), mistake(3, category="ownership")]
    assert consolidated(mistakes, 3, categories=("missing-alert", "ownership")) == Consolidated()


def test_other_makes_no_rule() -> None:
    mistakes = [mistake(number, category="other") for number in range(1, 9)]
    assert consolidated(mistakes, 9, categories=("other",)) == Consolidated()


def test_how_many_incidents_it_takes_is_what_the_entry_says() -> None:
    mistakes = [mistake(1), mistake(2)]
    assert len(consolidated(mistakes, 2, incidents_min=2).made) == 1
    assert consolidated(mistakes, 2, incidents_min=3) == Consolidated()


def test_mistake_known_later_has_no_part() -> None:
    assert consolidated([mistake(1), mistake(2), mistake(3)], 2) == Consolidated()


def test_further_support_changes_no_rule_once_the_quotes_are_full() -> None:
    rules: list[RuleVersion] = []
    mistakes = [mistake(number) for number in range(1, 9)]
    made = [consolidated(mistakes, at, rules=rules) for at in range(3, 9)]
    assert [len(entry.made) for entry in made] == [1, 1, 1, 0, 0, 0]
    assert len(made[2].made[0].rests_on) == QUOTES_MAX


def test_new_version_withdraws_the_one_before() -> None:
    rules: list[RuleVersion] = []
    mistakes = [mistake(number) for number in range(1, 5)]
    first = consolidated(mistakes, 3, rules=rules)
    second = consolidated(mistakes, 4, rules=rules)
    assert second.withdrawn == (first.made[0].version_id,)
    assert second.ended == ()
    assert [(rule.t_created, rule.t_expired) for rule in rules] == [(3, 4), (4, FOREVER)]


def test_rule_is_withdrawn_when_a_correction_takes_a_mistake_back() -> None:
    rules: list[RuleVersion] = []
    mistakes = [mistake(1), mistake(2), mistake(3, t_expired=4)]
    [rule] = consolidated(mistakes, 3, rules=rules).made
    after = consolidated(mistakes, 4, rules=rules)
    assert after == Consolidated(withdrawn=(rule.version_id,), ended=("missing-alert",))  # type: ignore[arg-type]


def test_corrected_mistake_that_is_still_one_is_quoted_anew() -> None:
    rules: list[RuleVersion] = []
    mistakes = [replace(mistake(1), t_expired=4), mistake(2), mistake(3), mistake(4, "incident 1")]
    consolidated(mistakes, 3, rules=rules)
    [rule] = consolidated(mistakes, 4, rules=rules).made
    assert rule.rests_on == ("m002", "m003", "m004")


def test_statement_is_bounded() -> None:
    mistakes = [replace(mistake(number), statement="x" * TEXT_CHARS_MAX) for number in range(1, 4)]
    assert len(consolidated(mistakes, 3).made[0].statement) == TEXT_CHARS_MAX


@st.composite
def histories(draw: st.DrawFn) -> list[OpenMistake]:
    """Mistakes of few incidents, each opened by an entry of its own; the next one of an incident closes the last."""
    made: list[OpenMistake] = []
    for number, incident in enumerate(draw(st.lists(st.sampled_from("ABCDEFGH"), max_size=14)), start=1):
        made = [replace(m, t_expired=number) if m.incident == incident and m.t_expired == FOREVER else m for m in made]
        if draw(st.integers(0, 3)):
            made.append(mistake(number, incident, draw(st.sampled_from(("missing-alert", "ownership")))))
    return made


CATEGORIES = ("missing-alert", "ownership")


@given(histories(), st.data())
def test_entries_that_come_again_give_the_same_and_change_no_rule(
    mistakes: list[OpenMistake], data: st.DataObject
) -> None:
    rules: list[RuleVersion] = []
    last = max((m.t_created for m in mistakes), default=0) + 1
    given_before = [consolidated(mistakes, at, rules=rules, categories=CATEGORIES) for at in range(1, last + 1)]
    standing = deepcopy(rules)
    since = data.draw(st.integers(1, last))
    again = [consolidated(mistakes, at, rules=rules, categories=CATEGORIES) for at in range(since, last + 1)]
    assert again == given_before[since - 1 :]
    assert rules == standing


@given(histories())
def test_one_rule_of_a_category_stands_at_a_time_and_only_with_enough_incidents(mistakes: list[OpenMistake]) -> None:
    rules: list[RuleVersion] = []
    for at in range(1, 16):
        consolidated(mistakes, at, rules=rules, categories=CATEGORIES)
        for category in CATEGORIES:
            standing = [r for r in rules if r.category == category and r.t_created <= at < r.t_expired]
            opened = {m.incident for m in mistakes if m.category == category and m.t_created <= at < m.t_expired}
            assert len(standing) == (len(opened) >= 3)
