"""What was true, and what we knew: belief as a pure function of what was observed.

Two independent axes, half-open intervals, integers of UTC epoch milliseconds. On the world axis something
holds in ``[start, end)``; on the system axis memory knows it in ``[t_created, t_expired)`` (of an
observation: ``[t_created, t_retracted)``). An open end is ``FOREVER``.

    segments = believed(live(observations, known_at))    what is believed, from what was said
    change = diff(versions, segments)                    what a write expires and inserts
    versions = applied(versions, change, slot=…, at=…)   the slot's versions after the write
    answer(versions, event_time, known_at)               as believed(live(observations, known_at)) says

No function here reads a clock, and none raises on any input of its types.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

FOREVER = 253402300799999
"""An open end: 9999-12-31T23:59:59.999Z, below 2^53, where the graph's indexed integers stop being exact."""

REAFFIRMED_MAX = 20
"""So many reaffirming incidents of one segment are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one revision of one incident says about a slot.

    ``holds=False`` says that nothing holds in its interval; its object then plays no part. ``revised_at`` is
    the revision's effective ``ce_time``. ``trust`` and ``confidence``, 0 to 1, take no part in what is
    believed. One whose ``valid_to`` is not after its ``valid_from`` covers nothing.
    """

    slot: str
    object: str
    holds: bool
    valid_from: int
    valid_to: int = FOREVER
    incident: str
    revised_at: int
    event_id: str
    trust: float
    confidence: float
    t_created: int
    t_retracted: int = FOREVER


@dataclass(frozen=True, slots=True)
class Segment:
    """An object believed in ``[start, end)``, and the incident whose observation wins at its start.

    The event of that observation is carried but is no part of equality: the same content published again by
    the same incident is the same segment, and makes no version.
    """

    start: int
    end: int
    object: str
    founder: str
    event_id: str = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A segment as memory believed it in ``[t_created, t_expired)``. Immutable but for ``t_expired``."""

    slot: str
    object: str
    t_valid: int
    t_invalid: int
    t_created: int
    t_expired: int = FOREVER
    founder: str
    event_id: str

    @property
    def segment(self) -> Segment:
        """The segment of which this is a version."""
        return Segment(self.t_valid, self.t_invalid, self.object, self.founder, self.event_id)


@dataclass(frozen=True, slots=True)
class Change:
    """What one write does to a slot, each part in order of world time.

    ``supersedes`` has a pair for each link: an inserted segment, and an expired version that it overlaps.
    """

    expired: tuple[Version, ...]
    inserted: tuple[Segment, ...]
    kept: tuple[Version, ...]
    supersedes: tuple[tuple[Segment, Version], ...]


class Revision(Protocol):
    """Whatever has a place among the revisions of its incident."""

    @property
    def revised_at(self) -> int: ...
    @property
    def event_id(self) -> str: ...


AnyRevision = TypeVar("AnyRevision", bound=Revision)


def effective_revision_time(ce_time: int | None, admitted_at: int) -> int:
    """When a revision was made: its ``ce_time``; missing or later than ``admitted_at``, it counts as that."""
    return admitted_at if ce_time is None else min(ce_time, admitted_at)


def greatest_revision(revisions: Iterable[AnyRevision]) -> AnyRevision | None:
    """The one revision of an incident that counts: of the greatest (``revised_at``, ``event_id``), if any."""
    return max(revisions, key=lambda revision: (revision.revised_at, revision.event_id), default=None)


def transaction_time(watermark: int, admitted_at: int) -> int:
    """The ``t_created`` of the entry after ``watermark``: greater than it, also when a clock has jumped back.

    >>> transaction_time(205, 300), transaction_time(205, 180)
    (300, 206)
    """
    return max(watermark + 1, admitted_at)


def episode_valid_from(started_at: int | None, concluded_at: int, admitted_at: int) -> int:
    """An episode's ``t_valid``: its start, else its conclusion, and never later than ``admitted_at``."""
    return min(concluded_at if started_at is None else started_at, admitted_at)


