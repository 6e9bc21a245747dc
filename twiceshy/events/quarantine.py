"""What guard holds back, and what a person decides about it."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from twiceshy.events.common import Event, Id, Milliseconds, Name, Slug, Tenant, Text
from twiceshy.events.incident import IncidentConcluded


class QuarantineReason(Event):
    rule: Annotated[str, Field(max_length=100)]
    category: Slug
    detail: Text | None = None
    burst_count: int | None = None


class QuarantineState(StrEnum):
    PENDING = "pending"
    RELEASED = "released"
    REJECTED = "rejected"
    EXPIRED = "expired"


class IncidentQuarantined(Event):
    """incidents.quarantined.v1 (compacted, the key is the item)."""

    item_id: Id
    event_id: Id
    tenant: Tenant
    origin: Name
    content_hash: str
    incident: IncidentConcluded
    reasons: Annotated[tuple[QuarantineReason, ...], Field(min_length=1)]
    held_at: Milliseconds
    expires_at: Milliseconds
    state: QuarantineState = QuarantineState.PENDING


class QuarantineGroup(Event):
    """All items of one origin about one subject."""

    origin: Name
    subject: Name


class QuarantineDecided(Event):
    """quarantine.decisions.v1: what a person decided, bound to the content that was looked at."""

    tenant: Tenant
    items: Annotated[tuple[Id, ...], Field(max_length=500)] = ()
    group: QuarantineGroup | None = None
    content_hash: str | None = None
    decision: Literal["approve", "deny", "reopen"]
    who: Name
    why: Text


class AuditRecorded(Event):
    """audit.v1: a security-relevant decision. Kinds and ids, never a body."""

    kind: Slug
    tenant: Tenant | None
    subject_id: Id | None
    worker: Slug
    at: Milliseconds
    detail: dict[str, str] = {}
