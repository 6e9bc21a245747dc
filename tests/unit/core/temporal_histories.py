"""Histories of a memory: what is published and commanded, the log's entries of it, and the fold that remembers them.

World time runs over the first milliseconds after the epoch, 0 … LAST_POINT, so that a few points are all of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from tests.unit.core.recorded_tables import Tables
from twiceshy.core.temporal import FOREVER, Observation, Segment, Version, answer, effective_revision_time
from twiceshy.events import chain
from twiceshy.events.chain import Admission, EntryLogged, LoggedCommand, StampedSettings
from twiceshy.events.common import instant
from twiceshy.events.incident import EntityMention, FactClaim, IncidentConcluded, IncidentRef, Origin

SUBJECT, PREDICATE = "alice", "works_at"
SLOT = f"fact|{SUBJECT}|{PREDICATE}"

LAST_POINT = 16
"""Every bounded interval ends by then, so that nothing changes after it."""

TENANT = "default"
CLEAN = Admission(how="clean")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a revision says about a slot; no ``valid_to`` means open."""

    object: str
    valid_from: int
    valid_to: int | None = None
    holds: bool = True
    subject: str = SUBJECT
    predicate: str = PREDICATE

    def covers(self, point: int) -> bool:
        return self.valid_from <= point and (self.valid_to is None or point < self.valid_to)


@dataclass(frozen=True, slots=True)
class Published:
    """One revision of an incident (``origin/fingerprint``), as the log has it.

    ``supersedes`` names incidents; ``many_valued`` are the predicates that were declared so when it was admitted.
    """

    incident: str
    event_id: str
    admitted_at: int
    ce_time: int | None = None
    says: tuple[Statement, ...] = ()
    trust: float = 0.3
    title: str = "It broke"
    starts_at: int = 0
    supersedes: tuple[str, ...] = ()
    many_valued: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        return self.incident.partition("/")[0]

    @property
    def revised_at(self) -> int:
        return effective_revision_time(self.ce_time, self.admitted_at)


@dataclass(frozen=True, slots=True)
class Purged:
    """All that an origin has said up to here is taken back; with ``since``, what memory learned from then on."""

    origin: str
    admitted_at: int
    since: int | None = None
    block: bool = False


@dataclass(frozen=True, slots=True)
class Unblocked:
    origin: str
    admitted_at: int


@dataclass(frozen=True, slots=True)
class Aliased:
    alias: str
    canonical: str
    admitted_at: int


@dataclass(frozen=True, slots=True)
class Unaliased:
    alias: str
    canonical: str
    admitted_at: int


@dataclass(frozen=True, slots=True)
class Superseded:
    """A person says that one incident takes the place of another from ``starts_at`` on."""

    incident: str
    by: str
    starts_at: int
    admitted_at: int


@dataclass(frozen=True, slots=True)
class Again:
    """The entry at this place of the history is delivered once more."""

    place: int


Command: TypeAlias = Purged | Unblocked | Aliased | Unaliased | Superseded
Entry: TypeAlias = Published | Command | Again
History: TypeAlias = Sequence[Entry]


@dataclass(slots=True)
class Remembered:
    """What a fold of a history leaves: ``stamps`` has the transaction time of each entry, as often as it came."""

    tables: Tables = field(default_factory=Tables)
    stamps: list[int] = field(default_factory=list)

    @property
    def versions(self) -> list[Version]:
        return self.tables.versions()

    @property
    def observations(self) -> list[Observation]:
        return [seen for seen in self.tables.observed() if seen.slot.startswith("fact|")]

    def current(self) -> list[Segment]:
        return [version.segment for version in self.versions if version.t_expired == FOREVER]

    def asked(self, event_time: int, known_at: int) -> str | None:
        """What was true of the one slot that examples are about."""
        found = answer((v for v in self.versions if v.slot == SLOT), event_time, known_at)
        return found.object if found else None


def remember(history: History) -> Remembered:
    """Folds a history into memory, each entry seeing what the one before left."""
    memory = Remembered()
    for entry in logged(history):
        [result] = memory.tables.remember(entry)
        memory.stamps.append(result.t_created)
    return memory


