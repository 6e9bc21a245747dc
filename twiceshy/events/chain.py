"""The entry of the log, and what each stage of the chain adds to it on its way."""

from typing import Annotated, Literal

from pydantic import Field

from twiceshy.events.commands import (
    AliasRequested,
    CompactionRequested,
    MistakeResolutionRequested,
    OriginInvalidationRequested,
    SupersedeRequested,
    SwitchRequested,
    UnaliasRequested,
    UnblockRequested,
)
from twiceshy.events.common import Event, Id, Milliseconds, Name, Slug, Tenant, Text, Unit, WorldMilliseconds
from twiceshy.events.incident import IncidentConcluded, MistakeCategory


class Admission(Event):
    """How an entry came into the log: clean, or released from quarantine by a person."""

    how: Literal["clean", "released"]
    by: Name | None = None
    signed_by: Annotated[Slug | None, Field(description="the credential whose signature it came with")] = None


class StampedSettings(Event):
    """The settings that decide what an entry becomes, as they stood when it was admitted.

    They travel with the entry, so that a change of settings touches later entries only and folding
    the log again gives the same memory.
    """

    origin_trust: Unit
    many_valued: tuple[Slug, ...] = ()
    rule_incidents_min: Annotated[int, Field(ge=1)] = 3


class Alias(AliasRequested):
    kind: Literal["alias"]


class Unalias(UnaliasRequested):
    kind: Literal["unalias"]


class Supersede(SupersedeRequested):
    kind: Literal["supersede"]


class OriginInvalidation(OriginInvalidationRequested):
    kind: Literal["origin-invalidation"]


class Unblock(UnblockRequested):
    kind: Literal["unblock"]


class Compaction(CompactionRequested):
    kind: Literal["compaction"]


class MistakeResolution(MistakeResolutionRequested):
    kind: Literal["mistake-resolution"]


class Switch(SwitchRequested):
    kind: Literal["switch"]


LoggedCommand = Alias | Unalias | Supersede | OriginInvalidation | Unblock | Compaction | MistakeResolution | Switch
"""A command as an entry of the log, told apart by its kind, which is the entry's kind as well."""


class EntryLogged(Event):
    """memory.log.v1: one thing that changes the memory, in the tenant's one order."""

    event_id: Id
    tenant: Tenant
    kind: Annotated[Slug, Field(description="what it is; a stage passes on kinds it has nothing to do with")]
    ce_source: Annotated[str, Field(max_length=2_048)]
    ce_id: Annotated[str, Field(max_length=2_048)]
    revised_at: WorldMilliseconds
    admitted_at: Milliseconds
    settings: StampedSettings
    admission: Admission
    masked: dict[str, int] = {}
    risky: Annotated[tuple[Slug, ...], Field(description="kinds of risky action that its text advises")] = ()
    content_hash: str
    backfill: bool = False
    incident: IncidentConcluded | None = None
    command: Annotated[LoggedCommand | None, Field(discriminator="kind")] = None


class LogPosition(Event):
    """Where in memory.log.v1 an entry stands."""

    partition: Annotated[int, Field(ge=0)]
    offset: Annotated[int, Field(ge=0)]
    key: Annotated[str, Field(description="the record's key, unique to the append")]


class FactVersionRef(Event):
    version_id: Id
    slot: str


class EpisodeReversion(Event):
    """The version of an incident's episode that took the place of another with the same content."""

    incident: Annotated[str, Field(description="the incident's key, origin/fingerprint")]
    made: Id
    expired: Id
    t_valid: WorldMilliseconds
    t_invalid: WorldMilliseconds | None = None


class Recorded(Event):
    """What graph made of an entry. Stored beside the entry, so that a redelivery passes on the same."""

    t_created: Milliseconds
    change: Annotated[
        Literal["remembered", "reaffirmed", "corrected", "stale", "applied", "rejected", "passed"],
        Field(
            description="applied, rejected: a command, or an incident of a blocked origin; "
            "passed: an entry of a kind that graph has nothing to do with"
        ),
    ]
    episode_id: Annotated[Id | None, Field(description="the version made, or the one reaffirmed")] = None
    t_valid: WorldMilliseconds | None = None
    t_invalid: Annotated[WorldMilliseconds | None, Field(description="the incident is superseded from then on")] = None
    expired: Annotated[tuple[Id, ...], Field(description="episode versions that are no longer believed")] = ()
    facts_made: tuple[FactVersionRef, ...] = ()
    facts_expired: tuple[FactVersionRef, ...] = ()
    reversions: Annotated[
        tuple[EpisodeReversion, ...], Field(description="episodes of other incidents that now hold for another time")
    ] = ()
    wide: Annotated[
        bool, Field(description="too much to list: the later stages find it in the graph by its t_created")
    ] = False
    counts: Annotated[dict[Slug, int], Field(description="what a command did, in numbers")] = {}
    reason: Annotated[Slug | None, Field(description="a code, for what was rejected")] = None
    detail: Text | None = None


class ReflectedLesson(Event):
    version_id: Id
    text: Text


class ReflectedPlaybook(Event):
    version_id: Id
    steps: tuple[Text, ...]


class ReflectedMistake(Event):
    version_id: Id
    category: MistakeCategory
    statement: Text


class Reflected(Event):
    """What lesson made of an entry."""

    lesson: ReflectedLesson | None = None
    playbook: ReflectedPlaybook | None = None
    mistakes: tuple[ReflectedMistake, ...] = ()
    resolved: Annotated[tuple[Id, ...], Field(description="mistake versions that a command closed")] = ()


class StandingRule(Event):
    """One rule version, as consolidated from the open mistakes of a category."""

    version_id: Id
    category: MistakeCategory
    statement: Text
    incidents: Annotated[int, Field(ge=1, description="incidents with an open mistake of the category")]
    rests_on: Annotated[tuple[Id, ...], Field(description="the mistakes that it quotes")]
    t_valid: WorldMilliseconds


class Consolidated(Event):
    """What consolidate made of an entry."""

    made: tuple[StandingRule, ...] = ()
    withdrawn: Annotated[tuple[Id, ...], Field(description="rule versions that no longer stand")] = ()
    ended: Annotated[tuple[MistakeCategory, ...], Field(description="categories that have no rule any more")] = ()


class ChainEvent(Event):
    """What every event after the log carries: the entry, its place, and what the stages made of it."""

    entry: EntryLogged
    generation: Slug
    position: LogPosition
    current: Annotated[bool, Field(description="this revision is what memory believes of the incident")]
    recorded: Recorded
    skipped: Annotated[tuple[Slug, ...], Field(description="stages that could not do their part")] = ()
    took_ms: dict[Slug, float] = {}


class EntryRecorded(ChainEvent):
    """memory.recorded.v1"""


class EntryReflected(ChainEvent):
    """memory.reflected.v1"""

    reflected: Reflected


class EntryConsolidated(EntryReflected):
    """memory.consolidated.v1"""

    consolidated: Consolidated


class RuleChanged(Event):
    """memory.rules.v1: the standing rule of a (tenant, category); a tombstone when none stands."""

    tenant: Tenant
    rule: StandingRule
    t_created: Milliseconds
    source_event: Literal["reflexion_consolidation"] = "reflexion_consolidation"
