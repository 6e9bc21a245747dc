"""Which items a decision changes, and what it says when it changes none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.incidents import incident
from twiceshy.core.quarantine import (
    AFTER,
    BEFORE,
    DECIDED_BYTES_MAX,
    DECIDED_ITEMS_MAX,
    DECISIONS_KEPT,
    Candidate,
    Refusal,
    changed_at,
    counted,
    digest,
    judged,
    mark,
    standing,
    taken,
)
from twiceshy.events.quarantine import (
    IncidentQuarantined,
    QuarantineDecided,
    QuarantineReason,
    QuarantineSettlement,
    QuarantineState,
)

AT = 1_800_000_000_000
GROUP = {"origin": "pagerduty", "subject": "checkout times out"}
STATES = st.sampled_from(list(QuarantineState))
DECISIONS = st.sampled_from(["approve", "deny", "reopen"])


def candidate(number: int = 0, state: str = "pending", **changes: Any) -> Candidate:
    told: dict[str, Any] = {
        "item_id": f"item-{number}",
        "event_id": f"event-{number}",
        "state": QuarantineState(state),
        "held_at": AT - 1_000 + number,
        "changed_at": AT - 1_000 + number,
        "content_hash": f"hash-{number}",
        "rules_version": "r1",
        "size": 1_000,
        "last": None,
    }
    return Candidate(**{**told, **changes})


def decided(decision: str = "approve", *items: int, **changes: Any) -> QuarantineDecided:
    ids = [f"item-{number}" for number in items]
    told = {"tenant": "payments", "decision": decision, "items": ids, "who": "ada", "why": "It was looked at."}
    return QuarantineDecided.model_validate({**told, **changes})


def settlement(decision: str, **changes: Any) -> QuarantineSettlement:
    who = None if decision == "expire" else "ada"
    told = {"event_id": f"by-{decision}", "decision": decision, "who": who, "at": AT - 60_000}
    return QuarantineSettlement.model_validate({**told, **changes})


def item(**changes: Any) -> IncidentQuarantined:
    told: dict[str, Any] = {
        "item_id": "item-0",
        "event_id": "event-0",
        "tenant": "default",
        "origin": "pagerduty",
        "content_hash": "hash-0",
        "incident": incident(0),
        "reasons": [QuarantineReason(rule="override", category="prompt_injection")],
        "held_at": AT - 1_000,
        "expires_at": AT + 1_000,
        "trust": 0.8,
    }
    return IncidentQuarantined.model_validate({**told, **changes})


def refused(verdict: list[str] | Refusal) -> tuple[str, str]:
    assert isinstance(verdict, Refusal)
    return verdict.reason, verdict.detail


@given(DECISIONS, st.lists(st.tuples(STATES, st.integers(-5, 5), st.integers(1, DECIDED_BYTES_MAX)), max_size=8))
def test_decision_changes_what_it_can_change_and_was_not_changed_later_and_counts_all(
    decision: str, items: list[tuple[QuarantineState, int, int]]
) -> None:
    found = [
        candidate(number, state, changed_at=AT + later, size=size, last=settlement("deny"))
        for number, (state, later, size) in enumerate(items)
    ]
    asked = decided(decision, *range(len(found) + 1))
    verdict = judged(asked, found, AT)
    fitting = [one for one in found if one.state in BEFORE[decision] and one.changed_at < AT]
    if isinstance(verdict, Refusal):
        assert fitting == []
        return
    assert verdict == [one.item_id for one in fitting][: len(verdict)] != []
    numbers = counted(asked, found, verdict, AT)
    assert sum(numbers.values()) == len(found) + 1
    assert numbers.get("items_left", 0) == len(fitting) - len(verdict)


@given(st.lists(DECISIONS, max_size=6), st.floats(0, 1))
def test_item_is_trusted_as_it_was_unless_it_is_rejected(decisions: list[str], trust: float) -> None:
    state, settled, standing_item = QuarantineState.PENDING, list[QuarantineSettlement](), item(trust=trust)
    for number, decision in enumerate(["deny", "expire", *decisions]):
        if state in BEFORE[decision]:
            state = AFTER[decision]
            settled.append(settlement(decision, at=AT + number))
        standing_item = standing(standing_item, state, AT + 5_000, settled)
        floored = state in (QuarantineState.REJECTED, QuarantineState.EXPIRED)
        assert standing_item.trust == (min(trust, 0.1) if floored else trust)
        assert standing_item.state is state
    assert changed_at(standing_item) == settled[-1].at
    assert IncidentQuarantined.model_validate_json(standing_item.model_dump_json()) == standing_item


def test_item_whose_trust_nobody_knows_has_none_in_any_state() -> None:
    assert standing(item(trust=None), QuarantineState.REJECTED, AT, [settlement("deny")]).trust is None


def test_item_keeps_the_newest_of_its_decisions_however_many_there_were() -> None:
    made = [settlement("deny" if number % 2 else "reopen", at=AT + number) for number in range(DECISIONS_KEPT + 5)]
    kept = standing(item(), QuarantineState.PENDING, AT, made)
    assert kept.decisions == tuple(made[5:])
    assert changed_at(kept) == made[-1].at


def test_one_decision_is_about_five_hundred_items_and_eight_megabytes_at_most() -> None:
    many = [candidate(number) for number in range(DECIDED_ITEMS_MAX + 7)]
    assert taken(many) == many[:DECIDED_ITEMS_MAX]
    large = [candidate(number, size=DECIDED_BYTES_MAX // 3) for number in range(5)]
    assert taken(large) == large[:3]
    larger = [candidate(number, size=DECIDED_BYTES_MAX * 2) for number in range(2)]
    assert taken(larger) == larger[:1]
    group = decided(group=GROUP)
    assert judged(group, many, AT) == [one.item_id for one in many[:DECIDED_ITEMS_MAX]]
    assert counted(group, many, [one.item_id for one in many[:DECIDED_ITEMS_MAX]], AT) == {
        "items_released": DECIDED_ITEMS_MAX,
        "items_left": 7,
    }


def test_decision_is_bound_to_the_content_of_one_item() -> None:
    assert digest([candidate(3)]) == "hash-3"
    assert judged(decided("deny", 3, content_hash="hash-3"), [candidate(3)], AT) == ["item-3"]
    assert refused(judged(decided("deny", 3, content_hash="hash-4"), [candidate(3)], AT)) == (
        "changed",
        "This is not what was looked at: look again, with `twiceshy quarantine list`.",
    )


def test_decision_is_bound_to_the_rules_that_held_what_was_looked_at() -> None:
    assert judged(decided("deny", 3, rules_version="r1"), [candidate(3)], AT) == ["item-3"]
    assert refused(judged(decided("deny", 3, rules_version="r2"), [candidate(3)], AT))[0] == "changed"
    mixed = [candidate(3), candidate(4, rules_version="r2")]
    assert refused(judged(decided("deny", 3, 4, rules_version="r1"), mixed, AT))[0] == "changed"


def test_digest_of_several_names_each_its_content_and_its_rules_in_any_order() -> None:
    several = [candidate(1), candidate(2)]
    assert digest(several) == digest(several[::-1])
    others = (
        [candidate(1), candidate(2, content_hash="other")],
        [candidate(1), candidate(2, rules_version="r2")],
        [candidate(1), candidate(3)],
        [candidate(1), candidate(2), candidate(3)],
    )
    assert digest(several) not in {digest(other) for other in others}


def test_mark_is_short_and_of_these_items_with_this_content_by_these_rules_and_of_no_others() -> None:
    shown = [candidate(1), candidate(2)]
    others: tuple[list[Candidate], ...] = (
        [],
        [candidate(1)],
        [*shown, candidate(3)],
        [candidate(1), candidate(3)],
        [candidate(1), candidate(2, content_hash="other")],
        [candidate(1), candidate(2, rules_version="r2")],
    )
    assert mark(shown) == mark(shown[::-1])
    assert len({mark(shown), *(mark(other) for other in others)}) == len(others) + 1
    assert len(mark(shown)) == 20
    held = item(rules_version="r1")
    assert mark([held]) == mark([candidate(0)])


def test_decision_on_a_group_is_about_what_was_looked_at_and_not_about_what_came_since() -> None:
    found = [candidate(1), candidate(2), candidate(3)]
    asked = decided(group=GROUP, seen_until=found[1].held_at, content_hash=digest(found[:2]))
    assert judged(asked, found, AT) == ["item-1", "item-2"]
    assert counted(asked, found, ["item-1", "item-2"], AT) == {"items_released": 2}
    assert refused(judged(asked, found[1:], AT))[0] == "changed"


REFUSALS = {
    "unknown": (
        decided("deny", 9),
        [],
        "unknown_item",
        "There is no item item-9 in the quarantine of tenant payments: `twiceshy quarantine list` shows what is.",
    ),
    "all unknown": (
        decided("deny", 8, 9),
        [],
        "unknown_item",
        "There is none of these items in the quarantine of tenant payments: `twiceshy quarantine list` shows what is.",
    ),
    "empty group": (
        decided("reopen", group=GROUP),
        [],
        "nothing_held",
        "Nothing of this group is rejected or expired in the quarantine of tenant payments: "
        "`twiceshy quarantine list --state all` shows what is there.",
    ),
    "approved": (
        decided("deny", 1),
        [candidate(1, "released", last=settlement("approve"))],
        "already_decided",
        "Item item-1 was approved by ada on 2027-01-15 07:59:00 UTC: it is in the log, and memory forgets no single "
        "incident.",
    ),
    "denied": (
        decided("approve", 1),
        [candidate(1, "rejected", last=settlement("deny"))],
        "already_decided",
        "Item item-1 was denied by ada on 2027-01-15 07:59:00 UTC: "
        "`twiceshy quarantine reopen` makes it pending again.",
    ),
    "expired": (
        decided("approve", 1),
        [candidate(1, "expired", last=settlement("expire"))],
        "already_decided",
        "Item item-1 was not decided on in time, and expired on 2027-01-15 07:59:00 UTC: "
        "`twiceshy quarantine reopen` makes it pending again.",
    ),
    "pending": (
        decided("reopen", 1),
        [candidate(1)],
        "pending",
        "Item item-1 is pending: there is nothing to reopen.",
    ),
    "reopened since": (
        decided("deny", 1),
        [candidate(1, changed_at=AT, last=settlement("reopen", at=AT))],
        "pending",
        "Item item-1 was reopened by ada on 2027-01-15 08:00:00 UTC: look at it, and decide on it as it is now.",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_decision_that_changes_nothing_says_why(name: str) -> None:
    asked, found, reason, detail = REFUSALS[name]
    assert refused(judged(asked, found, AT)) == (reason, detail)
