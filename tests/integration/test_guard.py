"""Guard over a real Redis and a real quarantine: what it admits, holds and refuses, and that it decides once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

import pytest

from tests.incidents import incident
from tests.memory import Memory, memory
from tests.records import HIDDEN, NOW, Clock, record
from twiceshy.events.chain import EntryLogged
from twiceshy.events.common import instant
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded, IncidentQuarantined, QuarantineState
from twiceshy.settings import OriginSettings, Settings
from twiceshy.stores.graph import FIRST_GENERATION
from twiceshy.stores.notes import Decisions, Progress
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.records import Output, Record
from twiceshy.stream.topics import TOPICS
from workers.guard import GuardStage, Incoming


@pytest.fixture(scope="module", name="stores")
async def _stores() -> AsyncIterator[Memory]:
    async with memory() as running:
        await Quarantine(running.stores.redis).prepare()
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tenant() -> str:
    """One of the test's own, so that its admissions are."""
    return f"t-{uuid4().hex[:8]}"


def guard(
    stores: Memory, clock: Clock, tenant: str, *, backfill: bool = False, log_ends: Sequence[int] = (), **settings: Any
) -> GuardStage:
    redis = stores.stores.redis

    async def log_end(partition: int) -> int:
        return log_ends[partition] if log_ends else 0

    return GuardStage(
        Settings(**{"tenants": (tenant,), **settings}),
        Decisions(redis),
        Quarantine(redis),
        Progress(redis, f"{FIRST_GENERATION}-{tenant}"),
        log_end,
        backfill=backfill,
        clock_ms=clock,
    )


async def handled(stage: GuardStage, *records: Record) -> list[list[Output]]:
    decoded = [stage.decode(one) for one in records]
    return await stage.handle(decoded)


def admitted(outputs: Sequence[Output]) -> EntryLogged:
    [output] = outputs
    assert output.topic == TOPICS.memory_log.name
    return EntryLogged.model_validate_json(output.value or b"")


async def test_admitted_event_carries_the_settings_of_its_moment(stores: Memory, clock: Clock, tenant: str) -> None:
    said = incident(1, tenant, origin={"name": "statuspage"})
    stage = guard(
        stores, clock, tenant, origins={"statuspage": OriginSettings(trust=0.9)}, many_valued=("runs_on",),
        rule_incidents_min=5,
    )  # fmt: skip
    [outputs] = await handled(stage, record(said, ce_time="2026-01-02T00:00:00Z"))
    logged = admitted(outputs)
    assert logged.settings.model_dump() == {
        "origin_trust": 0.9,
        "many_valued": ("runs_on",),
        "rule_incidents_min": 5,
    }
    assert (logged.admitted_at, logged.revised_at) == (NOW, 1_767_312_000_000)
    assert logged.incident == said
    assert not logged.backfill


@pytest.mark.parametrize(
    ("ce_time", "revised_at"),
    [(None, NOW), ("2999-01-01T00:00:00Z", NOW), ("1628-08-10T16:00:00Z", -10_773_244_800_000)],
)
async def test_revision_is_dated_by_its_event_and_never_later_than_its_admission(
    stores: Memory, clock: Clock, tenant: str, ce_time: str | None, revised_at: int
) -> None:
    [outputs] = await handled(guard(stores, clock, tenant), record(incident(1, tenant), ce_time=ce_time))
    assert admitted(outputs).revised_at == revised_at


