"""Bursts, over a real Redis: what says the same too often is held, and each event keeps the answer that it got."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.guards import admitted, guard, handled, held, verdict
from tests.incidents import incident
from tests.memory import Memory
from tests.records import HIDDEN, NOW, Clock, record
from twiceshy.core.burst_limits import BurstLimits
from twiceshy.errors import TransientError
from twiceshy.events.incident import IncidentConcluded
from twiceshy.settings import OriginSettings
from twiceshy.stores.decisions import DECISIONS_KEPT_DAYS, OVER_KEPT, Asked, Decisions
from twiceshy.stream.records import Record
from twiceshy.stream.topics import TOPICS
from workers.guard import GuardStage

DEFAULTS: dict[str, Any] = {"burst": {}}
HOUR_MS = 3_600_000


@pytest.fixture
def stage(stores: Memory, clock: Clock, tenant: str) -> GuardStage:
    return guard(stores, clock, tenant, **DEFAULTS)


def alike(number: int, tenant: str, **changes: Any) -> IncidentConcluded:
    """The incident of a number, about the disk of which all of them are."""
    return incident(number, tenant, **({"title": f"Disk {number} is full", "facts": []} | changes), entities=[])


async def verdicts(stage: GuardStage, *said: IncidentConcluded | Record) -> str:
    """``a`` for each that was admitted, ``h`` for each that was held."""
    records = [one if isinstance(one, Record) else record(one) for one in said]
    return "".join(verdict(outputs)[0] for outputs in await handled(stage, *records))


async def test_five_and_one_more_with_a_redelivery_among_them_and_all_again_have_the_answers_that_they_had(
    stage: GuardStage, clock: Clock, tenant: str
) -> None:
    six = [record(alike(number, tenant)) for number in range(6)]
    first = await handled(stage, *six[:3], six[1], *six[3:5])
    assert [verdict(outputs) for outputs in first] == ["admit"] * 6
    assert admitted(first[1]) == admitted(first[3])
    [sixth] = await handled(stage, six[5])
    clock.now += 30 * 24 * HOUR_MS
    again = await handled(stage, *six)
    before = [admitted(outputs) for outputs in (*first[:3], *first[4:])]
    assert [admitted(outputs) for outputs in again[:5]] == before
    assert again[5] == sixth
    item = held(sixth)
    assert [(reason.rule, reason.category, reason.detail, reason.burst_count) for reason in item.reasons] == [
        ("burst-subject", "burst", "disk # is full", 6)
    ]
    assert item.subject == "disk # is full"
    assert set(item.flagged) == {entry.event_id for entry in before}


async def test_alert_storm_of_forty_different_alerts_on_one_service_is_admitted(stage: GuardStage, tenant: str) -> None:
    what = ("cpu", "memory", "disk", "latency", "errors", "queue", "replicas", "certificate")
    how = ("is high", "rises", "is saturated", "misses its objective", "is gone")
    service = [{"type": "service", "ref": "payments", "role": "affected"}]
    storm = [
        incident(number, tenant, title=f"{what[number % 8]} of payments {how[number // 8]}", entities=service, facts=[])
        for number in range(40)
    ]
    assert await verdicts(stage, *storm) == "a" * 40


async def test_alerts_that_differ_in_numbers_alone_are_a_burst(stage: GuardStage, tenant: str) -> None:
    assert await verdicts(stage, *(alike(number, tenant) for number in range(40))) == "a" * 5 + "h" * 35


async def test_window_slides(stage: GuardStage, clock: Clock, tenant: str) -> None:
    assert await verdicts(stage, *(alike(number, tenant) for number in range(5))) == "aaaaa"
    clock.now += HOUR_MS - 1_000
    assert await verdicts(stage, alike(5, tenant)) == "h"
    clock.now += 1_000
    assert await verdicts(stage, *(alike(number, tenant) for number in range(6, 12))) == "aaaahh"


async def test_flood_that_goes_on_is_held_for_as_long_as_it_does(stage: GuardStage, clock: Clock, tenant: str) -> None:
    got = ""
    for number in range(60):
        got += await verdicts(stage, alike(number, tenant))
        clock.now += 5 * 60_000
    assert got == "a" * 5 + "h" * 55


async def test_incident_counts_once_however_often_it_is_revised(stage: GuardStage, tenant: str) -> None:
    revisions = [alike(1, tenant, summary=f"Revision {number}.") for number in range(20)]
    assert await verdicts(stage, *revisions, *(alike(number, tenant) for number in range(2, 6))) == "a" * 24
    assert await verdicts(stage, alike(6, tenant), alike(1, tenant, summary="One more.")) == "ha"


async def test_what_was_held_does_not_get_in_by_a_second_try(stage: GuardStage, tenant: str) -> None:
    assert await verdicts(stage, *(alike(number, tenant) for number in range(6))) == "aaaaah"
    assert await verdicts(stage, *(alike(5, tenant, summary=f"Try {number}.") for number in range(9))) == "h" * 9


async def test_revision_that_turns_to_another_subject_counts_there(stage: GuardStage, tenant: str) -> None:
    others = [alike(number, tenant, title=f"{letter} is slow") for number, letter in enumerate("abcdefgh")]
    assert await verdicts(stage, *others) == "a" * 8
    assert await verdicts(stage, *(alike(number, tenant) for number in range(8))) == "aaaaahhh"


async def test_attempts_that_are_held_for_their_text_count_as_well(
    stage: GuardStage, stores: Memory, clock: Clock, tenant: str
) -> None:
    poisoned = [alike(number, tenant, summary=HIDDEN) for number in range(3)]
    assert await verdicts(stage, *poisoned, *(alike(number, tenant) for number in range(3, 6))) == "hhhaah"
    [sixth] = await handled(stage, record(alike(5, tenant)))
    assert len(held(sixth).flagged) == 2
    assert await verdicts(stage, alike(0, tenant, summary="It was full.")) == "a"


async def test_same_claim_under_different_titles_is_a_burst(stage: GuardStage, tenant: str) -> None:
    claim = {"subject": "service:payments", "predicate": "pool_size", "valid_from": "2026-01-01T00:00:00Z"}
    claims = [
        incident(number, tenant, title=f"{letter} is slow", facts=[{**claim, "object": letter}], entities=[])
        for number, letter in enumerate("abcdef")
    ]
    made = await handled(stage, *map(record, claims))
    assert "".join(verdict(outputs)[0] for outputs in made) == "aaaaah"
    item = held(made[5])
    assert [reason.detail for reason in item.reasons] == ["service:payments / pool_size"]
    assert item.subject == "f is slow"
    assert set(item.flagged) == {admitted(outputs).event_id for outputs in made[:5]}


async def test_new_name_buys_nothing_and_a_listed_origin_has_windows_of_its_own(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    stage = guard(stores, clock, tenant, **DEFAULTS, origins={"pagerduty": OriginSettings(trust=0.3)})
    names = [alike(number, tenant, origin={"name": f"tool-{number}"}) for number in range(6)]
    assert await verdicts(stage, *names) == "aaaaah"
    listed = [alike(number, tenant, origin={"name": "pagerduty"}) for number in range(6, 12)]
    assert await verdicts(stage, *listed) == "aaaaah"


def worded(number: int, tenant: str, **changes: Any) -> IncidentConcluded:
    """The incident of a number, about something of its own."""
    word = "".join(chr(ord("a") + int(digit)) for digit in str(number))
    return alike(number, tenant, title=f"{word} is full", **changes)


async def test_origin_has_a_cap_whatever_it_speaks_of(stores: Memory, clock: Clock, tenant: str) -> None:
    capped = {"loud": OriginSettings(trust=0.3, burst_max=8), "usual": OriginSettings(trust=0.3)}
    stage = guard(stores, clock, tenant, burst={"max_per_origin": 4}, origins=capped)
    loud, usual, other = (
        [worded(number, tenant, origin={"name": name}) for number in range(10)] for name in ("loud", "usual", "other")
    )
    assert await verdicts(stage, *loud) == "a" * 8 + "hh"
    assert await verdicts(stage, *usual) == "a" * 4 + "h" * 6
    assert await verdicts(stage, *other) == "a" * 4 + "h" * 6
    [over] = await handled(stage, record(loud[9]))
    assert [(reason.rule, reason.detail) for reason in held(over).reasons] == [("burst-origin", "loud")]
    assert held(over).flagged == ()


async def test_backfill_is_judged_by_when_its_incidents_ended(stores: Memory, clock: Clock, tenant: str) -> None:
    stage = guard(stores, clock, tenant, backfill=True, **DEFAULTS)
    beginning = incident(0).concluded_at
    year = [alike(day, tenant, concluded_at=beginning + timedelta(days=day), started_at=None) for day in range(365)]
    assert await verdicts(stage, *reversed(year)) == "a" * 365
    one_day = [alike(500 + number, tenant, concluded_at=beginning, started_at=None) for number in range(6)]
    assert await verdicts(stage, *one_day) == "aaaahh"
    today = guard(stores, clock, tenant, **DEFAULTS)
    assert await verdicts(today, *(alike(number, tenant) for number in range(1_000, 1_006))) == "aaaaah"


async def test_time_is_the_brokers_where_it_keeps_it(stage: GuardStage, clock: Clock, tenant: str) -> None:
    apart = [
        replace(record(alike(number, tenant)), appended_ms=NOW - (20 - number) * HOUR_MS // 4) for number in range(20)
    ]
    assert await verdicts(stage, *apart) == "a" * 4 + "a" * 16
    at_once = [replace(record(alike(number, tenant)), appended_ms=NOW) for number in range(20, 23)]
    assert await verdicts(stage, *at_once) == "aah"


async def test_everything_that_is_kept_of_bursts_is_bounded_and_goes_by_itself(
    stores: Memory, stage: GuardStage, tenant: str
) -> None:
    redis = stores.stores.redis
    known = set(await redis.keys("twiceshy:*"))
    limits = BurstLimits()
    flood = [alike(number, tenant) for number in range(limits.max_per_subject + OVER_KEPT + 50)]
    await handled(stage, *map(record, flood))
    fresh = set(await redis.keys("twiceshy:*")) - known - {f"twiceshy:admitted:{tenant}"}
    assert all([await redis.ttl(key) > 0 for key in fresh])
    windows = [key for key in fresh if await redis.type(key) == "zset"]
    sizes = sorted([await redis.zcard(key) for key in windows])
    assert sizes[:2] == [limits.max_per_subject, limits.max_per_subject + OVER_KEPT]
    assert sizes[2:] == [len(flood)]
    assert len(flood) < limits.max_per_origin


async def test_decisions_outlive_every_input(stores: Memory, tenant: str) -> None:
    inputs = [topic for topic in TOPICS.all() if "guard" in topic.consumers]
    assert {TOPICS.incidents_concluded, TOPICS.incidents_backfill, TOPICS.memory_commands} <= set(inputs)
    longest = max(topic.retention_days or 0 for topic in inputs)
    assert longest < DECISIONS_KEPT_DAYS
    await Decisions(stores.stores.redis).decide([(tenant, f"{tenant}-event", "admit")], NOW)
    kept_seconds = await stores.stores.redis.ttl(f"twiceshy:decided:{tenant}-event")
    assert kept_seconds > longest * 86_400


async def test_decision_of_an_earlier_version_is_understood(stores: Memory, tenant: str) -> None:
    await stores.stores.redis.set(f"twiceshy:decided:{tenant}-event", "123 hold")
    [decided] = await Decisions(stores.stores.redis).decide_counted([Asked(tenant, f"{tenant}-event", "admit")], NOW)
    assert (decided.admitted_at, decided.verdict, decided.bursts, decided.flagged) == (123, "hold", (), ())


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 12), st.integers(0, 2), st.integers(0, 40 * 60_000)), max_size=40
    )
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_window_ever_admits_more_than_its_limit_and_every_event_keeps_its_answer(
    stores: Memory, events: Sequence[tuple[int, int, int, int]]
) -> None:
    tenant, clock = f"t-{uuid4().hex[:8]}", Clock()
    stage = guard(stores, clock, tenant, burst={"max_per_subject": 2})
    answers: dict[tuple[int, int, int], str] = {}
    times: dict[tuple[int, int], int] = {}
    for about, number, revision, wait_ms in events:
        clock.now += wait_ms
        title = f"{'abcd'[about]} is slow"
        got = await verdicts(stage, alike(number, tenant, title=title, summary=str(revision)))
        assert answers.setdefault((about, number, revision), got) == got
        if got == "a":
            times.setdefault((about, number), clock.now)
    for about in range(4):
        counted = sorted(at for (subject, _), at in times.items() if subject == about)
        assert all(later - earlier >= HOUR_MS for earlier, later in zip(counted, counted[2:], strict=False))


async def test_with_redis_away_guard_waits_and_waves_nothing_through(
    stores: Memory, stage: GuardStage, tenant: str
) -> None:
    batch = [stage.decode(record(alike(number, tenant))) for number in range(6)]
    await stores.kill("falkordb")
    with pytest.raises(TransientError):
        await stage.handle(batch)
    await stores.restart("falkordb")
    made = await stage.handle(batch)
    assert [verdict(outputs) for outputs in made] == ["admit"] * 5 + ["hold"]
