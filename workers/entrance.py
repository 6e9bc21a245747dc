"""what comes in → guard's entrance → memory.log.v1

What guard does alike with each of its inputs: what it refuses, how an entry gets its place in the log, and what it
tells of the rest.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from secrets import token_hex
from typing import Any

import orjson

from twiceshy.core.ids import event_id
from twiceshy.errors import PoisonError
from twiceshy.events.catalogue import TYPE_OF
from twiceshy.events.chain import EntryLogged, StampedSettings
from twiceshy.events.common import EVENT_BYTES_MAX, Event, milliseconds
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded
from twiceshy.settings import Settings
from twiceshy.stores.decisions import Decided, Decisions
from twiceshy.stores.notes import Progress
from twiceshy.stream.chain import outcome_output, tenant_output
from twiceshy.stream.codec import Attributes, attributes, binary, claimed, claims
from twiceshy.stream.records import Output, Record
from twiceshy.stream.signing import SIGNATURE_HEADER, came_signed, signature_in
from twiceshy.stream.topics import TOPICS, Topic
from workers.redactors import Redactors
from workers.speaker import Speaker, Speakers

AHEAD_MS_MAX = 24 * 3_600_000
DAY_MS = 86_400_000
ADMITTED = "admit"


def wall_clock_ms() -> int:
    return int(time.time() * 1_000)


class Entrance:
    """What guard's stages have in common, over one of its inputs."""

    def __init__(
        self, topic: Topic, settings: Settings, decisions: Decisions, progress: Progress, clock_ms: Callable[[], int]
    ) -> None:
        self._topic = topic
        self._settings = settings
        self._decisions = decisions
        self._inputs = progress.beside("inputs")
        self._clock_ms = clock_ms
        self._speakers = Speakers(settings)
        self.redactors = Redactors(settings)

    def opened(self, record: Record) -> tuple[Record, Attributes]:
        """The record in binary mode, and what it says that it is.

        Raises:
            PoisonError: it is no event of the topic, or too long for one.
        """
        came, record = record, binary(record)
        if record is not came and SIGNATURE_HEADER in came.headers:
            # Beside an envelope, headers say nothing of the event. But who signed there is not someone unknown.
            signature = {SIGNATURE_HEADER: came.headers[SIGNATURE_HEADER]}
            record = replace(record, headers={**signature, **record.headers})
        about = attributes(record)
        if about.type not in self._topic.events:
            raise PoisonError("unknown_type", f"This topic takes {', '.join(self._topic.events)}, not {about.type!r}.")
        if record.value is not None and len(record.value) > EVENT_BYTES_MAX:
            raise PoisonError(
                "too_large", f"An event has at most {EVENT_BYTES_MAX} bytes: this one has {len(record.value)}."
            )
        return record, about

    def speaker(self, record: Record, about: Attributes) -> Speaker:
        """Who says what is in a record, which is as `opened` gives it.

        An incident may be as old as it likes: it waits in topics for days, is replayed with its signature, and its
        event id is applied once for ever. A command that comes again is known as such for as long as its topic keeps
        it; a signature that is older is refused.

        Raises:
            PoisonError: it is signed, and not by who it says.
        """
        now_ms = self._clock_ms()
        days = None if about.type == TYPE_OF[IncidentConcluded] else self._topic.retention_days
        earliest_ms = 0 if days is None else now_ms - days * DAY_MS
        return self._speakers.of(record, earliest_ms, now_ms + AHEAD_MS_MAX)

    def check(self, tenant: str, times: Mapping[str, datetime]) -> None:
        """Refuses an event of an unknown tenant, and one with a time, by the field's name, that lies too far ahead.

        Raises:
            PoisonError: so it is; the sentence says what to change.
        """
        if tenant not in self._settings.tenants:
            raise PoisonError(
                "unknown_tenant",
                f"There is no tenant {tenant!r}. Add it to `tenants` in twiceshy.toml, or correct the name.",
            )
        latest = self._clock_ms() + AHEAD_MS_MAX
        for field, moment in times.items():
            if milliseconds(moment) > latest:
                raise PoisonError("in_the_future", f"{field} is more than 24 h ahead of the clock.")

    async def decide(self, asked: Sequence[tuple[str, str, str]]) -> list[Decided]:
        """The decision about each (tenant, event id, verdict proposed)."""
        return await self._decisions.decide(asked, self._clock_ms())

    def refused(self, record: Record, error: PoisonError) -> list[Output]:
        """What is told of a record that is dead-lettered: its outcome, under the id that its publisher waits for, and
        to whoever watches over security, that it was refused."""
        came, record = record, claimed(record)
        tenant, _, _ = claims(record.value)
        identity = event_id(
            tenant or "",
            record.headers.get("ce_source", b"").decode("utf-8", "replace"),
            record.headers.get("ce_id", b"").decode("utf-8", "replace"),
            record.value or b"",
            signed=came_signed(came, record),
        )
        known = tenant if tenant in self._settings.tenants else None
        outcome = IncidentOutcome(
            event_id=identity, tenant=known, outcome="dead_lettered", reason=error.code, detail=error.detail
        )
        detail = {"reason": error.code, "place": f"{record.topic}/{record.partition}/{record.offset}"}
        if signature := signature_in(record.headers):
            detail["signed_as"] = signature.key
        audit = AuditRecorded(
            kind="refused", tenant=known, subject_id=identity, worker="guard", at=self._clock_ms(), detail=detail
        )
        return [outcome_output(outcome, "guard"), audit_output(audit, identity)]

    async def note(self, records: Sequence[Record]) -> None:
        """Notes how far the input was read."""
        for topic in {record.topic for record in records}:
            last = {r.partition: (r.offset, "") for r in records if r.topic == topic}
            await self._inputs.note_positions(topic, last)


def audit_output(audit: AuditRecorded, event_id: str) -> Output:
    """Kinds and ids, and never a body, for whoever watches over security."""
    tenant = audit.tenant or ""
    return tenant_output(
        TOPICS.audit, audit, tenant=tenant, key=tenant.encode(), event_id=event_id, worker=audit.worker
    )


def append(entry: EntryLogged) -> Output:
    """An entry for the log, in its tenant's order."""
    # Fresh for each append, so that compaction drops nothing but what a tombstone erases.
    key = f"{entry.tenant}/{entry.event_id}/{token_hex(16)}".encode()
    return tenant_output(
        TOPICS.memory_log, entry, tenant=entry.tenant, key=key, event_id=entry.event_id, worker="guard"
    )


def stamped(settings: Settings, origin_trust: float) -> StampedSettings:
    """The settings that travel with an entry, as they are now."""
    return _stamped(origin_trust, settings.many_valued, settings.rule_incidents_min)


# There are a few degrees of trust, and one setting of the rest.
@lru_cache(maxsize=64)
def _stamped(origin_trust: float, many_valued: tuple[str, ...], rule_incidents_min: int) -> StampedSettings:
    return StampedSettings(origin_trust=origin_trust, many_valued=many_valued, rule_incidents_min=rule_incidents_min)


def canonical_hash(event: Event, exclude: Mapping[str, Any] | None = None) -> str:
    """SHA-256 of an event as canonical JSON: equal for equal content, whatever its spelling on the wire."""
    canonical = orjson.dumps(
        event.model_dump(exclude_defaults=True, exclude=dict(exclude or {})),
        default=milliseconds,  # of a time, which can be told in any offset
        option=orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATETIME,
    )
    return sha256(canonical).hexdigest()