def live(observations: Iterable[Observation], known_at: int) -> tuple[Observation, ...]:
    """The observations that memory had, and had not taken back, at ``known_at``."""
    return tuple(seen for seen in observations if seen.t_created <= known_at < seen.t_retracted)


def believed(observations: Iterable[Observation], since: int | None = None) -> tuple[Segment, ...]:
    """What the live observations of one slot come to: disjoint segments, in order of world time.

    With ``since``, those that begin then or later, where none begins before and holds on (`begin`). Of observations
    that began before it is enough to have the latest one without an end, and those after it.

    At every world time the latest-starting observation that covers it wins (equal starts: the later
    ``revised_at``, then the greater event id). Where none covers it, or the winner has ``holds=False``,
    nothing is believed. Neighbouring pieces with the same object are one segment, whose founder is the
    incident that wins at its start. Objects compare as given: aliases are resolved before. O(n log n) in the
    observations.

    >>> def works_at(place: str, start: int, end: int = FOREVER) -> Observation:
    ...     return Observation(
    ...         slot="alice/works_at", object=place, holds=True, valid_from=start, valid_to=end,
    ...         incident=place, revised_at=0, event_id=place, trust=0.3, confidence=1.0, t_created=0)
    >>> [(s.start, s.end, s.object) for s in believed([works_at("acme", 100), works_at("beta", 150, 200)])]
    [(100, 150, 'acme'), (150, 200, 'beta'), (200, 253402300799999, 'acme')]
    """
    segments: list[Segment] = []
    for begun, end, winner in _won(observations):
        start = begun if since is None else max(begun, since)
        if end <= start or not winner.holds:
            continue
        if segments and segments[-1].end == start and segments[-1].object == winner.object:
            segments[-1] = replace(segments[-1], end=end)
        else:
            segments.append(Segment(start, end, winner.object, winner.incident, winner.event_id))
    return tuple(segments)


def _won(observations: Iterable[Observation]) -> Iterator[tuple[int, int, Observation]]:
    """Cut world time into pieces (start, end, winner), in order; what nothing covers is in no piece.

    Taken in ascending precedence, an observation starts no earlier than those before it: put on top of a
    stack, it wins until it ends or the next one starts, and then what lies below has its turn. Each is pushed
    and popped at most once, so the sort is what it costs.
    """
    ordered = sorted(observations, key=_precedence)
    horizon = max((seen.valid_to for seen in ordered), default=FOREVER)
    stack: list[Observation] = []
    for index, seen in enumerate(ordered, start=1):
        stack.append(seen)
        cursor = seen.valid_from
        until = ordered[index].valid_from if index < len(ordered) else horizon
        while stack and cursor < until:
            top = stack[-1]
            if top.valid_to <= cursor:
                stack.pop()
                continue
            end = min(top.valid_to, until)
            yield cursor, end, top
            cursor = end


def _precedence(seen: Observation) -> tuple[int, int, str, int, bool, str, str]:
    """Who wins, ascending. All after the event id decides between what one event says twice of one start.

    There the one that ends first wins, being the exception to the other; the rest makes the order total.
    """
    said = (-seen.valid_to, seen.holds, seen.object, seen.incident)
    return (seen.valid_from, seen.revised_at, seen.event_id, *said)


def diff(before: Iterable[Version], after: Iterable[Segment]) -> Change:
    """What to write so that the slot's current versions become the segments ``after``.

    Compared are (start, end, object, founder). A current version that is not among the segments is expired, a
    segment that no current version has is inserted, the other versions are kept as they are. ``before`` may
    be the slot's whole history: what has expired is passed over. The segments are disjoint, and so, at one
    moment, are the versions.
    """
    segments = sorted(after, key=lambda segment: segment.start)
    current = sorted((v for v in before if v.t_expired == FOREVER), key=lambda version: version.t_valid)
    wanted, standing = set(segments), {version.segment for version in current}
    expired = tuple(version for version in current if version.segment not in wanted)
    inserted = tuple(segment for segment in segments if segment not in standing)
    kept = tuple(version for version in current if version.segment in wanted)
    return Change(expired, inserted, kept, tuple(_overlaps(inserted, expired)))


