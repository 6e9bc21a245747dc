"""Guard over a real Redis and a real quarantine, called without a broker."""

from collections.abc import Sequence
from typing import Any

from tests.incidents import NO_BURSTS
from tests.memory import Memory
from tests.records import Clock
from twiceshy.events.chain import EntryLogged
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import IncidentQuarantined
from twiceshy.settings import Settings
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.graph import FIRST_GENERATION
from twiceshy.stores.notes import Progress
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.records import Output, Record
from twiceshy.stream.topics import TOPICS
from workers.guard import GuardStage


def guard(
    stores: Memory, clock: Clock, tenant: str, *, backfill: bool = False, log_ends: Sequence[int] = (), **settings: Any
) -> GuardStage:
    """A guard of one tenant. Unless ``settings`` say otherwise, no number of incidents alike is a burst."""
    redis = stores.stores.redis

    async def log_end(partition: int) -> int:
        return log_ends[partition] if log_ends else 0

    return GuardStage(
        Settings(**{"tenants": (tenant,), "burst": NO_BURSTS, **settings}),
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
    """The one output of an event that was admitted."""
    [output] = outputs
    assert output.topic == TOPICS.memory_log.name
    return EntryLogged.model_validate_json(output.value or b"")


def held(outputs: Sequence[Output]) -> IncidentQuarantined:
    """The item of an event that was held, of which three topics are told."""
    topics = [TOPICS.incidents_quarantined.name, TOPICS.audit.name, TOPICS.incidents_outcomes.name]
    assert [output.topic for output in outputs] == topics
    outcome = IncidentOutcome.model_validate_json(outputs[2].value or b"")
    item = IncidentQuarantined.model_validate_json(outputs[0].value or b"")
    assert (outcome.outcome, outcome.event_id) == ("quarantined", item.event_id)
    return item


def verdict(outputs: Sequence[Output]) -> str:
    return "admit" if outputs[0].topic == TOPICS.memory_log.name else "hold"
