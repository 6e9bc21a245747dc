"""Decisions and expiries over a real quarantine: carried out once, and told in full, whatever comes between."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.held import (
    HOURS_72,
    SUBJECT,
    Sent,
    about,
    carried_out,
    deciding,
    decision,
    held,
    item,
    outcomes,
    standing,
    sweep,
    values,
)
from tests.incidents import incident
from tests.memory import Memory
from tests.records import NOW, Clock
from twiceshy.core.canonical import held_lines
from twiceshy.core.quarantine import DECIDED_ITEMS_MAX, digest
from twiceshy.errors import FencedError, PoisonError, TransientError
from twiceshy.events.chain import EntryLogged
from twiceshy.events.quarantine import AuditRecorded, IncidentQuarantined, QuarantineGroup, QuarantineState
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.codec import encode
from twiceshy.stream.records import Output, Record
from twiceshy.stream.topics import TOPICS
from workers.guard_sweep import SWEPT_MAX
from workers.review import Earlier, reviewed

GROUP = {"origin": "pagerduty", "subject": SUBJECT}


def entries(outputs: Sequence[Output]) -> list[EntryLogged]:
    return [EntryLogged.model_validate_json(value) for value in values(outputs, TOPICS.memory_log)]


def told_again(outputs: Sequence[Output]) -> list[tuple[str, bytes | None, object]]:
    """Outputs without the keys of the log's records, which are fresh for each append."""
    return [
        (output.topic, None if output.topic == TOPICS.memory_log.name else output.key, (output.value, output.headers))
        for output in outputs
    ]


