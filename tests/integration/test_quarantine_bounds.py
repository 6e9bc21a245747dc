"""What bounds quarantine: how much an item tells of, what cannot be told or settled, and that it is read in pages."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from tests.held import (
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
from tests.memory import Memory
from tests.records import NOW, Clock
from twiceshy.cli.quarantine_deciding import Deciding, Done, Wanted
from twiceshy.core.quarantine import DECIDED_ITEMS_MAX, DECISIONS_KEPT
from twiceshy.errors import PoisonError
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import IncidentQuarantined, QuarantineDecided, QuarantineGroup, QuarantineState
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.quarantine import ITEMS_A_PAGE, Quarantine
from twiceshy.stream.records import RECORD_BYTES_MAX
from twiceshy.stream.topics import TOPICS
from workers.guard_sweep import SWEPT_MAX, Sweep

IDS_OF_A_RECORD = RECORD_BYTES_MAX // 100
"""So many ids of 97 characters, each with its quotes and its comma, are as long as a record may be."""


def large(number: int, tenant: str, ids: int, **changes: Any) -> IncidentQuarantined:
    return item(number, tenant, flagged=("x" * 97,) * ids, **changes)


async def test_item_tells_of_its_newest_decisions_and_knows_each_that_there_was(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [one] = await held(stores, item(1, tenant))
    stage = deciding(stores, clock, tenant)
    records = [
        decision(about(tenant, verdict, one, why=f"The {number}th."))
        for number in range(DECISIONS_KEPT)
        for verdict in ("deny", "reopen")
    ]
    first, *_ = [await carried_out(stage, record) for record in records]
    [before] = await standing(stores, tenant)
    assert [settled.why for settled in before.decisions[::2]] == [f"The {number}th." for number in range(10, 20)]
    assert len(before.decisions) == DECISIONS_KEPT
    again = await carried_out(stage, records[0])
    assert outcomes(again) == outcomes(first)
    assert values(again, TOPICS.audit) == values(first, TOPICS.audit)
    assert await standing(stores, tenant) == [before]
    [told] = values(again, TOPICS.incidents_quarantined)
    assert IncidentQuarantined.model_validate_json(told) == before


async def test_decision_after_which_an_item_could_not_be_told_changes_nothing(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    [one] = await held(stores, large(1, tenant, IDS_OF_A_RECORD - 40))
    stage = deciding(stores, clock, tenant)
    for verdict in ("deny", "approve"):
        with pytest.raises(PoisonError, match=f"output_too_large: Item {one.item_id} would become too large"):
            await carried_out(stage, decision(about(tenant, verdict, one, why="\x01" * 1_000)))
        assert await standing(stores, tenant) == [one]
    assert outcomes(await carried_out(stage, decision(about(tenant, "deny", one))))[-1].outcome == "applied"


async def test_expiry_that_cannot_be_told_keeps_no_other_from_being_told(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    _, other = await held(
        stores, large(1, tenant, IDS_OF_A_RECORD, expires_at=NOW - 1), item(2, tenant, expires_at=NOW)
    )
    sent = Sent()
    assert [await sweep(stores, clock, sent).sweep() for _ in range(2)] == [2, 0]
    assert [outcome.event_id for outcome in outcomes(sent.outputs)] == [other.event_id]
    assert {one.state for one in await standing(stores, tenant)} == {QuarantineState.EXPIRED}


async def test_items_of_a_clock_that_ran_ahead_keep_no_other_from_expiring(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    ahead = [item(number, tenant, held_at=NOW + 10, expires_at=NOW - 10) for number in range(SWEPT_MAX)]
    *_, due = await held(stores, *ahead, item(SWEPT_MAX, tenant, expires_at=NOW))
    sent = Sent()
    assert await sweep(stores, clock, sent).sweep() == 1
    assert [outcome.event_id for outcome in outcomes(sent.outputs)] == [due.event_id]
    clock.now += 11
    assert await sweep(stores, clock, sent).sweep() == SWEPT_MAX


async def test_sweep_looks_at_what_is_put_back_first(stores: Memory, clock: Clock, tenant: str) -> None:
    redis, sent = stores.stores.redis, Sent()

    async def put_back() -> None:
        await held(stores, item(1, tenant, expires_at=NOW))

    assert await Sweep(Quarantine(redis), Decisions(redis), sent, put_back, clock).sweep() == 1


async def test_what_is_pending_is_read_in_pages_that_lack_and_repeat_nothing(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    count = 2 * ITEMS_A_PAGE + 30
    await held(stores, *(item(number, tenant, held_at=NOW - number // 7) for number in range(count)))
    await held(stores, item(count, tenant, state=QuarantineState.EXPIRED))
    quarantine = Quarantine(stores.stores.redis)
    found = [one async for one in quarantine.pending(tenant)]
    assert found == await quarantine.items(tenant, [QuarantineState.PENDING])
    assert len(found) == count


class Guard:
    """Carries out what is given at once, tells what came of it, and then has a late item of the group."""

    def __init__(self, stores: Memory, clock: Clock, tenant: str) -> None:
        self._stores = stores
        self._tenant = tenant
        self._stage = deciding(stores, clock, tenant)
        self._told: list[IncidentOutcome] = []
        self._late = 10_000

    async def give(self, decided: QuarantineDecided) -> str:
        self._told = outcomes(await carried_out(self._stage, decision(decided)))
        self._late += 1
        await held(self._stores, item(self._late, self._tenant))
        return self._told[-1].event_id

    async def follow(self, *_: object) -> AsyncIterator[IncidentOutcome]:
        for outcome in self._told:
            yield outcome


async def test_group_that_takes_several_decisions_is_what_it_was_at_the_first_of_them(
    stores: Memory, clock: Clock, tenant: str
) -> None:
    count = 2 * DECIDED_ITEMS_MAX + 20
    items = await held(stores, *(item(number, tenant) for number in range(count)))
    wanted = Wanted(tenant, "deny", "ada", "Seen.", QuarantineGroup(origin="pagerduty", subject=SUBJECT))
    giving, done = cast(Any, Guard(stores, clock, tenant)), Done("deny")
    await Deciding(wanted, Quarantine(stores.stores.redis), giving, giving, 10.0).all_of((), done)
    assert (done.refusal, done.counts, done.complete) == (None, {"items_denied": count}, True)
    assert done.items == [one.item_id for one in items]
    pending = [one for one in await standing(stores, tenant) if one.state is QuarantineState.PENDING]
    assert len(pending) == 3
