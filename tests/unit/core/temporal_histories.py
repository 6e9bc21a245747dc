"""Histories of one slot, the fold that remembers them, and an oracle that knows no intervals.

The oracle reads the history itself, entry by entry, and asks at single points of world time who wins. With the
code under test it shares the rule and the dating of revisions, and nothing else.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from hypothesis import strategies as st

from twiceshy.core.temporal import (
    FOREVER,
    Observation,
    Segment,
    Version,
    answer,
    applied,
    believed,
    diff,
    effective_revision_time,
    greatest_revision,
    live,
    transaction_time,
)

SLOT = "alice/works_at"

LAST_POINT = 16
"""World time runs over 0 … LAST_POINT; every bounded interval ends by then, so that nothing changes after it."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a revision says about the slot; no ``valid_to`` means open."""

    object: str
    valid_from: int
    valid_to: int | None = None
    holds: bool = True
    trust: float = 0.3

    def covers(self, point: int) -> bool:
        return self.valid_from <= point and (self.valid_to is None or point < self.valid_to)


@dataclass(frozen=True, slots=True)
class Published:
    """One revision of an incident, as the log has it."""

    incident: str
    event_id: str
    admitted_at: int
    ce_time: int | None = None
    says: tuple[Statement, ...] = ()

    @property
    def revised_at(self) -> int:
        return effective_revision_time(self.ce_time, self.admitted_at)


@dataclass(frozen=True, slots=True)
class Purged:
    """All that an incident has said up to here is taken back."""

    incident: str
    admitted_at: int


Entry: TypeAlias = Published | Purged
History: TypeAlias = Sequence[Entry]
Belief: TypeAlias = Callable[[Iterable[Observation]], tuple[Segment, ...]]
Said: TypeAlias = tuple[Published, Statement]
Run: TypeAlias = tuple[int, int, str, str]


@dataclass(frozen=True, slots=True)
class Memory:
    """What a fold of a history leaves: ``stamps`` has the transaction time of each entry that was applied."""

    stamps: tuple[int, ...] = ()
    revisions: tuple[Published, ...] = ()
    observations: tuple[Observation, ...] = ()
    versions: tuple[Version, ...] = ()

    def current(self) -> list[Segment]:
        return [version.segment for version in self.versions if version.t_expired == FOREVER]

    def asked(self, event_time: int, known_at: int) -> str | None:
        found = answer(self.versions, event_time, known_at)
        return found.object if found else None


def remember(history: History, believe: Belief = believed) -> Memory:
    """Fold a history into memory, each entry seeing what the one before left."""
    memory = Memory()
    for entry in history:
        memory = remembered(memory, entry, believe)
    return memory


def remembered(memory: Memory, entry: Entry, believe: Belief = believed) -> Memory:
    """Apply one entry, as a worker does: observations first, then the versions that belief now asks for."""
    if isinstance(entry, Published) and entry.event_id in {known.event_id for known in memory.revisions}:
        return memory
    at = transaction_time(memory.stamps[-1] if memory.stamps else 0, entry.admitted_at)
    revisions = memory.revisions
    observations = memory.observations
    if isinstance(entry, Purged):
        observations = retracted(observations, entry.incident, at)
    else:
        revisions = (*revisions, entry)
        counts = greatest_revision(known for known in revisions if known.incident == entry.incident) is entry
        if counts:
            observations = retracted(observations, entry.incident, at)
        observations = (*observations, *observed(entry, at, FOREVER if counts else at))
    change = diff(memory.versions, believe(live(observations, at)))
    versions = applied(memory.versions, change, slot=SLOT, at=at)
    return Memory((*memory.stamps, at), revisions, observations, versions)


def retracted(observations: Iterable[Observation], incident: str, at: int) -> tuple[Observation, ...]:
    return tuple(
        replace(seen, t_retracted=at) if seen.incident == incident and seen.t_retracted == FOREVER else seen
        for seen in observations
    )


def observed(entry: Published, t_created: int, t_retracted: int = FOREVER) -> list[Observation]:
    return [
        Observation(
            slot=SLOT,
            object=said.object,
            holds=said.holds,
            valid_from=said.valid_from,
            valid_to=FOREVER if said.valid_to is None else said.valid_to,
            incident=entry.incident,
            revised_at=entry.revised_at,
            event_id=entry.event_id,
            trust=said.trust,
            confidence=1.0,
            t_created=t_created,
            t_retracted=t_retracted,
        )
        for said in entry.says
    ]


def standing(history: History) -> list[Said]:
    """What stands at the end of a history: of each incident the greatest revision, unless it was purged after."""
    best: dict[str, tuple[int, Published]] = {}
    purged: dict[str, int] = {}
    for position, entry in enumerate(history):
        if isinstance(entry, Purged):
            purged[entry.incident] = position
            continue
        rival = best.get(entry.incident)
        if rival is None or (entry.revised_at, entry.event_id) > (rival[1].revised_at, rival[1].event_id):
            best[entry.incident] = (position, entry)
    return [
        (entry, said)
        for incident, (position, entry) in best.items()
        if position > purged.get(incident, -1)
        for said in entry.says
    ]


