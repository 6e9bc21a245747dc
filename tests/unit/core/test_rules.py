"""Rules: three mistakes of a category from three incidents, and the same again whenever an entry comes again."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core.rules import QUOTES_MAX, OpenMistake, RuleVersion, Window, consolidate, counted, open_at, settled
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


@dataclass(frozen=True)
class Entry:
    """An entry that touches mistakes, and what it takes to make a rule as its settings say."""

    at: int
    incidents_min: int


CHANGES = st.tuples(
    st.sampled_from(("revised",) * 5 + ("earliest closed", "many closed", "opened again")),
    st.integers(0, 9),
    st.lists(st.sampled_from(CATEGORIES), max_size=2),
)


def changed(made: list[OpenMistake], at: int, change: tuple[str, int, list[str]]) -> list[OpenMistake]:
    """``made``, after a revision of an incident, or after a command that closes mistakes or opens them again."""
    what, number, categories = change
    incident = f"incident {number}"
    if what == "opened again":
        last = {m.slot: m for m in made if m.incident == incident}
        again = [m for m in last.values() if m.t_expired < at]
        return made + [replace(m, version_id=f"{m.slot}|{at}", t_created=at, t_expired=FOREVER) for m in again]
    opened = open_at(made, at)
    closed = {
        "revised": [m for m in opened if m.incident == incident],
        "earliest closed": opened[:1],
        "many closed": [m for m in opened if number % 2 == m.t_created % 2],
    }[what]
    made = [replace(m, t_expired=at) if m in closed else m for m in made]
    if what == "revised":
        slots = {f"mistake|{index}|{number}": category for index, category in enumerate(categories)}
        made += [
            replace(mistake(at, incident, category), version_id=f"{slot}|{at}", slot=slot)
            for slot, category in slots.items()
        ]
    return made


@st.composite
def busy_histories(draw: st.DrawFn) -> tuple[list[OpenMistake], list[Entry]]:
    """Mistakes of more incidents than a rule quotes, and the entries that consolidate sees: now and then, one is
    given up."""
    made: list[OpenMistake] = []
    entries: list[Entry] = []
    usual = draw(st.sampled_from((1, 3, QUOTES_MAX + 1)))
    first = [("revised", number, [*CATEGORIES]) for number in range(draw(st.integers(2, QUOTES_MAX + 4)))]
    for at, change in enumerate(first + draw(st.lists(CHANGES, min_size=5, max_size=25)), start=1):
        made = changed(made, at, change)
        if draw(st.integers(0, 15)):
            entries.append(Entry(at, draw(st.sampled_from((usual,) * 9 + (2, QUOTES_MAX + 2)))))
    return made, entries


@st.composite
def deliveries(draw: st.DrawFn, entries: Sequence[Entry]) -> list[Sequence[Entry]]:
    """Batches of ``entries``, in order, which begin with some that came before."""
    batches, start = [], 0
    while start < len(entries):
        end = start + draw(st.integers(1, 6))
        batches.append(entries[max(0, start - draw(st.integers(0, 4))) : end])
        start = end
    return batches


def touched(mistakes: Sequence[OpenMistake], at: int) -> set[str]:
    return {m.category for m in mistakes if at in (m.t_created, m.t_expired)}


def known_at(mistakes: Sequence[OpenMistake], at: int) -> list[OpenMistake]:
    """What the stage before has written when it has come to ``at``."""
    known = [m for m in mistakes if m.t_created <= at]
    return [m if m.t_expired <= at else replace(m, t_expired=FOREVER) for m in known]


def by_what_leads(
    mistakes: Sequence[OpenMistake], rules: Sequence[RuleVersion], batch: Sequence[Entry]
) -> list[Consolidated]:
    """What the worker makes of a batch, with lists in place of its queries."""
    window = Window.of((entry.at, entry.incidents_min) for entry in batch)
    standing = [replace(r) for r in rules if r.t_created <= window.until and r.t_expired > window.since]
    still_open = {m.version_id for m in mistakes if m.t_expired > window.until}
    at_rest = settled(standing, {r.version_id: len(still_open & set(r.rests_on)) for r in standing}, window)
    leading: list[OpenMistake] = []
    for category in CATEGORIES:
        of_category = [m for m in mistakes if m.category == category]
        first_of: dict[str, int] = {}
        for m in open_at([m for m in of_category if m.t_expired > window.until], window.since):
            first_of.setdefault(m.incident, m.t_created)
        has_enough = len(first_of) >= window.enough
        if not has_enough and window.enough > QUOTES_MAX:
            at_rest.discard(category)
        horizon = list(first_of.values())[window.enough - 1] if has_enough else window.until
        leading += [m for m in of_category if m.t_created <= horizon and m.t_expired > window.since]
    results = []
    for entry in batch:
        of_entry = touched(mistakes, entry.at) - at_rest
        made = consolidated(
            leading, entry.at, rules=standing, incidents_min=entry.incidents_min, categories=sorted(of_entry)
        )
        opened = open_at(mistakes, entry.at)
        results.append(counted(made, {c: len({m.incident for m in opened if m.category == c}) for c in CATEGORIES}))
    return results


def written(rules: list[RuleVersion], made: Consolidated, at: int) -> None:
    for version in rules:
        if version.version_id in made.withdrawn:
            version.t_expired = at
    rules += [RuleVersion(rule.version_id, rule.category, rule.rests_on, at, FOREVER) for rule in made.made]


@given(busy_histories(), st.booleans(), st.data())
def test_what_leads_decides_as_all_mistakes_do_whatever_the_batches_and_however_often_they_come(
    history: tuple[list[OpenMistake], list[Entry]], stage_before_is_ahead: bool, data: st.DataObject
) -> None:
    mistakes, entries = history
    expected_rules: list[RuleVersion] = []
    expected = {
        entry.at: consolidated(
            mistakes,
            entry.at,
            rules=expected_rules,
            incidents_min=entry.incidents_min,
            categories=sorted(touched(mistakes, entry.at)),
        )
        for entry in entries
    }
    rules: list[RuleVersion] = []
    watermark = 0
    for batch in data.draw(deliveries(entries)):
        known = mistakes if stage_before_is_ahead else known_at(mistakes, max(watermark, batch[-1].at))
        results = by_what_leads(known, rules, batch)
        assert results == [expected[entry.at] for entry in batch]
        for entry, result in zip(batch, results, strict=True):
            if entry.at > watermark:
                written(rules, result, entry.at)
        watermark = max(watermark, batch[-1].at)
    assert rules == expected_rules
