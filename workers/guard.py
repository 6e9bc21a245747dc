"""incidents.concluded.v1, incidents.backfill.v1 → guard → memory.log.v1, incidents.quarantined.v1

Admits incidents into the log, in one order a tenant, and holds back what a person has to decide on.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from twiceshy.core.burst import Counted, counted, subjects
from twiceshy.core.ids import derive, event_id
from twiceshy.core.judging import Judged, judged
from twiceshy.core.redact import SecretInKeyError
from twiceshy.core.scan import RULES_VERSION
from twiceshy.core.temporal import effective_revision_time
from twiceshy.errors import PoisonError
from twiceshy.events.chain import Admission, EntryLogged
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.quarantine import IncidentQuarantined, QuarantineReason, QuarantineState
from twiceshy.settings import Settings
from twiceshy.stores.decisions import HOLD, Asked, Decided, Decisions
from twiceshy.stores.notes import Progress
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.codec import Attributes, decode
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.records import Output, Record
from twiceshy.stream.topics import TOPICS
from workers.entrance import ADMITTED, Entrance, append, canonical_hash, stamped, wall_clock_ms
from workers.guard_settled import BURST, INJECTION, held, released
from workers.room import Room

HELD_BEFORE = QuarantineReason(rule="held-by-earlier-rules", category=INJECTION)
"""Why an event is held that came again after the rules changed: the first decision about it stands."""

LogEnd = Callable[[int], Awaitable[int]]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Incoming:
    """A valid incident event: what guard makes of it, how far it is trusted, and the windows that it counts in.

    ``attributes`` and the incident are redacted: from here on nothing has the text as it came.
    """

    event_id: str
    attributes: Attributes
    signed_by: str | None
    judged: Judged
    trust: float
    counted: Counted

    @property
    def incident(self) -> IncidentConcluded:
        return self.judged.incident


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
        self._decisions = decisions
        self._quarantine = quarantine
        self._progress = progress
        self._log_end = log_end
        self._backfill = backfill
        self._clock_ms = clock_ms
        self._rooms: dict[int, Room] = {}
        # The items of the batch that is under way, as they are told.
        self._standing: Sequence[IncidentQuarantined] = ()
        topic = TOPICS.incidents_backfill if backfill else TOPICS.incidents_concluded
        self._entrance = Entrance(topic, settings, decisions, progress, clock_ms)

    def decode(self, record: Record) -> Incoming:
        """The incident in a record, checked against all that guard refuses, and judged."""
        record, about = self._entrance.opened(record)
        speaker = self._entrance.speaker(record, about)
        said = decode(record, IncidentConcluded)
        times = {"concluded_at": said.concluded_at}
        times |= {f"facts.{index}.valid_from": fact.valid_from for index, fact in enumerate(said.facts)}
        self._entrance.check(said.tenant, times)
        speaker.may_say(said.tenant, said.origin.name)
        redactors = self._entrance.redactors
        try:
            found = judged(_filed(said, speaker.origin(said.origin.name)), redactors.of(said.tenant))
        except SecretInKeyError as error:
            raise PoisonError(error.code, str(error)) from None
        origin = found.incident.origin.name
        return Incoming(
            event_id=event_id(said.tenant, about.source, about.id, record.value or b"", signed=speaker.signed),
            attributes=redactors.attributes(said.tenant, about),
            signed_by=speaker.name,
            judged=found,
            trust=found.trust(speaker.trust(origin, self._settings)),
            counted=self._counted(found.incident, record),
        )

    def _counted(self, incident: IncidentConcluded, record: Record) -> Counted:
        """The windows of an incident, at the broker's time where the broker keeps it."""
        known = self._settings.origins.get(incident.origin.name)
        at_ms = milliseconds(incident.concluded_at) if self._backfill else record.appended_ms
        limits = self._settings.burst.of_origin(known.burst_max if known else None)
        return counted(incident, limits, listed=known is not None, at_ms=at_ms, backfill=self._backfill)

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
            Asked(
                incoming.incident.tenant,
                incoming.event_id,
                HOLD if incoming.judged.findings else ADMITTED,
                incoming.counted,
            )
            for incoming in batch
        ]
        decided = list(zip(batch, await self._decisions.decide_counted(asked, self._clock_ms()), strict=True))
        items = [self._item(incoming, decision) for incoming, decision in decided if decision.verdict != ADMITTED]
        clean = [_item_id(incoming.event_id) for incoming, decision in decided if decision.verdict == ADMITTED]
        # One that came before is told as it stands: a person may have decided on it since. So is one whose first
        # decision is forgotten by now, and which is out of memory by what a person decided on its item.
        self._standing = [*await self._quarantine.hold(items), *await self._quarantine.kept_out(clean)]
        standing = {item.event_id: item for item in self._standing}
        return [
            self._held(standing[incoming.event_id], decision)
            if incoming.event_id in standing
            else [append(self._entry(incoming, decision.admitted_at))]
            for incoming, decision in decided
        ]

    def _entry(self, incoming: Incoming, admitted_at: int) -> EntryLogged:
        about, found = incoming.attributes, incoming.judged
        return EntryLogged(
            event_id=incoming.event_id,
            tenant=found.incident.tenant,
            kind="incident",
            ce_source=about.source,
            ce_id=about.id,
            revised_at=effective_revision_time(about.time_ms, admitted_at),
            admitted_at=admitted_at,
            settings=stamped(self._settings, incoming.trust),
            admission=Admission(how="clean", signed_by=incoming.signed_by),
            masked=found.masked,
            risky=found.risky,
            content_hash=content_hash(found.incident),
            backfill=self._backfill,
            incident=found.incident,
        )

    def _item(self, incoming: Incoming, decision: Decided) -> IncidentQuarantined:
        about, found = incoming.attributes, incoming.judged
        return IncidentQuarantined(
            item_id=_item_id(incoming.event_id),
            event_id=incoming.event_id,
            tenant=found.incident.tenant,
            origin=found.incident.origin.name,
            subject=subjects(found.incident)[0],
            content_hash=content_hash(found.incident),
            incident=found.incident,
            reasons=reasons(found, decision) or (HELD_BEFORE,),
            rules_version=RULES_VERSION,
            flagged=decision.flagged,
            held_at=decision.admitted_at,
            expires_at=decision.admitted_at + int(self._settings.quarantine_hours * 3_600_000),
            ce_source=about.source,
            ce_id=about.id,
            time_ms=about.time_ms,
            masked=found.masked,
            risky=found.risky,
            trust=incoming.trust,
            backfill=self._backfill,
            signed_by=incoming.signed_by,
        )

    def _held(self, item: IncidentQuarantined, decision: Decided) -> list[Output]:
        rules = [reason.rule for reason in item.reasons]
        log.info("held", event_id=item.event_id, item_id=item.item_id, tenant=item.tenant, rules=rules)
        outputs = held(item, decision.admitted_at)
        if item.state is QuarantineState.RELEASED:
            # Memory has it, or is about to: as with what was never held, an entry that comes again has its outcome
            # told again.
            approval = item.decisions[-1]
            outputs.append(append(released(item, approval.who, approval.at, self._settings)))
        return outputs

    def give_up(self, record: Record, error: PoisonError) -> list[Output]:
        return self._entrance.refused(record, error)

    async def finished(self, batch: Sequence[Incoming], records: Sequence[Record]) -> None:
        await self._quarantine.tell_again(self._standing)
        await self._entrance.note(records)

    def describe(self, entry: Incoming) -> dict[str, Any]:
        incident = entry.incident
        return {
            "event_id": entry.event_id,
            "tenant": incident.tenant,
            "origin": incident.origin.name,
            "masked": sum(entry.judged.masked.values()),
        }


