"""A rescan: what the present rules would decide otherwise, over a memory and a quarantine that older ones made."""

from datetime import UTC, datetime

from tests.held import held, item
from tests.incidents import incident
from tests.memory import Memory
from tests.records import HIDDEN
from twiceshy.events.quarantine import QuarantineReason, QuarantineState
from twiceshy.stores.quarantine import Quarantine
from workers.rescan import would_hold, would_pass


async def test_admitted_incident_that_the_present_rules_would_hold_is_told_with_its_rules(stores: Memory) -> None:
    poisoned = incident(2, details=f"It was slow.{HIDDEN}", origin={"name": "pagerduty"})
    outcomes = await stores.remember(incident(1), poisoned, incident(3))
    found = [one async for one in would_hold(stores.graphs.of("default"))]
    assert [(one.incident, one.event_id, one.released_by) for one in found] == [
        ("pagerduty/test/2", outcomes[1].event_id, None)
    ]
    assert "unicode-tag-characters" in found[0].rules


async def test_only_what_memory_believes_now_is_scanned(stores: Memory) -> None:
    for number, summary in enumerate((HIDDEN, "It was slow.")):
        said = incident(4, summary=summary, origin={"name": "pagerduty"})
        await stores.remember(said, at=datetime(2026, 6, 1 + number, tzinfo=UTC))
    found = [one async for one in would_hold(stores.graphs.of("default"))]
    assert "pagerduty/test/4" not in {one.incident for one in found}


async def test_pending_item_that_the_present_rules_would_pass_is_told_with_the_rules_that_held_it(
    stores: Memory,
) -> None:
    burst = QuarantineReason(rule="burst-subject", category="burst", burst_count=6)
    tenant = "rescanned"
    passing, *_ = await held(
        stores,
        item(1, tenant),
        item(2, tenant, said=incident(2, tenant, summary=HIDDEN)),
        item(3, tenant, reasons=(burst,)),
        item(4, tenant, state=QuarantineState.EXPIRED),
    )
    [found] = [one async for one in would_pass(Quarantine(stores.stores.redis), tenant)]
    assert (found.item_id, found.incident, found.rules) == (passing.item_id, "pagerduty/test/1", ("override",))
