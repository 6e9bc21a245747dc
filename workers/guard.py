"""incidents.concluded.v1, incidents.backfill.v1 → guard → memory.log.v1, incidents.quarantined.v1

Admits incidents into the log, in one order a tenant, and holds back what a person has to decide on.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from twiceshy.core.ids import derive, event_id
from twiceshy.core.scan import Finding, scan
from twiceshy.core.temporal import effective_revision_time
from twiceshy.errors import PoisonError
from twiceshy.events.chain import Admission, EntryLogged
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded, IncidentQuarantined, QuarantineReason
from twiceshy.settings import Settings
from twiceshy.stores.notes import Decided, Decisions, Progress
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.chain import outcome_output, tenant_output
from twiceshy.stream.codec import Attributes, decode
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.records import Output, Record
from twiceshy.stream.topics import TOPICS
from workers.entrance import ADMITTED, Entrance, append, canonical_hash, stamped, wall_clock_ms
from workers.room import Room

HELD = "hold"
HELD_BEFORE = Finding(rule="held-by-earlier-rules", category="prompt_injection", where="")
"""Why an event is held that came again after the rules changed: the first decision about it stands."""

LogEnd = Callable[[int], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Incoming:
    """A valid incident event, and what guard found in it."""

    event_id: str
    attributes: Attributes
    incident: IncidentConcluded
    findings: tuple[Finding, ...]


class GuardStage:
    """Guard over one of its inputs. Backfill waits for room in the chain, so that today's incident does not."""

    def __init__(
        self,
        settings: Settings,
        decisions: Decisions,
        quarantine: Quarantine,
        progress: Progress,
        log_end: LogEnd,
        *,
        backfill: bool,
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self.name = "guard-backfill" if backfill else "guard"
        self._settings = settings
        self._quarantine = quarantine
        self._progress = progress
        self._log_end = log_end
        self._backfill = backfill
        self._rooms: dict[int, Room] = {}
        topic = TOPICS.incidents_backfill if backfill else TOPICS.incidents_concluded
        self._entrance = Entrance(topic, settings, decisions, progress, clock_ms)

    def decode(self, record: Record) -> Incoming:
        """The incident in a record, checked against all that guard refuses."""
        record, about = self._entrance.opened(record)
        incident = decode(record, IncidentConcluded)
        times = {"concluded_at": incident.concluded_at}
        times |= {f"facts.{index}.valid_from": fact.valid_from for index, fact in enumerate(incident.facts)}
        self._entrance.check(incident.tenant, times)
        identity = event_id(incident.tenant, about.source, about.id, record.value or b"")
        return Incoming(identity, about, incident, scan(incident))

    async def has_room(self, batch: Sequence[Incoming]) -> bool:
        if not self._backfill:
            return True
        partitions = {tenant_partition(incoming.incident.tenant, TOPICS.memory_log) for incoming in batch}
        notes = await self._progress.of("embed")
        for partition in partitions:
            done = notes[partition].offset + 1 if partition in notes else 0
            room = self._rooms.setdefault(partition, Room(self._settings.backfill_room))
            if await self._log_end(partition) - done >= room.entries(done, time.monotonic()):
                return False
        return True

    async def handle(self, batch: Sequence[Incoming]) -> list[list[Output]]:
        asked = [
            (incoming.incident.tenant, incoming.event_id, HELD if incoming.findings else ADMITTED) for incoming in batch
        ]
        decided = await self._entrance.decide(asked)
        outputs = []
        for incoming, decision in zip(batch, decided, strict=True):
            if decision.verdict == ADMITTED:
                outputs.append([self._append(incoming, decision)])
            else:
                outputs.append(await self._hold(incoming, decision))
        return outputs

    def _append(self, incoming: Incoming, decision: Decided) -> Output:
        incident = incoming.incident
        entry = EntryLogged(
            event_id=incoming.event_id,
            tenant=incident.tenant,
            kind="incident",
            ce_source=incoming.attributes.source,
            ce_id=incoming.attributes.id,
            revised_at=effective_revision_time(incoming.attributes.time_ms, decision.admitted_at),
            admitted_at=decision.admitted_at,
            settings=stamped(self._settings, self._settings.trust(incident.origin.name)),
            admission=Admission(how="clean"),
            content_hash=content_hash(incident),
            backfill=self._backfill,
            incident=incident,
        )
        return append(entry)

    async def _hold(self, incoming: Incoming, decision: Decided) -> list[Output]:
        incident, findings = incoming.incident, incoming.findings or (HELD_BEFORE,)
        item = IncidentQuarantined(
            item_id=derive("quarantined", incoming.event_id),
            event_id=incoming.event_id,
            tenant=incident.tenant,
            origin=incident.origin.name,
            content_hash=content_hash(incident),
            incident=incident,
            reasons=tuple(
                QuarantineReason(rule=found.rule, category=found.category, detail=found.where) for found in findings
            ),
            held_at=decision.admitted_at,
            expires_at=decision.admitted_at + int(self._settings.quarantine_hours * 3_600_000),
        )
        await self._quarantine.hold(item)
        outcome = self._outcome(incoming, "quarantined", findings[0].rule)
        audit = AuditRecorded(
            kind=findings[0].category,
            tenant=incident.tenant,
            subject_id=item.item_id,
            worker="guard",
            at=decision.admitted_at,
        )
        tenant, identity = incident.tenant, incoming.event_id
        return [
            tenant_output(
                TOPICS.incidents_quarantined,
                item,
                tenant=tenant,
                key=item.item_id.encode(),
                event_id=identity,
                worker="guard",
            ),
            tenant_output(TOPICS.audit, audit, tenant=tenant, key=tenant.encode(), event_id=identity, worker="guard"),
            outcome_output(outcome, "guard"),
        ]

    def _outcome(self, incoming: Incoming, outcome: Any, reason: str) -> IncidentOutcome:
        return IncidentOutcome(
            event_id=incoming.event_id,
            tenant=incoming.incident.tenant,
            origin=incoming.incident.origin.name,
            fingerprint=incoming.incident.fingerprint,
            outcome=outcome,
            reason=reason,
        )

    def give_up(self, record: Record, error: PoisonError) -> list[Output]:
        return [self._entrance.refused(record, error)]

    async def finished(self, batch: Sequence[Incoming], records: Sequence[Record]) -> None:
        await self._entrance.note(records)

    def describe(self, entry: Incoming) -> dict[str, Any]:
        incident = entry.incident
        return {
            "event_id": entry.event_id,
            "tenant": incident.tenant,
            "origin": incident.origin.name,
            "verdict": HELD if entry.findings else ADMITTED,
        }


def content_hash(incident: IncidentConcluded) -> str:
    """The hash of what an incident says, but for the id that its origin's event has."""
    return canonical_hash(incident, {"origin": {"event_id"}})
