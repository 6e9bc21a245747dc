"""Questions to the memory and their replies. Times in replies are RFC 3339; an open end is null."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from twiceshy.events.common import Event, Id, Instant, Name, Slug, Tenant, Text
from twiceshy.events.incident import EntityMention
from twiceshy.events.items import (
    Claim,
    Denied,
    Episode,
    Fact,
    FactVersion,
    Lesson,
    MistakeItem,
    Playbook,
    Rule,
    Withheld,
)

LegStatus = Literal["ok", "timeout", "error", "skipped"]
Include = Literal["episodes", "lessons", "playbooks", "rules", "mistakes", "facts", "superseded"]
INCLUDE_ALL: tuple[Include, ...] = ("episodes", "lessons", "playbooks", "rules", "mistakes", "facts")


class RecallRequested(Event):
    tenant: Tenant
    query: Annotated[str, Field(max_length=16_384)] = ""
    entities: Annotated[tuple[Name, ...], Field(max_length=64)] = ()
    fault_signature: Text | None = None
    as_of: Instant | None = None
    known_at: Instant | None = None
    at_least: Instant | None = None
    limit: Annotated[int, Field(ge=1, le=50)] = 5
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    deadline_ms: Annotated[int, Field(ge=1, le=60_000)] = 500
    include: tuple[Include, ...] = INCLUDE_ALL

    @field_validator("query", "fault_signature")
    @classmethod
    def _without_nul(cls, value: str | None) -> str | None:
        return value if value is None else value.replace("\x00", " ")


class Leg(Event):
    status: LegStatus
    hits: Annotated[int, Field(ge=0)] = 0
    took_ms: float = 0.0
    reason: str | None = None


class Reply(Event):
    """The envelope of every reply, an error's too. ``detail`` says what to change, or what is missing."""

    status: Literal["ok", "invalid", "expired", "unavailable"]
    detail: str | None = None
    partial: bool = False
    known_at: Instant | None = None
    generation: Slug | None = None
    withheld: Annotated[
        tuple[Withheld, ...], Field(description="why some of what was found is not shown: its origin was invalidated")
    ] = ()
    took_ms: float = 0.0


class RecallReplied(Reply):
    mode: Literal["active", "shadow"] = "active"
    novel: bool = False
    unknown_entities: tuple[str, ...] = ()
    as_of: Instant | None = None
    legs: dict[str, Leg] = {}
    results: tuple[Episode, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    playbooks: tuple[Playbook, ...] = ()
    rules: tuple[Rule, ...] = ()
    mistakes: tuple[MistakeItem, ...] = ()
    facts: tuple[Fact, ...] = ()
    denied: Annotated[
        tuple[Denied, ...], Field(description="facts that would hold, but for a claim that is trusted less")
    ] = ()
    truncated: bool = False
    parts_ms: Annotated[dict[str, float], Field(description="where the time went")] = {}


class Question(Event):
    """What every other question has."""

    tenant: Tenant
    deadline_ms: Annotated[int, Field(ge=1, le=60_000)] = 2_000


class HistoryRequested(Question):
    """All versions of the facts (subject, predicate), oldest to newest, under every name of the subject.

    A subject without a type (``payments`` and not ``service:payments``) means each that has this name.
    """

    subject: Name
    predicate: Slug


class HistoryReplied(Reply):
    names: Annotated[tuple[str, ...], Field(description="the names that were read as one")] = ()
    versions: tuple[FactVersion, ...] = ()
    truncated: bool = False


class ValueRequested(Question):
    """What held for (subject, predicate) at ``as_of`` in the world (now), as known at ``known_at`` (now)."""

    subject: Name
    predicate: Slug
    as_of: Instant | None = None
    known_at: Instant | None = None


class ValueReplied(Reply):
    as_of: Instant | None = None
    names: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    contested_by: Annotated[
        tuple[Claim, ...], Field(description="where nothing holds: claims of higher trust that were displaced")
    ] = ()


class EntitiesRequested(Question):
    """What an incident mentions, and what it was resolved by."""

    origin: Name
    fingerprint: Name
    as_of: Instant | None = None
    known_at: Instant | None = None


class MentionedEntity(EntityMention):
    """``canonical`` is the name that the entity goes by, when it is an alias of another."""

    canonical: str | None = None
    t_valid: Instant
    t_invalid: Instant | None
    ingested_at: Instant
    t_expired: Instant | None


class EntitiesReplied(Reply):
    as_of: Instant | None = None
    episode_id: Id | None = None
    entities: tuple[MentionedEntity, ...] = ()


class ItemsRequested(Question):
    ids: Annotated[tuple[Id, ...], Field(min_length=1, max_length=100)]


class ItemsReplied(Reply):
    """An id of another tenant is missing, like one that does not exist."""

    items: tuple[Episode | Lesson | Playbook | MistakeItem | Rule | Fact, ...] = ()
    missing_ids: tuple[Id, ...] = ()
    truncated: bool = False


class AliasesRequested(Question):
    known_at: Instant | None = None


class AliasItem(Event):
    """``canonical`` as it was said, and the name that it comes to when aliases have aliases."""

    alias: Name
    canonical: Name
    resolved: Name
    since: Instant


class AliasesReplied(Reply):
    aliases: tuple[AliasItem, ...] = ()


REPLY_OF: dict[type[Event], type[Reply]] = {
    RecallRequested: RecallReplied,
    HistoryRequested: HistoryReplied,
    ValueRequested: ValueReplied,
    EntitiesRequested: EntitiesReplied,
    ItemsRequested: ItemsReplied,
    AliasesRequested: AliasesReplied,
}
"""What each question is answered with."""
