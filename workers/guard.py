"""incidents.concluded.v1, incidents.backfill.v1 → guard → memory.log.v1, incidents.quarantined.v1

Admits incidents into the log, in one order a tenant, and holds back what a person has to decide on.
"""

import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from twiceshy.core.ids import derive, event_id
from twiceshy.core.scan import Finding, scan
from twiceshy.core.temporal import effective_revision_time
from twiceshy.errors import PoisonError
from twiceshy.events.chain import Admission, EntryLogged, StampedSettings
from twiceshy.events.common import EVENT_BYTES_MAX, milliseconds
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded, IncidentQuarantined, QuarantineReason
from twiceshy.settings import Settings
from twiceshy.stores.notes import Decided, Decisions, Progress
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.chain import outcome_output, tenant_output
from twiceshy.stream.codec import Attributes, attributes, binary, claimed, decode
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.records import Output, Record
from twiceshy.stream.topics import TOPICS

AHEAD_MS_MAX = 24 * 3_600_000
ADMITTED = "admit"
HELD = "hold"
HELD_BEFORE = Finding(rule="held-by-earlier-rules", category="prompt_injection", where="")
"""Why an event is held that came again after the rules changed: the first decision about it stands."""

LogEnd = Callable[[int], Awaitable[int]]


def wall_clock_ms() -> int:
    return int(time.time() * 1_000)


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
        self._decisions = decisions
        self._quarantine = quarantine
        self._progress = progress
        self._inputs = progress.beside("inputs")
        self._log_end = log_end
        self._backfill = backfill
        self._clock_ms = clock_ms

    def decode(self, record: Record) -> Incoming:
        """The incident in a record, checked against all that guard refuses."""
        record = binary(record)
        about = attributes(record)
        if about.type != "incident.concluded.v1":
            raise PoisonError("unknown_type", f"This topic takes incident.concluded.v1, not {about.type!r}.")
        if record.value is not None and len(record.value) > EVENT_BYTES_MAX:
            raise PoisonError(
                "too_large", f"An event has at most {EVENT_BYTES_MAX} bytes: this one has {len(record.value)}."
            )
        incident = decode(record, IncidentConcluded)
        self._check(incident)
        identity = event_id(incident.tenant, about.source, about.id, record.value or b"")
        return Incoming(identity, about, incident, scan(incident))

    def _check(self, incident: IncidentConcluded) -> None:
        if incident.tenant not in self._settings.tenants:
            raise PoisonError(
                "unknown_tenant",
                f"There is no tenant {incident.tenant!r}. Add it to `tenants` in twiceshy.toml, or correct the name.",
            )
        latest = self._clock_ms() + AHEAD_MS_MAX
        times = {"concluded_at": incident.concluded_at}
        times |= {f"facts.{index}.valid_from": fact.valid_from for index, fact in enumerate(incident.facts)}
        for field, moment in times.items():
            if milliseconds(moment) > latest:
                raise PoisonError("in_the_future", f"{field} is more than 24 h ahead of the clock.")

    async def has_room(self, batch: Sequence[Incoming]) -> bool:
        if not self._backfill:
            return True
        partitions = {tenant_partition(incoming.incident.tenant, TOPICS.memory_log) for incoming in batch}
        notes = await self._progress.of("embed")
        for partition in partitions:
            done = notes[partition].offset + 1 if partition in notes else 0
            if await self._log_end(partition) - done >= self._settings.backfill_room:
                return False
        return True

    async def handle(self, batch: Sequence[Incoming]) -> list[list[Output]]:
        asked = [
            (incoming.incident.tenant, incoming.event_id, HELD if incoming.findings else ADMITTED) for incoming in batch
        ]
        decided = await self._decisions.decide(asked, self._clock_ms())
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
            settings=StampedSettings(
                origin_trust=self._settings.trust(incident.origin.name),
                many_valued=self._settings.many_valued,
                rule_incidents_min=self._settings.rule_incidents_min,
            ),
            admission=Admission(how="clean"),
            content_hash=content_hash(incident),
            backfill=self._backfill,
            incident=incident,
        )
        # Fresh for each append, so that compaction drops nothing but what a tombstone erases.
        key = f"{incident.tenant}/{incoming.event_id}/{uuid.uuid4()}".encode()
        return tenant_output(
            TOPICS.memory_log,
            entry,
            tenant=incident.tenant,
            key=key,
            event_id=incoming.event_id,
            worker="guard",
        )

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
        record = claimed(record)
        tenant = claimed_tenant(record.value)
        identity = event_id(
            tenant or "",
            record.headers.get("ce_source", b"").decode("utf-8", "replace"),
            record.headers.get("ce_id", b"").decode("utf-8", "replace"),
            record.value or b"",
        )
        known = tenant if tenant in self._settings.tenants else None
        outcome = IncidentOutcome(
            event_id=identity, tenant=known, outcome="dead_lettered", reason=error.code, detail=error.detail
        )
        return [outcome_output(outcome, "guard")]

    async def finished(self, batch: Sequence[Incoming], records: Sequence[Record]) -> None:
        for topic in {record.topic for record in records}:
            last = {r.partition: (r.offset, "") for r in records if r.topic == topic}
            await self._inputs.note_positions(topic, last)

    def describe(self, entry: Incoming) -> dict[str, Any]:
        incident = entry.incident
        return {
            "event_id": entry.event_id,
            "tenant": incident.tenant,
            "origin": incident.origin.name,
            "verdict": HELD if entry.findings else ADMITTED,
        }


def content_hash(incident: IncidentConcluded) -> str:
    """SHA-256 of the incident as canonical JSON: equal for equal content, whatever its spelling on the wire."""
    canonical = orjson.dumps(
        incident.model_dump(exclude_defaults=True, exclude={"origin": {"event_id"}}),
        default=milliseconds,  # of a time, which can be told in any offset
        option=orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATETIME,
    )
    return sha256(canonical).hexdigest()


def claimed_tenant(body: bytes | None) -> str | None:
    """The tenant that a body claims, whatever else is wrong with it."""
    try:
        parsed = orjson.loads(body or b"")
    except orjson.JSONDecodeError:
        return None
    tenant = parsed.get("tenant") if isinstance(parsed, dict) else None
    return tenant if isinstance(tenant, str) else None