def beats(mine: Said, yours: Said) -> bool:
    """Whether one statement wins over another where both hold, in the words of the rule."""
    (my_revision, my_statement), (your_revision, your_statement) = mine, yours
    if my_statement.valid_from != your_statement.valid_from:
        return my_statement.valid_from > your_statement.valid_from
    if my_revision.revised_at != your_revision.revised_at:
        return my_revision.revised_at > your_revision.revised_at
    if my_revision.event_id != your_revision.event_id:
        return my_revision.event_id > your_revision.event_id
    if my_statement.valid_to != your_statement.valid_to:
        return my_statement.valid_to is not None and my_statement.valid_to < (your_statement.valid_to or FOREVER)
    if my_statement.holds != your_statement.holds:
        return my_statement.holds
    return my_statement.object > your_statement.object


def winner_at(point: int, said: Sequence[Said]) -> Said | None:
    """The statement that wins at one point of world time: the one that covers it and that no other beats."""
    covering = [one for one in said if one[1].covers(point)]
    return next((one for one in covering if not any(beats(other, one) for other in covering)), None)


def points_of(history: History) -> list[tuple[str, str] | None]:
    """The (object, incident) that wins at each point 0 … LAST_POINT after the whole history, or None."""
    said = standing(history)
    found = [winner_at(point, said) for point in range(LAST_POINT + 1)]
    return [(won[1].object, won[0].incident) if won and won[1].holds else None for won in found]


def runs_of(points: Sequence[tuple[str, str] | None]) -> list[Run]:
    """The maximal runs of points with one object: (start, end, object, the incident that wins at the start)."""
    runs: list[Run] = []
    for spoken, run in groupby(enumerate(points), key=lambda numbered: numbered[1] and numbered[1][0]):
        members = list(run)
        start, first = members[0]
        end = members[-1][0] + 1
        if spoken and first:
            runs.append((start, FOREVER if end > LAST_POINT else end, spoken, first[1]))
    return runs


def counterexample(history: History, believe: Belief = believed) -> str | None:
    """Where memory, folded with ``believe``, does not answer as the oracle does, in a sentence; or None.

    Asked at every point of world time, at the first and the last moment of every state of the memory.
    """
    memory = remember(history, believe)
    if any(memory.asked(point, memory.stamps[0] - 1) for point in range(LAST_POINT + 1)):
        return "something is known before anything was said"
    lasts = [following - 1 for following in (*memory.stamps[1:], FOREVER)]
    for count, (first, last) in enumerate(zip(memory.stamps, lasts, strict=True), start=1):
        points = points_of(history[:count])
        found = difference(memory, points, first) or difference(memory, points, last)
        if found:
            return f"after {count} entries, {found}"
    return None


def difference(memory: Memory, points: Sequence[tuple[str, str] | None], known_at: int) -> str | None:
    """Where memory as of one moment differs from the oracle's points of that moment, in a sentence; or None."""
    for event_time, expected in [*enumerate(points), (FOREVER - 1, points[-1])]:
        found = [v.object for v in memory.versions if answer([v], event_time, known_at)]
        if found != ([expected[0]] if expected else []):
            return f"event {event_time}, known {known_at}: {found}, expected {expected}"
    known = [version for version in memory.versions if version.t_created <= known_at < version.t_expired]
    runs = sorted((v.t_valid, v.t_invalid, v.object, v.founder) for v in known)
    if runs != runs_of(points):
        return f"known {known_at}: segments {runs}, expected {runs_of(points)}"
    return None


# Drawn from often, so made once. Few starts and few objects: equal starts, and neighbours with one object, are common.
starts = st.integers(0, LAST_POINT - 1)
lengths = st.sampled_from([None, None, 1, 2, 3, 5, 8])
objects = st.sampled_from(["acme", "beta", "gamma"])
holding = st.sampled_from([True, True, True, True, False])
sizes = st.sampled_from([1, 2, 5, 8, 9, 10, 11, 12])
crowds = st.sampled_from([st.sampled_from("ABC"), st.sampled_from("ABCDEFGHIJKL")])
clocks = st.integers(1, 60)
ce_times = st.sampled_from([None, 1, 2, 3])
counts = st.sampled_from([1, 2, 2, 3, 0, 3])
chances = st.integers(0, 9)


@st.composite
def histories(draw: st.DrawFn, *, purges: bool = True) -> list[Entry]:
    """Entries about one slot, by few incidents or by many, in the order of the log, no two event ids alike.

    Clocks jump, revisions come late, and an incident published again says other things, fewer, or nothing.
    """
    size, incidents = draw(sizes), draw(crowds)
    history: list[Entry] = []
    for name in draw(st.permutations([f"e{number:02}" for number in range(size)])):
        incident, admitted_at = draw(incidents), draw(clocks)
        if purges and history and draw(chances) == 0:
            history.append(Purged(incident, admitted_at))
            continue
        says = []
        for _ in range(draw(counts)):
            start, length = draw(starts), draw(lengths)
            end = None if length is None else min(start + length, LAST_POINT)
            says.append(Statement(draw(objects), start, end, draw(holding)))
        history.append(Published(incident, name, admitted_at, draw(ce_times), tuple(says)))
    return history
