"""Items of quarantine made for tests, and guard's decisions about them over a real store."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from tests.incidents import incident
from tests.memory import Memory
from tests.records import NOW, Clock
from twiceshy.core.ids import derive, event_id
from twiceshy.errors import PoisonError, TransientError
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import IncidentQuarantined, QuarantineDecided, QuarantineReason
from twiceshy.settings import Settings
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.graph import FIRST_GENERATION
from twiceshy.stores.notes import Progress
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.codec import encode, event_headers
from twiceshy.stream.records import RECORD_BYTES_MAX, Output, Record, size
from twiceshy.stream.topics import TOPICS, Topic
from workers.guard import content_hash
from workers.guard_decisions import GuardDecisionsStage
from workers.guard_sweep import Sweep

SOURCE = "tests/decisions"
HOURS_72 = 72 * 3_600_000
SUBJECT = "checkout times out @ service:checkout"


def item(number: int, tenant: str, *, said: IncidentConcluded | None = None, **changes: Any) -> IncidentQuarantined:
    """The item of a number, held before `NOW`."""
    said = said or incident(number, tenant, origin={"name": "pagerduty"})
    identity = event_id(tenant, "tests", str(number), encode(said))
    told: dict[str, Any] = {
        "item_id": derive("quarantined", identity),
        "event_id": identity,
        "tenant": tenant,
        "origin": said.origin.name,
        "content_hash": content_hash(said),
        "incident": said,
        "reasons": (QuarantineReason(rule="override", category="prompt_injection", detail="summary"),),
        "held_at": NOW - 1_000_000 + number,
        "expires_at": NOW - 1_000_000 + number + HOURS_72,
        "subject": SUBJECT,
        "rules_version": "r1",
        "ce_source": "tests",
        "ce_id": str(number),
        "trust": 0.3,
    }
    return IncidentQuarantined(**{**told, **changes})


async def held(stores: Memory, *items: IncidentQuarantined) -> list[IncidentQuarantined]:
    return await Quarantine(stores.stores.redis).hold(items)


async def standing(stores: Memory, tenant: str) -> list[IncidentQuarantined]:
    return await Quarantine(stores.stores.redis).items(tenant)


class Sent:
    """Takes what is sent and a broker would take, or is away."""

    def __init__(self) -> None:
        self.outputs: list[Output] = []
        self.away = False

    async def send(self, outputs: Sequence[Output]) -> list[int]:
        if self.away:
            raise TransientError("the broker is away")
        if any(size(output) > RECORD_BYTES_MAX for output in outputs):
            raise PoisonError("output_too_large", "A record is too large.")
        self.outputs += outputs
        return list(range(len(outputs)))


def sweep(stores: Memory, clock: Clock, sent: Sent) -> Sweep:
    """A sweep that finds quarantine complete."""
    redis = stores.stores.redis

    async def complete() -> None: ...

    return Sweep(Quarantine(redis), Decisions(redis), sent, complete, clock)


def deciding(stores: Memory, clock: Clock, tenant: str, **settings: Any) -> GuardDecisionsStage:
    redis = stores.stores.redis
    return GuardDecisionsStage(
        Settings(**{"tenants": (tenant,), **settings}),
        Decisions(redis),
        Quarantine(redis),
        Progress(redis, f"{FIRST_GENERATION}-{tenant}"),
        clock_ms=clock,
    )


def decision(decided: QuarantineDecided | bytes, *, ce_id: str = "", **headers: bytes) -> Record:
    """The record of a decision; one without a ``ce_id`` is another one each time."""
    value = encode(decided) if isinstance(decided, QuarantineDecided) else decided
    told = dict(event_headers(QuarantineDecided, event_id=ce_id or str(uuid4()), source=SOURCE))
    return Record(TOPICS.quarantine_decisions.name, 0, 7, b"key", value, {**told, **headers}, NOW)


def about(whose: str, verdict: str, *items: IncidentQuarantined, **changes: Any) -> QuarantineDecided:
    ids = [one.item_id for one in items]
    told = {"tenant": whose, "decision": verdict, "items": ids, "who": "ada", "why": "It was looked at."}
    return QuarantineDecided.model_validate({**told, **changes})


async def carried_out(stage: GuardDecisionsStage, record: Record) -> list[Output]:
    [outputs] = await stage.handle([stage.decode(record)])
    return outputs


def outcomes(outputs: Sequence[Output]) -> list[IncidentOutcome]:
    return [IncidentOutcome.model_validate_json(value) for value in values(outputs, TOPICS.incidents_outcomes)]


def values(outputs: Sequence[Output], topic: Topic) -> list[bytes]:
    return [output.value or b"" for output in outputs if output.topic == topic.name]