def logged(history: History) -> list[EntryLogged]:
    """The entries of the log, made without the checks of what comes from outside, for these cost the most."""
    entries: list[EntryLogged] = []
    for number, entry in enumerate(history):
        if isinstance(entry, Again):
            entries.append(entries[entry.place])
        elif isinstance(entry, Published):
            entries.append(_published(entry))
        else:
            entries.append(_commanded(entry, f"command {number}"))
    return entries


def content_of(entry: Published) -> str:
    """In place of the hash of what an incident says."""
    return repr((entry.incident, entry.title, entry.starts_at, entry.says, entry.supersedes))


def _published(entry: Published) -> EntryLogged:
    origin, _, fingerprint = entry.incident.partition("/")
    incident = IncidentConcluded.model_construct(
        tenant=TENANT,
        fingerprint=fingerprint,
        title=entry.title,
        concluded_at=instant(entry.starts_at),
        origin=_origin(origin),
        entities=_mentions(entry.title),
        facts=tuple(map(_claim, entry.says)),
        supersedes=tuple(map(_named, entry.supersedes)),
    )
    settings = _settings(entry.trust, entry.many_valued)
    return _entry(entry.event_id, entry.admitted_at, entry.revised_at, settings, content_of(entry), incident=incident)


def _commanded(entry: Command, event_id: str) -> EntryLogged:
    command = _command(entry)
    settings = _settings(0.3, ())
    return _entry(event_id, entry.admitted_at, entry.admitted_at, settings, event_id, command=command)


def _entry(
    event_id: str,
    admitted_at: int,
    revised_at: int,
    settings: StampedSettings,
    content: str,
    incident: IncidentConcluded | None = None,
    command: LoggedCommand | None = None,
) -> EntryLogged:
    return EntryLogged.model_construct(
        event_id=event_id,
        tenant=TENANT,
        kind=command.kind if command else "incident",
        ce_source="tests",
        ce_id=event_id,
        revised_at=revised_at,
        admitted_at=admitted_at,
        settings=settings,
        admission=CLEAN,
        content_hash=content,
        incident=incident,
        command=command,
    )


def _command(entry: Command) -> LoggedCommand:
    asked = {"tenant": TENANT, "who": "a person", "why": "a reason"}
    match entry:
        case Purged(origin, _, since, block):
            start = None if since is None else instant(since)
            return chain.OriginInvalidation(
                kind="origin-invalidation", origin=origin, since=start, block=block, **asked
            )
        case Unblocked(origin, _):
            return chain.Unblock(kind="unblock", origin=origin, **asked)
        case Aliased(alias, canonical, _):
            return chain.Alias(kind="alias", alias=alias, canonical=canonical, **asked)
        case Unaliased(alias, canonical, _):
            return chain.Unalias(kind="unalias", alias=alias, canonical=canonical, **asked)
        case Superseded(incident, by, starts_at, _):
            target, successor, at = _named(incident), _named(by), instant(starts_at)
            return chain.Supersede(kind="supersede", incident=target, by=successor, at=at, **asked)


@lru_cache(maxsize=65_536)
def _claim(said: Statement) -> FactClaim:
    return FactClaim(
        subject=said.subject,
        predicate=said.predicate,
        object=said.object,
        holds=said.holds,
        valid_from=instant(said.valid_from),
        valid_to=None if said.valid_to is None else instant(said.valid_to),
    )


@lru_cache
def _origin(name: str) -> Origin:
    return Origin(name=name)


@lru_cache
def _named(incident: str) -> IncidentRef:
    origin, _, fingerprint = incident.partition("/")
    return IncidentRef(origin=origin, fingerprint=fingerprint)


@lru_cache
def _mentions(title: str) -> tuple[EntityMention, ...]:
    """What an incident of this title mentions."""
    cause = EntityMention(type="change", ref=title, role="cause")
    return (cause, EntityMention(type="change", ref=title, role="resolution"))


@lru_cache
def _settings(trust: float, many_valued: tuple[str, ...]) -> StampedSettings:
    return StampedSettings(origin_trust=trust, many_valued=many_valued)