def _item_id(event_id: str) -> str:
    return derive("quarantined", event_id)


def reasons(found: Judged, decision: Decided) -> tuple[QuarantineReason, ...]:
    """Why an event is held: each rule with the field that it matched, each window that went over its limit."""
    rules = [QuarantineReason(rule=one.rule, category=one.category, detail=one.where) for one in found.findings]
    bursts = [
        QuarantineReason(rule=f"burst-{one.kind}", category=BURST, detail=one.name, burst_count=one.count)
        for one in decision.bursts
    ]
    return (*rules, *bursts)


def content_hash(incident: IncidentConcluded) -> str:
    """The hash of what an incident says, but for the id that its origin's event has."""
    return canonical_hash(incident, {"origin": {"event_id"}})


def warn_of_unvouched(settings: Settings) -> None:
    """Says of which origins the trust counts for nobody: guard files all that comes in their names as unsigned."""
    if unvouched := settings.unvouched_origins():
        log.warning("trusted_origins_without_credential", worker="guard", origins=list(unvouched))


def _filed(incident: IncidentConcluded, origin: str) -> IncidentConcluded:
    """The incident under the name that its origin is filed under."""
    if origin == incident.origin.name:
        return incident
    return incident.model_copy(update={"origin": incident.origin.model_copy(update={"name": origin})})
