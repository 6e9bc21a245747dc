"""quarantine.decisions.v1 → guard → memory.log.v1, incidents.quarantined.v1

Carries out what people decide about what is held back: an approved item becomes an entry of the log, in the tenant's
one order; a denied one stays out; a reopened one waits again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from twiceshy.core.ids import derive, event_id
from twiceshy.core.quarantine import AFTER, Refusal, counted, judged, standing
from twiceshy.errors import FencedError, PoisonError
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded, IncidentQuarantined, QuarantineDecided, QuarantineSettlement
from twiceshy.settings import Settings
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.notes import Progress
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.chain import outcome_output
from twiceshy.stream.codec import decode
from twiceshy.stream.records import RECORD_BYTES_MAX, Output, Record, size
from twiceshy.stream.topics import TOPICS
from workers.entrance import ADMITTED, Entrance, append, audit_output, wall_clock_ms
from workers.guard_settled import by, released, settled
from workers.redactors import refuse_secret_names

COMMAND = "decide"
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Decision:
    """A valid decision, of someone who may decide."""

    event_id: str
    decided: QuarantineDecided
    signed_by: str | None


class GuardDecisionsStage:
    """What a decision has changed carries its event id, so that one that comes again changes no more, and is told of
    again as it was."""

    name = "guard-decisions"

    def __init__(
        self,
        settings: Settings,
        decisions: Decisions,
        quarantine: Quarantine,
        progress: Progress,
        *,
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self._settings = settings
        self._quarantine = quarantine
        # What the batch that is under way has changed, as it is told.
        self._changed: list[IncidentQuarantined] = []
        self._entrance = Entrance(TOPICS.quarantine_decisions, settings, decisions, progress, clock_ms)

    def decode(self, record: Record) -> Decision:
        """The decision in a record, checked against all that guard refuses."""
        record, about = self._entrance.opened(record)
        speaker = self._entrance.speaker(record, about)
        decided = decode(record, QuarantineDecided)
        self._entrance.check(decided.tenant, {})
        speaker.may_command(decided.tenant, COMMAND)
        if bool(decided.items) == (decided.group is not None):
            raise PoisonError("schema", "Name what is decided on: either items, or a group.")
        refuse_secret_names({"who": decided.who})
        identity = event_id(decided.tenant, about.source, about.id, record.value or b"", signed=speaker.signed)
        why = self._entrance.redactors.text(decided.tenant, decided.why)
        return Decision(identity, decided.model_copy(update={"why": why}), speaker.name)

    async def has_room(self, batch: Sequence[Decision]) -> bool:
        return True

    async def handle(self, batch: Sequence[Decision]) -> list[list[Output]]:
        self._changed = []
        return [await self._carried_out(decision) for decision in batch]

    async def _carried_out(self, decision: Decision) -> list[Output]:
        identity, decided = decision.event_id, decision.decided
        [place] = await self._entrance.decide([(decided.tenant, identity, ADMITTED)])
        found = await self._quarantine.candidates(decided)
        changed = await self._quarantine.of_decision(decided.tenant, identity)
        if not changed:
            changing = judged(decided, found, place.admitted_at)
            if isinstance(changing, Refusal):
                return _refused(decision, changing, place.admitted_at)
            changed = await self._settle(decision, changing, place.admitted_at)
        self._changed += changed
        outputs = await self._told(decision, changed, place.admitted_at)
        counts = counted(decided, found, {item.item_id for item in changed}, place.admitted_at)
        return [*outputs, _outcome(decision, outcome="applied", counts=counts)]

    async def _settle(self, decision: Decision, item_ids: Sequence[str], at: int) -> list[IncidentQuarantined]:
        """Changes items, and returns those that it changed.

        Raises:
            FencedError: all of them were changed by others since they were read.
            PoisonError: one could not be told of afterwards. None was changed.
        """
        decided, settlement = decision.decided, _settlement(decision, at)
        until = at + int(self._settings.quarantine_hours * HOUR_MS) if decided.decision == "reopen" else None
        self._check_sizes(decision, await self._quarantine.by_id(decided.tenant, item_ids), settlement)
        await self._quarantine.settle(decided.tenant, item_ids, settlement, until)
        changed = await self._quarantine.of_decision(decided.tenant, decision.event_id)
        if not changed:
            raise FencedError(f"the items of decision {decision.event_id} are not as they were read")
        return changed

    def _check_sizes(
        self, decision: Decision, items: Sequence[IncidentQuarantined], settlement: QuarantineSettlement
    ) -> None:
        """Raises PoisonError when an item would become larger than what brokers take."""
        state, signed_by = AFTER[settlement.decision], decision.signed_by
        for item in items:
            after = standing(item, state, item.expires_at, (*item.decisions, settlement))
            outputs = settled(after, settlement, signed_by)
            if settlement.decision == "approve":
                outputs.append(append(released(item, settlement.who, settlement.at, self._settings)))
            if any(size(output) > RECORD_BYTES_MAX for output in outputs):
                raise PoisonError(
                    "output_too_large",
                    f"Item {item.item_id} would become too large for a record of {RECORD_BYTES_MAX} bytes. Nothing was "
                    "changed: decide on the others by their ids, or on this one with a shorter reason.",
                )

    async def _told(self, decision: Decision, changed: Sequence[IncidentQuarantined], at: int) -> list[Output]:
        outputs: list[Output] = []
        if decision.decided.decision == "approve":
            outputs += await self._released(decision, changed)
        for item in changed:
            # An item keeps the newest of its decisions, of which one that comes again late may be none.
            kept = (one for one in item.decisions if one.event_id == decision.event_id)
            outputs += settled(item, next(kept, _settlement(decision, at)), decision.signed_by)
        return outputs

    async def _released(self, decision: Decision, items: Sequence[IncidentQuarantined]) -> list[Output]:
        tenant, who = decision.decided.tenant, decision.decided.who
        places = await self._entrance.decide(
            [(tenant, derive("released", decision.event_id, item.item_id), ADMITTED) for item in items]
        )
        return [
            append(released(item, who, place.admitted_at, self._settings))
            for item, place in zip(items, places, strict=True)
        ]

    def give_up(self, record: Record, error: PoisonError) -> list[Output]:
        return self._entrance.refused(record, error)

    async def finished(self, batch: Sequence[Decision], records: Sequence[Record]) -> None:
        await self._quarantine.tell_again(self._changed)
        await self._entrance.note(records)

    def describe(self, entry: Decision) -> dict[str, Any]:
        decided = entry.decided
        return {
            "event_id": entry.event_id,
            "tenant": decided.tenant,
            "decision": decided.decision,
            "items": len(decided.items),
            "who": decided.who,
        }


def _settlement(decision: Decision, at: int) -> QuarantineSettlement:
    decided = decision.decided
    return QuarantineSettlement(
        event_id=decision.event_id, decision=decided.decision, who=decided.who, why=decided.why, at=at
    )


def _refused(decision: Decision, refusal: Refusal, at: int) -> list[Output]:
    decided = decision.decided
    audit = AuditRecorded(
        kind="decision_refused",
        tenant=decided.tenant,
        subject_id=decision.event_id,
        worker="guard",
        at=at,
        detail={"decision": decided.decision, "reason": refusal.reason, **by(decided.who, decision.signed_by)},
    )
    outcome = _outcome(decision, outcome="rejected", reason=refusal.reason, detail=refusal.detail)
    return [audit_output(audit, decision.event_id), outcome]


def _outcome(decision: Decision, **told: Any) -> Output:
    return outcome_output(
        IncidentOutcome(event_id=decision.event_id, tenant=decision.decided.tenant, **told),
        "guard",
    )