def begin(versions: Iterable[Version], since: int) -> int:
    """Where to begin when a slot changes from ``since`` on: what was believed before that stays as it is.

    At the start of the current version that holds until ``since``, for what begins then can become one with it.
    Without one just before it, where nothing is believed: what begins at ``since`` itself may be taken back.
    """
    holding = (v.t_valid for v in versions if v.t_expired == FOREVER and v.t_valid < since <= v.t_invalid)
    return min(holding, default=since - 1)


def _overlaps(segments: Sequence[Segment], versions: Sequence[Version]) -> Iterator[tuple[Segment, Version]]:
    """Every overlapping pair; bisected, for an alias can rewrite thousands of segments at once."""
    starts = [version.t_valid for version in versions]
    ends = [version.t_invalid for version in versions]
    for segment in segments:
        for version in versions[bisect_right(ends, segment.start) : bisect_left(starts, segment.end)]:
            yield segment, version


def applied(versions: Iterable[Version], change: Change, *, slot: str, at: int) -> tuple[Version, ...]:
    """The slot's versions after the write of ``change`` at the transaction time ``at``."""
    gone = set(change.expired)
    closed = (replace(version, t_expired=at) if gone and version in gone else version for version in versions)
    made = (
        Version(
            slot=slot,
            object=segment.object,
            t_valid=segment.start,
            t_invalid=segment.end,
            t_created=at,
            founder=segment.founder,
            event_id=segment.event_id,
        )
        for segment in change.inserted
    )
    return (*closed, *made)


def answer(versions: Iterable[Version], event_time: int, known_at: int) -> Version | None:
    """What was true at ``event_time``, as known at ``known_at``: of one slot, at most one version says so."""
    for version in versions:
        true_then = version.t_valid <= event_time < version.t_invalid
        if true_then and version.t_created <= known_at < version.t_expired:
            return version
    return None


def winner(observations: Iterable[Observation], event_time: int) -> Observation | None:
    """The observation that wins at ``event_time``: what it says is believed then, also that nothing holds."""
    covering = (seen for seen in observations if seen.valid_from <= event_time < seen.valid_to)
    return max(covering, key=_precedence, default=None)


def overlaps(seen: Observation, segment: Segment) -> bool:
    """Whether the observation says something about a time within the segment."""
    # As max(starts) < min(ends) says, in a quarter of the time: a history compares each with each.
    return seen.valid_from < segment.end and segment.start < seen.valid_to and seen.valid_from < seen.valid_to


def supporters(observations: Iterable[Observation], segment: Segment) -> tuple[Observation, ...]:
    """Those of the live observations that say the segment's object somewhere within it."""
    return tuple(o for o in observations if o.holds and o.object == segment.object and overlaps(o, segment))


def reaffirmed_by(observations: Iterable[Observation], segment: Segment) -> tuple[Observation, ...]:
    """An observation of each of the last 20 incidents but the founder that support the segment, newest first."""
    return _reaffirming(observations, segment)[:REAFFIRMED_MAX]


def access_count(observations: Iterable[Observation], segment: Segment) -> int:
    """How many incidents but the founder support the segment."""
    return len(_reaffirming(observations, segment))


def _reaffirming(observations: Iterable[Observation], segment: Segment) -> tuple[Observation, ...]:
    others = [seen for seen in supporters(observations, segment) if seen.incident != segment.founder]
    others.sort(key=lambda seen: (seen.revised_at, seen.event_id, _precedence(seen)), reverse=True)
    newest: dict[str, Observation] = {}
    for seen in others:
        newest.setdefault(seen.incident, seen)
    return tuple(newest.values())