async def test_approved_item_becomes_the_entry_that_it_would_have_been(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    early = NOW - 5_000_000
    [one] = await held(
        stores, item(1, tenant, time_ms=early, masked={"email": 2}, risky=("selinux",), trust=0.15, backfill=True)
    )
    stage = deciding(stores, clock, tenant, many_valued=("runs_on",), rule_incidents_min=5)
    outputs = await carried_out(stage, decision(about(tenant, "approve", one)))
    [entry] = entries(outputs)
    assert (entry.event_id, entry.incident, entry.content_hash) == (one.event_id, one.incident, one.content_hash)
    assert (entry.ce_source, entry.ce_id, entry.revised_at, entry.backfill) == ("tests", "1", early, True)
    assert (entry.masked, entry.risky) == ({"email": 2}, ("selinux",))
    assert entry.settings.model_dump() == {
        "origin_trust": 0.15,
        "many_valued": ("runs_on",),
        "rule_incidents_min": 5,
    }
    assert (entry.admission.how, entry.admission.by) == ("released", "ada")
    assert entry.admitted_at > NOW
    [outcome] = outcomes(outputs)
    assert (outcome.outcome, outcome.counts) == ("applied", {"items_released": 1})


async def test_what_came_without_a_time_is_dated_by_when_it_came_and_not_by_its_release(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    items = await held(stores, item(1, tenant), item(2, tenant, time_ms=NOW + 9_000_000))
    outputs = await carried_out(deciding(stores, clock, tenant), decision(about(tenant, "approve", *items)))
    assert [entry.revised_at for entry in entries(outputs)] == [one.held_at for one in items]


async def test_each_change_is_told_by_state_audit_and_outcome_without_a_word_of_the_text(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [one] = await held(stores, item(1, tenant, trust=0.8))
    stage = deciding(stores, clock, tenant)
    outputs = await carried_out(stage, decision(about(tenant, "deny", one), ce_id="denied"))
    [told] = [IncidentQuarantined.model_validate_json(v) for v in values(outputs, TOPICS.incidents_quarantined)]
    assert [output.key for output in outputs if output.topic == TOPICS.incidents_quarantined.name] == [
        one.item_id.encode()
    ]
    assert [told] == await standing(stores, tenant)
    assert (told.state, told.trust, told.held_trust) == (QuarantineState.REJECTED, 0.1, 0.8)
    [settlement] = told.decisions
    assert (settlement.decision, settlement.who, settlement.why) == ("deny", "ada", "It was looked at.")
    [audit] = [AuditRecorded.model_validate_json(v) for v in values(outputs, TOPICS.audit)]
    assert (audit.kind, audit.subject_id, audit.at) == ("decision", one.item_id, settlement.at)
    assert audit.detail == {
        "decision": "deny",
        "decision_id": settlement.event_id,
        "origin": "pagerduty",
        "who": "ada",
    }
    rejected, applied = outcomes(outputs)
    assert (rejected.event_id, rejected.outcome, rejected.reason) == (one.event_id, "rejected", "quarantine_reject")
    assert (applied.event_id, applied.outcome, applied.counts) == (
        settlement.event_id,
        "applied",
        {"items_denied": 1},
    )
    words = (one.incident.title.encode(), b"It was looked at.")
    others = [output.value or b"" for output in outputs if output.topic != TOPICS.incidents_quarantined.name]
    assert not any(word in value for word in words for value in others)


async def test_reopened_item_is_as_trusted_as_it_was_and_waits_for_its_whole_time_again(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [one] = await held(stores, item(1, tenant, trust=0.8))
    stage = deciding(stores, clock, tenant, quarantine_hours=1)
    await carried_out(stage, decision(about(tenant, "deny", one)))
    outputs = await carried_out(stage, decision(about(tenant, "reopen", one)))
    [again] = await standing(stores, tenant)
    assert (again.state, again.trust, again.held_trust) == (QuarantineState.PENDING, 0.8, None)
    assert again.expires_at == again.decisions[-1].at + 3_600_000
    assert [outcome.counts for outcome in outcomes(outputs)] == [{"items_reopened": 1}]
    outputs = await carried_out(stage, decision(about(tenant, "approve", one)))
    assert [entry.settings.origin_trust for entry in entries(outputs)] == [0.8]


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_redelivered_decision_changes_nothing_and_is_told_of_as_it_was(
    stores: Memory, clock: Clock, tenant: str, verdict: str
) -> None:
    items = await held(stores, *(item(number, tenant) for number in range(3)))
    record = decision(about(tenant, verdict, *items))
    first = await carried_out(deciding(stores, clock, tenant), record)
    before = await standing(stores, tenant)
    clock.now += 1_000_000
    again = await carried_out(deciding(stores, clock, tenant), record)
    assert told_again(again) == told_again(first)
    assert await standing(stores, tenant) == before


async def test_worker_that_dies_between_quarantine_and_log_leaves_nothing_behind(
    stores: Memory, clock: Clock, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = await held(stores, *(item(number, tenant) for number in range(3)))
    record = decision(about(tenant, "approve", *items))
    dying = deciding(stores, clock, tenant)

    async def dies(*_: object) -> list[Output]:
        raise RuntimeError("killed")

    monkeypatch.setattr(dying, "_told", dies)
    with pytest.raises(RuntimeError, match="killed"):
        await carried_out(dying, record)
    assert {one.state for one in await standing(stores, tenant)} == {QuarantineState.RELEASED}
    outputs = await carried_out(deciding(stores, clock, tenant), record)
    assert [entry.event_id for entry in entries(outputs)] == [one.event_id for one in items]
    assert [outcome.counts for outcome in outcomes(outputs)] == [{"items_released": 3}]


async def test_second_decision_is_told_who_decided_and_when(stores: Memory, clock: Clock, tenant: str) -> None:
    [one] = await held(stores, item(1, tenant))
    stage = deciding(stores, clock, tenant)
    await carried_out(stage, decision(about(tenant, "approve", one, who="grace")))
    outputs = await carried_out(stage, decision(about(tenant, "deny", one)))
    [outcome] = outcomes(outputs)
    assert (outcome.outcome, outcome.reason) == ("rejected", "already_decided")
    assert outcome.detail is not None
    assert f"Item {one.item_id} was approved by grace on 2027-01-15 08:00:00 UTC" in outcome.detail
    [audit] = [AuditRecorded.model_validate_json(v) for v in values(outputs, TOPICS.audit)]
    assert (audit.kind, audit.detail["reason"]) == ("decision_refused", "already_decided")
    assert entries(outputs) == []


async def test_decision_that_comes_again_after_the_item_was_reopened_leaves_it_open(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [one] = await held(stores, item(1, tenant))
    stage = deciding(stores, clock, tenant)
    denied = decision(about(tenant, "deny", one))
    first = await carried_out(stage, denied)
    await carried_out(stage, decision(about(tenant, "reopen", one)))
    [before] = await standing(stores, tenant)
    again = await carried_out(stage, denied)
    assert outcomes(again) == outcomes(first)
    assert await standing(stores, tenant) == [before]
    # What the topic has last is how the item stands, not how it stood.
    [told] = values(again, TOPICS.incidents_quarantined)
    assert IncidentQuarantined.model_validate_json(told) == before


async def test_decision_that_was_too_late_is_too_late_after_the_item_was_reopened_as_well(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [one] = await held(stores, item(1, tenant))
    stage = deciding(stores, clock, tenant)
    await carried_out(stage, decision(about(tenant, "deny", one)))
    late = decision(about(tenant, "approve", one))
    assert outcomes(await carried_out(stage, late))[0].reason == "already_decided"
    await carried_out(stage, decision(about(tenant, "reopen", one)))
    again = await carried_out(stage, late)
    assert (outcomes(again)[0].outcome, entries(again)) == ("rejected", [])
    assert [one.state for one in await standing(stores, tenant)] == [QuarantineState.PENDING]


async def test_of_decisions_at_once_each_item_has_one(stores: Memory, clock: Clock, tenant: str) -> None:
    items = await held(stores, *(item(number, tenant) for number in range(20)))
    verdicts = ["approve", "deny"] * 4
    records = [decision(about(tenant, verdict, *items)) for verdict in verdicts]

    async def until_carried_out(record: Record) -> list[Output]:
        while True:
            try:
                return await carried_out(deciding(stores, clock, tenant), record)
            except FencedError:
                await asyncio.sleep(0)

    made = await asyncio.gather(*(until_carried_out(record) for record in records))
    standing_items = await standing(stores, tenant)
    assert [len(one.decisions) for one in standing_items] == [1] * 20
    released = [entry.event_id for outputs in made for entry in entries(outputs)]
    assert sorted(released) == sorted(one.event_id for one in standing_items if one.state is QuarantineState.RELEASED)
    told = [outcomes(outputs)[-1] for outputs in made]
    assert sorted(outcome.outcome for outcome in told) == ["applied"] + ["rejected"] * 7


async def test_decision_about_other_content_or_other_rules_changes_nothing(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [one] = await held(stores, item(1, tenant))
    stage = deciding(stores, clock, tenant)
    for bound in ({"content_hash": "other"}, {"rules_version": "r0"}):
        [outcome] = outcomes(await carried_out(stage, decision(about(tenant, "approve", one, **bound))))
        assert (outcome.outcome, outcome.reason) == ("rejected", "changed")
    right = about(tenant, "approve", one, content_hash=one.content_hash, rules_version="r1")
    assert len(entries(await carried_out(stage, decision(right)))) == 1


async def test_item_of_another_tenant_is_no_item(stores: Memory, clock: Clock, tenant: str) -> None:
    other = f"{tenant}x"
    [one] = await held(stores, item(1, other))
    [outcome] = outcomes(await carried_out(deciding(stores, clock, tenant), decision(about(tenant, "approve", one))))
    assert outcome.reason == "unknown_item"
    assert [one.state for one in await standing(stores, other)] == [QuarantineState.PENDING]


async def test_some_of_several_items_are_decided_on_and_the_others_counted(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    items = await held(stores, *(item(number, tenant) for number in range(3)))
    stage = deciding(stores, clock, tenant)
    await carried_out(stage, decision(about(tenant, "deny", items[0])))
    outputs = await carried_out(stage, decision(about(tenant, "approve", *items, item(9, tenant))))
    assert outcomes(outputs)[-1].counts == {"items_released": 2, "items_decided_before": 1, "items_unknown": 1}


async def test_group_is_an_origin_and_a_subject_and_what_was_held_when_it_was_decided_on(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    ours = await held(stores, *(item(number, tenant) for number in range(4)))
    others = await held(
        stores,
        item(5, tenant, subject="another"),
        item(6, tenant, said=incident(6, tenant, origin={"name": "grafana"})),
    )
    [later] = await held(stores, item(7, tenant, held_at=NOW + 500))
    record = decision(about(tenant, "approve", group=GROUP))
    outputs = await carried_out(deciding(stores, clock, tenant), record)
    assert [entry.event_id for entry in entries(outputs)] == [one.event_id for one in ours]
    clock.now += 1_000_000
    again = await carried_out(deciding(stores, clock, tenant), record)
    assert told_again(again) == told_again(outputs)
    pending = [one.item_id for one in await standing(stores, tenant) if one.state is QuarantineState.PENDING]
    assert sorted(pending) == sorted(one.item_id for one in (*others, later))


async def test_large_group_is_decided_on_in_parts_and_a_part_that_comes_again_is_that_part(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    count = DECIDED_ITEMS_MAX + 20
    await held(stores, *(item(number, tenant) for number in range(count)))
    quarantine = Quarantine(stores.stores.redis)
    found = await quarantine.candidates(about(tenant, "deny", group=GROUP))
    bound = {"content_hash": digest(found[:DECIDED_ITEMS_MAX]), "seen_until": found[-1].held_at}
    record = decision(about(tenant, "deny", group=GROUP, **bound))
    stage = deciding(stores, clock, tenant)
    outputs = await carried_out(stage, record)
    assert outcomes(outputs)[-1].counts == {"items_denied": DECIDED_ITEMS_MAX, "items_left": 20}
    again = await carried_out(stage, record)
    assert outcomes(again)[-1].counts == {"items_denied": DECIDED_ITEMS_MAX, "items_left": 20}
    rest = await carried_out(stage, decision(about(tenant, "deny", group=GROUP)))
    assert outcomes(rest)[-1].counts == {"items_denied": 20}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"items": ()}, "schema: Name what is decided on"),
        ({"group": GROUP}, "schema: Name what is decided on"),
        ({"tenant": "nobody"}, "unknown_tenant: There is no tenant 'nobody'"),
    ],
)
async def test_decision_about_nothing_or_of_nobody_is_refused(
    stores: Memory, clock: Clock, tenant: str, changes: dict[str, object], fault: str
) -> None:
    with pytest.raises(PoisonError, match=fault):
        deciding(stores, clock, tenant).decode(decision(about(tenant, "deny", item(1, tenant), **changes)))


async def test_time_to_live_ends_what_nobody_decided_on_and_it_can_be_reopened(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    due, early = await held(stores, item(1, tenant, expires_at=NOW, trust=0.8), item(2, tenant, expires_at=NOW + 1))
    sent = Sent()
    assert await sweep(stores, clock, sent).sweep() == 1
    expired, pending = await standing(stores, tenant)
    assert (expired.item_id, expired.state, expired.trust) == (due.item_id, QuarantineState.EXPIRED, 0.1)
    assert pending == early
    [told] = values(sent.outputs, TOPICS.incidents_quarantined)
    assert IncidentQuarantined.model_validate_json(told) == expired
    [outcome] = outcomes(sent.outputs)
    assert (outcome.event_id, outcome.outcome, outcome.reason) == (due.event_id, "rejected", "quarantine_expired")
    [audit] = [AuditRecorded.model_validate_json(v) for v in values(sent.outputs, TOPICS.audit)]
    assert (audit.kind, audit.subject_id) == ("expiry", due.item_id)
    assert due.incident.title.encode() not in encode(audit)
    stage = deciding(stores, clock, tenant)
    [refused] = outcomes(await carried_out(stage, decision(about(tenant, "approve", due))))
    assert (refused.reason, "reopen" in (refused.detail or "")) == ("already_decided", True)
    await carried_out(stage, decision(about(tenant, "reopen", due)))
    outputs = await carried_out(stage, decision(about(tenant, "approve", due)))
    assert [entry.settings.origin_trust for entry in entries(outputs)] == [0.8]


async def test_expiry_that_nobody_was_told_of_is_told_of_by_the_next_sweep(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [one] = await held(stores, item(1, tenant, expires_at=NOW))
    away, sent = Sent(), Sent()
    away.away = True
    with pytest.raises(TransientError):
        await sweep(stores, clock, away).sweep()
    assert await sweep(stores, clock, sent).sweep() == 1
    assert [outcome.event_id for outcome in outcomes(sent.outputs)] == [one.event_id]
    assert await sweep(stores, clock, sent).sweep() == 0
    assert len((await standing(stores, tenant))[0].decisions) == 1


async def test_item_that_is_reopened_while_its_expiry_is_told_is_told_as_it_stands_at_last(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [one] = await held(stores, item(1, tenant, expires_at=NOW))

    class Meanwhile(Sent):
        async def send(self, outputs: Sequence[Output]) -> list[int]:
            if not self.outputs:
                await carried_out(deciding(stores, clock, tenant), decision(about(tenant, "reopen", one)))
            return await super().send(outputs)

    sent = Meanwhile()
    sweeping = sweep(stores, clock, sent)
    assert [await sweeping.sweep() for _ in range(3)] == [1, 1, 0]
    last = IncidentQuarantined.model_validate_json(values(sent.outputs, TOPICS.incidents_quarantined)[-1])
    assert [last] == await standing(stores, tenant)
    assert last.state is QuarantineState.PENDING


async def test_sweeps_at_once_expire_each_item_once_and_in_pieces(stores: Memory, clock: Clock, tenant: str) -> None:
    count = SWEPT_MAX + 10
    items = await held(stores, *(item(number, tenant, expires_at=NOW) for number in range(count)))
    sent = Sent()
    sweeps = [sweep(stores, clock, sent) for _ in range(3)]
    while sum(await asyncio.gather(*(one.sweep() for one in sweeps))):
        pass
    assert [len(one.decisions) for one in await standing(stores, tenant)] == [1] * count
    assert len(set(values(sent.outputs, TOPICS.incidents_outcomes))) == len(items)


async def test_item_that_was_put_back_is_the_newest_that_was_told_and_never_older_than_it_stands(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    quarantine = Quarantine(stores.stores.redis)
    [pending] = await held(stores, item(1, tenant))
    await carried_out(deciding(stores, clock, tenant), decision(about(tenant, "deny", pending)))
    [denied] = await standing(stores, tenant)
    await quarantine.put_back([pending])
    assert await standing(stores, tenant) == [denied]
    other = f"{tenant}x"
    copies = [one.model_copy(update={"item_id": f"{one.item_id}x", "tenant": other}) for one in (denied, pending)]
    await quarantine.put_back(copies)
    assert await standing(stores, other) == [copies[0]]
    # It can be decided on as the other could.
    clock.now += 60_000
    outputs = await carried_out(deciding(stores, clock, other), decision(about(other, "reopen", copies[0])))
    assert outcomes(outputs)[-1].counts == {"items_reopened": 1}
    assert (await standing(stores, other))[0].trust == pending.trust


async def test_item_that_was_decided_on_stays_so_when_its_event_comes_again(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [one] = await held(stores, item(1, tenant))
    await carried_out(deciding(stores, clock, tenant), decision(about(tenant, "deny", one)))
    [again] = await held(stores, one)
    assert (again.state, [again]) == (QuarantineState.REJECTED, await standing(stores, tenant))


async def test_export_lists_items_of_every_state_and_without_system_time_nothing_of_when_they_were_decided_on(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    lines = []
    for whose in (tenant, f"{tenant}x"):
        two = [item(number, "demo") for number in (1, 2)]
        changes = [{"item_id": f"{whose}/{number}", "tenant": whose} for number in (1, 2)]
        items = await held(stores, *(one.model_copy(update=change) for one, change in zip(two, changes, strict=True)))
        clock.now += 1_000
        await carried_out(deciding(stores, clock, whose), decision(about(whose, "deny", items[0])))
        told = held_lines(await standing(stores, whose), system_time=False)
        lines.append([line.decode().replace(whose, "") for *_, line in told])
    assert lines[0] == lines[1]
    assert ["rejected" in line for line in lines[0]] == [True, False]
    assert ["pending" in line for line in lines[0]] == [False, True]


async def test_reason_of_a_decision_is_kept_without_the_secrets_in_it(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [one] = await held(stores, item(1, tenant))
    why = "Ask mallory@example.org."
    outputs = await carried_out(deciding(stores, clock, tenant), decision(about(tenant, "deny", one, why=why)))
    assert (await standing(stores, tenant))[0].decisions[0].why == "Ask <email-1>."
    assert not any(b"mallory" in (output.value or b"") for output in outputs)


async def test_reviewer_is_told_that_memory_is_newer_and_of_the_earlier_ones_of_a_burst(
    stores: Memory, clock: Clock
) -> None:
    tenant = "public"
    said = incident(1, tenant, fingerprint="review/1")
    await stores.remember(said, incident(2, tenant, fingerprint="review/2", title="the second one"))
    [*_, known] = [logged.entry for logged in stores.log if logged.entry.tenant == tenant]
    old = item(1, tenant, said=said, flagged=(known.event_id, "never-came"), held_at=known.admitted_at - 10)
    new = item(2, tenant, said=said, held_at=known.admitted_at + 10)
    graph = stores.graphs.of(tenant)
    stale, fresh = await reviewed(graph, [old, new])
    assert (stale.newer_at, fresh.newer_at) == (known.admitted_at, None)
    key = f"{known.incident.origin.name}/review/2" if known.incident else ""
    assert stale.earlier == (Earlier(known.event_id, key, "the second one"), Earlier("never-came"))
    assert await reviewed(graph, []) == []


async def test_items_are_listed_by_state_and_group_and_found_by_the_beginning_of_their_ids(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    one, two, other = await held(stores, item(1, tenant), item(2, tenant), item(3, tenant, subject="another"))
    await carried_out(deciding(stores, clock, tenant), decision(about(tenant, "deny", two)))
    quarantine = Quarantine(stores.stores.redis)
    group = QuarantineGroup(origin="pagerduty", subject=SUBJECT)
    assert await quarantine.items(tenant, [QuarantineState.PENDING]) == [one, other]
    assert [each.item_id for each in await quarantine.items(tenant, group=group)] == [one.item_id, two.item_id]
    assert await quarantine.items(tenant, count=1) == [one]
    assert await quarantine.ids(tenant, one.item_id[:13], 5) == [one.item_id]
    assert await quarantine.ids(f"{tenant}x", one.item_id[:13], 5) == []
    assert one.expires_at - one.held_at == HOURS_72