async def test_redelivered_event_is_admitted_when_it_was_and_appended_under_a_key_of_its_own(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [first] = await handled(guard(stores, clock, tenant), record(incident(1, tenant)))
    clock.now += 1_000_000
    [again] = await handled(guard(stores, clock, tenant), record(incident(1, tenant)))
    assert admitted(first) == admitted(again)
    assert first[0].key != again[0].key
    assert first[0].key.decode().split("/")[:2] == [tenant, admitted(first).event_id]


async def test_admission_times_are_strictly_increasing_whatever_the_clock_does(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    stage = guard(stores, clock, tenant)
    times: list[int] = []
    for number, now in enumerate((NOW, NOW, NOW - 1_000_000, NOW + 5, 0, NOW + 6)):
        clock.now = now
        batch = [record(incident(n, tenant, concluded_at=instant(0), started_at=None, facts=[])) for n in (number, 99)]
        times += [admitted(outputs).admitted_at for outputs in await handled(stage, *batch)]
    own, repeated = times[::2], set(times[1::2])
    assert own == sorted(set(own))
    assert own == [NOW, NOW + 2, NOW + 3, NOW + 5, NOW + 6, NOW + 7]
    assert repeated == {NOW + 1}


async def test_two_guards_at_once_admit_no_two_events_at_one_time(stores: Memory, clock: Clock, tenant: str) -> None:
    live, backfill = guard(stores, clock, tenant), guard(stores, clock, tenant, backfill=True)
    batches = [[record(incident(n, tenant)) for n in range(start, start + 20)] for start in range(0, 200, 20)]
    made = await asyncio.gather(
        *(handled(stage, *batch) for batch, stage in zip(batches, [live, backfill] * 5, strict=True))
    )
    times = [admitted(outputs).admitted_at for batch in made for outputs in batch]
    assert sorted(times) == list(range(NOW, NOW + 200))


async def test_tenants_do_not_share_admission_times(stores: Memory, clock: Clock, tenant: str) -> None:
    [mine] = await handled(guard(stores, clock, tenant), record(incident(1, tenant)))
    [other] = await handled(guard(stores, clock, f"{tenant}x"), record(incident(1, f"{tenant}x")))
    assert admitted(mine).admitted_at == admitted(other).admitted_at == NOW


async def test_hidden_text_is_held_for_a_person_to_decide(stores: Memory, clock: Clock, tenant: str) -> None:
    said = incident(1, tenant, summary=f"Slow.{HIDDEN}")
    [outputs] = await handled(guard(stores, clock, tenant), record(said))
    topics = [TOPICS.incidents_quarantined.name, TOPICS.audit.name, TOPICS.incidents_outcomes.name]
    assert [output.topic for output in outputs] == topics
    item = IncidentQuarantined.model_validate_json(outputs[0].value or b"")
    audit = AuditRecorded.model_validate_json(outputs[1].value or b"")
    outcome = IncidentOutcome.model_validate_json(outputs[2].value or b"")
    assert (outputs[0].key, item.incident, item.state) == (item.item_id.encode(), said, QuarantineState.PENDING)
    assert [(reason.rule, reason.detail) for reason in item.reasons] == [("unicode-tag-characters", "summary")]
    assert item.expires_at - item.held_at == 72 * 3_600_000
    assert (outcome.outcome, outcome.reason, outcome.event_id) == (
        "quarantined",
        "unicode-tag-characters",
        item.event_id,
    )
    assert (audit.kind, audit.subject_id) == ("prompt_injection", item.item_id)
    assert b"Slow." not in (outputs[1].value or b"")
    assert await Quarantine(stores.stores.redis).items(tenant) == [item]


async def test_redelivered_event_is_held_once(stores: Memory, clock: Clock, tenant: str) -> None:
    stage, hidden = guard(stores, clock, tenant), record(incident(1, tenant, summary=HIDDEN))
    [first] = await handled(stage, hidden)
    clock.now += 1_000_000
    [again] = await handled(stage, hidden)
    assert first == again
    assert len(await Quarantine(stores.stores.redis).items(tenant)) == 1


async def test_backfill_waits_until_the_chain_has_room_and_today_does_not(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    ends = [500] * TOPICS.memory_log.partitions
    today = guard(stores, clock, tenant, log_ends=ends)
    later = guard(stores, clock, tenant, log_ends=ends, backfill=True)
    batch: list[Incoming] = [today.decode(record(incident(1, tenant)))]
    progress = Progress(stores.stores.redis, f"{FIRST_GENERATION}-{tenant}")
    for done, room in ((250, False), (476, True), (500, True)):
        await progress.note_positions("embed", dict.fromkeys(range(TOPICS.memory_log.partitions), (done - 1, "key")))
        assert await later.has_room(batch) == room
        assert await today.has_room(batch)


async def test_backfill_has_room_where_nothing_was_ever_logged(stores: Memory, clock: Clock, tenant: str) -> None:
    stage = guard(stores, clock, tenant, backfill=True)
    batch = [stage.decode(record(incident(1, tenant)))]
    assert await stage.has_room(batch)
    [outputs] = await stage.handle(batch)
    assert admitted(outputs).backfill


async def test_inputs_are_noted_with_what_was_refused_among_them(stores: Memory, clock: Clock, tenant: str) -> None:
    stage = guard(stores, clock, tenant)
    good, junk = record(incident(1, tenant)), Record(TOPICS.incidents_concluded.name, 0, 8, None, b"{", {}, NOW)
    await stage.finished([stage.decode(good)], [good, junk])
    notes = await Progress(stores.stores.redis, "inputs").of(TOPICS.incidents_concluded.name)
    assert notes[0].offset == 8
