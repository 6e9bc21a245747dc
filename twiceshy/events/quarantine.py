"""What guard holds back, and what a person decides about it."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from twiceshy.events.common import Event, Id, Milliseconds, Name, Slug, Tenant, Text, Unit, Why, WorldMilliseconds
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


class QuarantineSettlement(Event):
    """A change of an item's state: who made it, why and when, by which event."""

    event_id: Annotated[Id, Field(description="the decision's, or one derived for an expiry")]
    decision: Literal["approve", "deny", "reopen", "expire"]
    who: Annotated[Name | None, Field(description="nobody, when it expired")] = None
    why: Annotated[Text, Field(description="masked, so that it may be longer than it was")] = ""
    at: Milliseconds


class IncidentQuarantined(Event):
    """incidents.quarantined.v1 (compacted, the key is the item).

    The incident is redacted. ``ce_source``, ``ce_id`` and ``time_ms`` are those of its event as it came: with them, and
    with what guard found, a released item becomes the entry that it would have been.
    """

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
    subject: Annotated[
        str, Field(max_length=200, description="what it is about; with tenant and origin, its group")
    ] = ""
    rules_version: Annotated[str, Field(max_length=100, description="of the rules that held it")] = ""
    ce_source: Annotated[str, Field(max_length=2_048)] = ""
    ce_id: Annotated[str, Field(max_length=2_048)] = ""
    time_ms: Annotated[WorldMilliseconds | None, Field(description="the event's ce_time")] = None
    masked: Annotated[dict[str, int], Field(description="what redaction masked: kinds and counts")] = {}
    risky: Annotated[tuple[Slug, ...], Field(description="kinds of risky action that its text advises")] = ()
    trust: Annotated[Unit | None, Field(description="how far it is trusted, at most 0.1 once rejected or expired")] = (
        None
    )
    held_trust: Annotated[Unit | None, Field(description="what trust was before: reopened, it is that again")] = None
    backfill: bool = False
    signed_by: Annotated[Slug | None, Field(description="the credential whose signature it came with")] = None
    flagged: Annotated[tuple[Id, ...], Field(description="the events of a burst that were admitted before it")] = ()
    decisions: Annotated[
        tuple[QuarantineSettlement, ...], Field(description="what changed its state, the newest 20, oldest first")
    ] = ()


class QuarantineGroup(Event):
    """All items of one origin about one subject."""

    origin: Name
    subject: Name


class QuarantineDecided(Event):
    """quarantine.decisions.v1: what a person decided, bound to what was looked at.

    ``content_hash`` is that of the one item, or the digest of several (`core.quarantine.digest`). A group is what of it
    can be decided on when guard comes to the decision, without what was held after ``seen_until``.
    """

    tenant: Tenant
    items: Annotated[tuple[Id, ...], Field(max_length=500)] = ()
    group: QuarantineGroup | None = None
    content_hash: str | None = None
    decision: Literal["approve", "deny", "reopen"]
    who: Name
    why: Why
    rules_version: Annotated[str | None, Field(max_length=100, description="of the rules that held what was seen")] = (
        None
    )
    seen_until: Annotated[Milliseconds | None, Field(description="when the newest item that was seen was held")] = None


class AuditRecorded(Event):
    """audit.v1: a security-relevant decision. Kinds and ids, never a body."""

    kind: Slug
    tenant: Tenant | None
    subject_id: Id | None
    worker: Slug
    at: Milliseconds
    detail: dict[str, str] = {}
