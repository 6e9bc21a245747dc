"""incident.concluded.v1: what alerting publishes when an incident is over."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from twiceshy.events.common import Details, Event, Instant, Name, Slug, Tenant, Text, Title, Unit, Url


class CauseCategory(StrEnum):
    CONFIG_CHANGE = "config-change"
    DEPLOY = "deploy"
    CAPACITY = "capacity"
    DEPENDENCY = "dependency"
    NETWORK = "network"
    HARDWARE = "hardware"
    DATA = "data"
    SECURITY = "security"
    CERTIFICATE = "certificate"
    HUMAN_ERROR = "human-error"
    EXTERNAL = "external"
    OTHER = "other"


class MistakeCategory(StrEnum):
    MISSING_ALERT = "missing-alert"
    MISSING_TEST = "missing-test"
    UNSAFE_DEPLOY = "unsafe-deploy"
    CONFIG_ERROR = "config-error"
    CAPACITY_PLANNING = "capacity-planning"
    RUNBOOK_GAP = "runbook-gap"
    COMMUNICATION = "communication"
    OWNERSHIP = "ownership"
    RECOVERY_UNTESTED = "recovery-untested"
    OTHER = "other"


class Origin(Event):
    """Who says so: the tool or the person that published the incident."""

    name: Name
    event_id: Name | None = None


class EntityMention(Event):
    """A thing the incident was about, and the part it played."""

    type: Slug
    ref: Name
    role: Literal["affected", "implicated", "cause", "resolution"]

    @property
    def key(self) -> str:
        return f"{self.type}:{self.ref}"


class Cause(Event):
    category: CauseCategory
    statement: Text


class Evidence(Event):
    stack_trace: Text | None = None
    failing_test: Text | None = None
    session_id: Name | None = None


class FactClaim(Event):
    """What the incident taught about the world: an object held for a subject from a moment on."""

    subject: Name
    predicate: Slug
    object: Name
    holds: bool = True
    valid_from: Instant
    valid_to: Instant | None = None
    confidence: Unit = 1.0

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.valid_to is not None and self.valid_to <= self.valid_from:
            raise ValueError("valid_to must be later than valid_from")
        return self


class Mistake(Event):
    category: MistakeCategory
    statement: Text


class IncidentRef(Event):
    """Names an incident by its natural key within the tenant."""

    origin: Name
    fingerprint: Name


class CodeRef(Event):
    repo: Name
    path: Name


def _keys_are_bounded(labels: dict[str, str]) -> dict[str, str]:
    for key in labels:
        if not key or len(key) > 200:
            raise ValueError("a label's key must have between 1 and 200 characters")
    return labels


class IncidentConcluded(Event):
    """One publication of one concluded incident (the natural key is tenant, origin.name, fingerprint)."""

    tenant: Tenant
    fingerprint: Name
    title: Title
    summary: Text | None = None
    resolution: Text | None = None
    details: Details | None = None
    severity: Name | None = None
    started_at: Instant | None = None
    detected_at: Instant | None = None
    acknowledged_at: Instant | None = None
    concluded_at: Instant
    origin: Origin
    entities: Annotated[tuple[EntityMention, ...], Field(max_length=64)] = ()
    cause: Cause | None = None
    fault_signature: Text | None = None
    evidence: Evidence | None = None
    facts: Annotated[tuple[FactClaim, ...], Field(max_length=64)] = ()
    mistakes: Annotated[tuple[Mistake, ...], Field(max_length=8)] = ()
    steps: Annotated[tuple[Text, ...], Field(max_length=32)] = ()
    supersedes: Annotated[tuple[IncidentRef, ...], Field(max_length=64)] = ()
    derived_from: Annotated[tuple[IncidentRef, ...], Field(max_length=64)] = ()
    code_refs: Annotated[tuple[CodeRef, ...], Field(max_length=64)] = ()
    labels: Annotated[dict[str, Text], Field(max_length=64), AfterValidator(_keys_are_bounded)] = {}
    links: Annotated[tuple[Url, ...], Field(max_length=64)] = ()

    @model_validator(mode="after")
    def _starts_before_it_ends(self) -> Self:
        if self.started_at is not None and self.started_at > self.concluded_at:
            raise ValueError("started_at must not be later than concluded_at")
        return self

    @property
    def told(self) -> str:
        """All but the details, as JSON: what memory keeps of it in one piece."""
        return self.model_dump_json(exclude={"details"}, exclude_defaults=True)

    @property
    def incomplete(self) -> bool:
        """True when nobody has said what happened: a title and nothing that explains it."""
        return not (self.summary or self.details or self.cause or self.resolution)
