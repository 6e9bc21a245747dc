"""Questions to the memory and their replies. Times in replies are RFC 3339; an open end is null."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from twiceshy.events.common import Event, Id, Instant, Name, Slug, Tenant, Text, Title, Unit
from twiceshy.events.incident import CauseCategory, CodeRef, EntityMention, MistakeCategory

LegStatus = Literal["ok", "timeout", "error", "skipped"]
Kind = Literal["episode", "lesson", "playbook", "rule", "mistake", "fact"]
Include = Literal["episodes", "lessons", "playbooks", "rules", "mistakes", "facts", "superseded"]
Withheld = Literal["origin_purge"]
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


class Item(Event):
    """What every recalled item has: an id, a kind, who says so, four stamps, and what it rests on."""

    id: Id
    kind: Kind
    origin: Name | None
    trust: Unit
    t_valid: Instant
    t_invalid: Instant | None
    ingested_at: Instant
    t_expired: Instant | None
    rests_on: tuple[Id, ...] = ()
    contested: bool = False

    @model_serializer(mode="wrap")
    def _with_its_kind(self, serialized: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # On the wire what has its default is left out, and in a list of several kinds that would be missed.
        return {**serialized(self), "kind": self.kind}


class SupersededBy(Event):
    """An incident that says that it takes the place of another one from ``since`` on.

    ``contested``: its origin is trusted less, so that this is a claim and changes nothing.
    """

    origin: Name
    fingerprint: Name
    since: Instant
    contested: bool = False


class Claim(Event):
    """What an observation says against a fact: another object, or (``holds`` false) that nothing holds."""

    id: Id
    object: Name
    holds: bool
    origin: Name
    trust: Unit
    valid_from: Instant
    valid_to: Instant | None


class Why(Event):
    """The rank (from 0) that each leg gave the episode, and what it matched on."""

    semantic: int | None = None
    lexical: int | None = None
    graph: int | None = None
    terms: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


class Episode(Item):
    kind: Literal["episode"] = "episode"
    rank: Annotated[int, Field(ge=1)]
    fingerprint: Name
    title: Title
    summary: Text | None = None
    cause: Text | None = None
    cause_category: CauseCategory | None = None
    resolution: Text | None = None
    severity: Name | None = None
    concluded_at: Instant
    score: float
    incomplete: bool
    why: Why
    entities: tuple[EntityMention, ...] = ()
    code_refs: tuple[CodeRef, ...] = ()
    links: tuple[str, ...] = ()
    superseded_by: tuple[SupersededBy, ...] = ()


class Lesson(Item):
    kind: Literal["lesson"] = "lesson"
    text: Text


class Playbook(Item):
    kind: Literal["playbook"] = "playbook"
    steps: tuple[Text, ...]


class MistakeItem(Item):
    kind: Literal["mistake"] = "mistake"
    category: MistakeCategory
    statement: Text


class Rule(Item):
    kind: Literal["rule"] = "rule"
    category: MistakeCategory
    statement: Text
    incidents: int


class Fact(Item):
    kind: Literal["fact"] = "fact"
    subject: Name
    predicate: Slug
    object: Name
    contested_by: Annotated[
        tuple[Claim, ...], Field(description="claims of higher trust that this one displaced, within its time")
    ] = ()


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


class FactVersion(Fact):
    """A version with what made it and what closed it. Supporters are those at the time of the reply."""

    founder: Annotated[str, Field(description="the incident, origin/fingerprint, whose word began it")]
    source: Annotated[Id, Field(description="the event that said so")]
    invalidated_by_event: Id | None = None
    invalidated_at: Instant | None = None
    reaffirmed_by: Annotated[tuple[str, ...], Field(description="up to 20 incidents, the newest first")] = ()
    access_count: Annotated[int, Field(ge=0, description="incidents but the founder that say the same")] = 0
    supersedes: tuple[Id, ...] = ()
    superseded_by: tuple[Id, ...] = ()
    withheld: Withheld | None = None


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
