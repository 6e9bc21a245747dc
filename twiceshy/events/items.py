"""The items of a memory as replies have them. Times are RFC 3339; an open end is null."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from twiceshy.events.common import Event, Id, Instant, Name, Slug, Text, Title, Unit
from twiceshy.events.incident import CauseCategory, CodeRef, EntityMention, MistakeCategory

Kind = Literal["episode", "lesson", "playbook", "rule", "mistake", "fact"]
Withheld = Literal["origin_purge"]
Risky = Annotated[
    tuple[Slug, ...],
    Field(description="kinds of risky action that its text advises, by the rules of the moment of the reply"),
]
Incidents = Annotated[int | None, Field(description="incidents that say so, as far as memory knows them")]
Origins = Annotated[int | None, Field(description="origins by whose word they do; a name is no more than its trust")]


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
    risky: Risky = ()


class Lesson(Item):
    kind: Literal["lesson"] = "lesson"
    text: Text
    risky: Risky = ()


class Playbook(Item):
    kind: Literal["playbook"] = "playbook"
    steps: tuple[Text, ...]
    risky: Risky = ()


class MistakeItem(Item):
    kind: Literal["mistake"] = "mistake"
    category: MistakeCategory
    statement: Text


class Rule(Item):
    kind: Literal["rule"] = "rule"
    category: MistakeCategory
    statement: Text
    incidents: int
    origins: Origins = None


class Fact(Item):
    kind: Literal["fact"] = "fact"
    subject: Name
    predicate: Slug
    object: Name
    contested_by: Annotated[
        tuple[Claim, ...], Field(description="claims of higher trust that this one displaced, within its time")
    ] = ()
    incidents: Incidents = None
    origins: Origins = None


class Denied(Event):
    """Of (subject, predicate) nothing holds, by a claim of lower trust than what would hold without it.

    ``denied_by`` is null where that claim is not shown, because its origin was invalidated.
    """

    subject: Name
    predicate: Slug
    denied_by: Claim | None
    contested_by: tuple[Claim, ...]


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
