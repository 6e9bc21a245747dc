"""Guard over a real Redis and a real quarantine: what it admits, holds and refuses, and that it decides once."""

import asyncio
from pathlib import Path

import pytest

from tests.guards import admitted, guard, handled, held, verdict
from tests.held import Sent, about, carried_out, deciding, decision, sweep, values
from tests.held import item as made
from tests.incidents import incident
from tests.memory import Memory, read_incidents
from tests.records import HIDDEN, NOW, SOURCE, Clock, record, signed
from twiceshy.contracts import EXAMPLE_INCIDENTS
from twiceshy.core.ids import derive
from twiceshy.core.scan import RULES_VERSION
from twiceshy.events.chain import EntryLogged
from twiceshy.events.common import instant
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded, IncidentQuarantined, QuarantineSettlement, QuarantineState
from twiceshy.settings import OriginSettings
from twiceshy.stores.graph import FIRST_GENERATION
from twiceshy.stores.notes import Progress
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.records import Record
from twiceshy.stream.topics import TOPICS
from workers.guard import Incoming, content_hash


async def test_admitted_event_carries_the_settings_of_its_moment(stores: Memory, clock: Clock, tenant: str) -> None:
    said = incident(1, tenant, origin={"name": "statuspage"})
    stage = guard(
        stores, clock, tenant, origins={"statuspage": OriginSettings(trust=0.2)}, many_valued=("runs_on",),
        rule_incidents_min=5,
    )  # fmt: skip
    [outputs] = await handled(stage, record(said, ce_time="2026-01-02T00:00:00Z"))
    logged = admitted(outputs)
    assert logged.settings.model_dump() == {
        "origin_trust": 0.2,
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


async def test_entry_says_what_was_masked_and_has_none_of_it(stores: Memory, clock: Clock, tenant: str) -> None:
    said = incident(1, tenant, summary="Refused by 10.0.0.7, then by 10.0.0.7 and 10.0.0.8.")
    [outputs] = await handled(guard(stores, clock, tenant), record(said))
    logged = admitted(outputs)
    assert logged.incident is not None
    assert logged.incident.summary == "Refused by <ip-1>, then by <ip-1> and <ip-2>."
    assert logged.masked == {"ip": 2}
    assert logged.content_hash == content_hash(logged.incident)
    assert b"10.0.0" not in (outputs[0].value or b"")


async def test_host_names_are_masked_by_the_patterns_of_their_own_tenant(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    patterns = {tenant: (r"[a-z0-9-]+\.corp\.internal-example",)}
    stage = guard(stores, clock, tenant, tenants=(tenant, f"{tenant}x"), internal_hosts=patterns)
    both = [incident(1, whose, summary="db7.corp.internal-example is gone.") for whose in (tenant, f"{tenant}x")]
    mine, other = [admitted(outputs).incident for outputs in await handled(stage, *map(record, both))]
    assert mine is not None
    assert other is not None
    assert mine.summary != "db7.corp.internal-example is gone."
    assert other.summary == "db7.corp.internal-example is gone."


async def test_risky_advice_is_admitted_labelled_and_trusted_half_as_far(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [outputs] = await handled(guard(stores, clock, tenant), record(incident(1, tenant, steps=["setenforce 0"])))
    logged = admitted(outputs)
    assert logged.risky != ()
    assert logged.settings.origin_trust == 0.15


async def test_lone_invisible_character_is_taken_out_of_what_is_admitted(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    said = incident(1, tenant, steps=["kube\u200bctl rollout undo"])
    [outputs] = await handled(guard(stores, clock, tenant), record(said))
    logged = admitted(outputs)
    assert logged.incident is not None
    assert logged.incident.steps == ("kubectl rollout undo",)


async def test_item_has_all_that_an_entry_of_it_would(stores: Memory, clock: Clock, tenant: str) -> None:
    said = incident(1, tenant, summary=f"From 10.0.0.7.{HIDDEN}", steps=["setenforce 0"], title="Disk 7 is full")
    [outputs] = await handled(guard(stores, clock, tenant), record(said, ce_time="2026-01-02T00:00:00Z"))
    item = held(outputs)
    assert item.incident.summary == f"From <ip-1>.{HIDDEN}"
    assert (item.masked, item.trust, item.rules_version) == ({"ip": 1}, 0.15, RULES_VERSION)
    assert item.risky != ()
    assert (item.ce_source, item.ce_id, item.time_ms) == (SOURCE, "1", 1_767_312_000_000)
    assert item.subject.startswith("disk # is full @ service:")


async def test_copy_without_the_signature_takes_neither_place_nor_decision_of_the_signed_event(
    stores: Memory, clock: Clock, tenant: str, tmp_path: Path
) -> None:
    (tmp_path / "a.key").write_bytes(b"s" * 32)
    alerting = {"secret": f"file:{tmp_path}/a.key", "tenants": [tenant], "origins": ["pagerduty"]}
    origins = {"pagerduty": {"trust": 0.9}}
    stage = guard(stores, clock, tenant, credentials={"alerting": alerting}, unsigned=[tenant], origins=origins)
    said = incident(1, tenant, origin={"name": "pagerduty"})
    copied, vouched = await handled(stage, record(said), signed(record(said), "alerting", b"s" * 32))
    stolen, entry = admitted(copied), admitted(vouched)
    assert stolen.event_id != entry.event_id
    assert (entry.admission.signed_by, entry.settings.origin_trust, entry.incident) == ("alerting", 0.9, said)
    assert (stolen.admission.signed_by, stolen.settings.origin_trust) == (None, 0.3)

    hidden = incident(2, tenant, origin={"name": "pagerduty"}, summary=HIDDEN)
    of_stranger, of_owner = await handled(stage, record(hidden), signed(record(hidden), "alerting", b"s" * 32))
    assert held(of_stranger).item_id != held(of_owner).item_id
    assert (held(of_stranger).signed_by, held(of_owner).signed_by) == (None, "alerting")


async def test_redelivery_of_what_was_decided_on_is_told_as_it_stands(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    stage, hidden = guard(stores, clock, tenant), record(incident(1, tenant, summary=HIDDEN))
    [first] = await handled(stage, hidden)
    settlement = QuarantineSettlement(event_id="decision", decision="deny", who="ada", at=NOW + 1)
    await Quarantine(stores.stores.redis).settle(tenant, [held(first).item_id], settlement)
    [again] = await handled(stage, hidden)
    assert again[1].value == first[1].value
    assert IncidentQuarantined.model_validate_json(again[0].value or b"").state is QuarantineState.REJECTED
    outcome = IncidentOutcome.model_validate_json(again[2].value or b"")
    assert (outcome.outcome, outcome.reason) == ("rejected", "quarantine_reject")


async def test_examples_are_all_admitted_by_a_guard_of_which_nothing_was_set(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    stage = guard(stores, clock, tenant, burst={})
    examples = [said.model_copy(update={"tenant": tenant}) for said in read_incidents(EXAMPLE_INCIDENTS)]
    for _ in range(2):
        for outputs in await handled(stage, *map(record, examples)):
            assert admitted(outputs).settings.origin_trust == 0.3


async def test_redelivered_event_is_held_once(stores: Memory, clock: Clock, tenant: str) -> None:
    stage, hidden = guard(stores, clock, tenant), record(incident(1, tenant, summary=HIDDEN))
    [first] = await handled(stage, hidden)
    clock.now += 1_000_000
    [again] = await handled(stage, hidden)
    assert first == again
    assert len(await Quarantine(stores.stores.redis).items(tenant)) == 1


async def test_event_that_is_twice_in_a_batch_is_held_once_and_told_twice(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    hidden = record(incident(1, tenant, summary=HIDDEN))
    first, again = await handled(guard(stores, clock, tenant), hidden, hidden)
    assert first == again
    assert await Quarantine(stores.stores.redis).items(tenant) == [held(first)]


async def test_event_of_an_item_that_was_released_is_appended_again_so_that_its_outcome_is_told_again(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    stage, hidden = guard(stores, clock, tenant), record(incident(1, tenant, summary=HIDDEN))
    [first] = await handled(stage, hidden)
    clock.now += 1_000
    approved = await carried_out(deciding(stores, clock, tenant), decision(about(tenant, "approve", held(first))))
    clock.now += 1_000
    [again] = await handled(stage, hidden)
    [entry, appended] = [
        EntryLogged.model_validate_json(value)
        for outputs in (approved, again)
        for value in values(outputs, TOPICS.memory_log)
    ]
    assert appended == entry.model_copy(update={"admitted_at": NOW + 1_000})
    assert appended.admission.how == "released"


async def test_clean_event_is_kept_out_by_its_item_when_its_first_decision_is_forgotten(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    stage = guard(stores, clock, tenant)
    batch = [stage.decode(record(incident(number, tenant))) for number in range(4)]
    states = [QuarantineState.PENDING, QuarantineState.REJECTED, QuarantineState.RELEASED]
    await Quarantine(stores.stores.redis).hold(
        [
            made(
                number, tenant, event_id=batch[number].event_id, item_id=derive("quarantined", batch[number].event_id),
                state=state,
            )
            for number, state in enumerate(states)
        ]
    )  # fmt: skip
    assert [verdict(outputs) for outputs in await stage.handle(batch)] == ["hold", "hold", "admit", "admit"]


async def test_item_that_is_decided_on_while_it_is_told_is_told_as_it_stands_at_last(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    stage, hidden, sent = guard(stores, clock, tenant), record(incident(1, tenant, summary=HIDDEN)), Sent()
    batch = [stage.decode(hidden)]
    [outputs] = await stage.handle(batch)
    denied = decision(about(tenant, "deny", held(outputs)))
    await carried_out(deciding(stores, clock, tenant), denied)
    await sent.send(outputs)
    await stage.finished(batch, [hidden])
    assert [await sweep(stores, clock, sent).sweep() for _ in range(2)] == [1, 0]
    last = IncidentQuarantined.model_validate_json(values(sent.outputs, TOPICS.incidents_quarantined)[-1])
    assert [last] == await Quarantine(stores.stores.redis).items(tenant)
    assert last.state is QuarantineState.REJECTED


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
