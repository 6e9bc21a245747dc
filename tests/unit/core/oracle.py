"""What a memory has to answer after a history: an oracle that knows no intervals.

It reads the history itself, entry by entry, knows names by a union of sets, and asks at single points of world
time who wins. With the code under test it shares the rule and the dating of revisions, and nothing else.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from itertools import groupby
from typing import TypeAlias

from tests.unit.core.oracle_names import Sets, parts, sets_of
from tests.unit.core.temporal_histories import (
    LAST_POINT,
    PREDICATE,
    SUBJECT,
    Again,
    Aliased,
    Entry,
    History,
    Published,
    Purged,
    Statement,
    Superseded,
    Unaliased,
    Unblocked,
    content_of,
)
from twiceshy.core.temporal import FOREVER

Rows: TypeAlias = list[tuple[object, ...]]
Point: TypeAlias = tuple[str, str] | None
"""The object and the incident that win at a point, if any do and say that something holds."""


@dataclass(frozen=True, slots=True)
class Said:
    """A statement that stands, by whom, and what its object is called."""

    by: Published
    statement: Statement
    object: str


@dataclass(slots=True)
class Oracle:
    """What a history comes to, as far as it was read."""

    watermark: int = 0
    published: dict[str, tuple[Published, int]] = field(default_factory=dict)
    purges: list[tuple[Purged, int]] = field(default_factory=list)
    blocked: set[str] = field(default_factory=set)
    aliases: tuple[tuple[str, str], ...] = ()
    commanded: list[Superseded] = field(default_factory=list)
    standing: dict[str, Published] = field(default_factory=dict)

    def read(self, entry: Entry) -> None:
        if isinstance(entry, Again) or (isinstance(entry, Published) and entry.event_id in self.published):
            return
        self.watermark = max(self.watermark + 1, entry.admitted_at)
        match entry:
            case Published() if entry.origin not in self.blocked:
                self.published[entry.event_id] = entry, self.watermark
            case Purged():
                self.purges.append((entry, self.watermark))
                self.blocked |= {entry.origin} if entry.block else set()
            case Unblocked():
                self.blocked -= {entry.origin}
            case Aliased() if not self.names().has_alias(entry.alias):
                self.aliases = (*self.aliases, (entry.alias, entry.canonical))
            case Unaliased():
                gone = (parts(entry.alias), parts(entry.canonical))
                self.aliases = tuple(one for one in self.aliases if tuple(map(parts, one)) != gone)
            case Superseded() if entry.incident != entry.by and {entry.incident, entry.by} <= self.standing.keys():
                self.commanded.append(entry)
        self.standing = self._standing()
        self.commanded = [claim for claim in self.commanded if claim.by in self.standing]

    def purged(self, origin: str, learned: int) -> bool:
        return any(p.origin == origin and (p.since or 0) <= learned < at for p, at in self.purges)

    def _standing(self) -> dict[str, Published]:
        """Of each incident the greatest revision that was not purged."""
        best: dict[str, Published] = {}
        for one, learned in self.published.values():
            rival = best.get(one.incident)
            if not self.purged(one.origin, learned) and (
                rival is None or (one.revised_at, one.event_id) > (rival.revised_at, rival.event_id)
            ):
                best[one.incident] = one
        return best

    def names(self) -> Sets:
        return sets_of(self.aliases)

    def slots(self) -> dict[tuple[str, ...], list[Said]]:
        """What stands, by what it is about: subject and predicate, and the object too of one with many."""
        names = self.names()
        slots: dict[tuple[str, ...], list[Said]] = defaultdict(list)
        for one in self.standing.values():
            for statement in one.says:
                thing = names.called(statement.object)
                many = (thing,) if statement.predicate in one.many_valued else ()
                slots[names.called(statement.subject), statement.predicate, *many].append(Said(one, statement, thing))
        return slots

    def facts(self) -> Rows:
        """Slot, start, end, object and founder of all that is believed."""
        return sorted((slot, *run) for slot, said in self.slots().items() for run in runs_of(winners(said)))

    def statements(self) -> Rows:
        """All that stands, word for word, and when it was learned."""
        return sorted(
            (*_words(said), one.event_id, one.trust, self.published[one.event_id][1])
            for one in self.standing.values()
            for said in one.says
        )

    def episodes(self) -> Rows:
        """Incident, content, start and end of all episodes."""
        rows: Rows = []
        for key, one in self.standing.items():
            ends = [max(start, one.starts_at) for _, start, counts in self._claims(key) if counts]
            rows.append((key, content_of(one), one.starts_at, min(ends, default=FOREVER)))
        return sorted(rows)

    def supersessions(self) -> Rows:
        """Target, successor, start and status of what is claimed between episodes."""
        edges: dict[tuple[str, str, int], bool] = {}
        for target in self.standing:
            for successor, start, counts in self._claims(target):
                edges[target, successor, start] = counts or edges.get((target, successor, start), False)
        return sorted((*edge, "active" if counts else "contested") for edge, counts in edges.items())

    def _claims(self, target: str) -> list[tuple[str, int, bool]]:
        """Who is said to take an incident's place, from when on, and whether that counts. A person's word does."""
        trusted = self.standing[target].trust
        said = [
            (one.incident, one.starts_at, one.trust >= trusted)
            for one in self.standing.values()
            if target in one.supersedes and target != one.incident
        ]
        return said + [(claim.by, claim.starts_at, True) for claim in self.commanded if claim.incident == target]


def _words(said: Statement) -> tuple[object, ...]:
    end = FOREVER if said.valid_to is None else said.valid_to
    return said.subject, said.predicate, said.object, said.holds, said.valid_from, end


def beats(mine: Said, yours: Said) -> bool:
    """Whether one statement wins over another where both hold, in the words of the rule."""
    if mine.statement.valid_from != yours.statement.valid_from:
        return mine.statement.valid_from > yours.statement.valid_from
    if mine.by.revised_at != yours.by.revised_at:
        return mine.by.revised_at > yours.by.revised_at
    if mine.by.event_id != yours.by.event_id:
        return mine.by.event_id > yours.by.event_id
    if mine.statement.valid_to != yours.statement.valid_to:
        end = mine.statement.valid_to
        return end is not None and end < (yours.statement.valid_to or FOREVER)
    if mine.statement.holds != yours.statement.holds:
        return mine.statement.holds
    return mine.object > yours.object


def _compared(mine: Said, yours: Said) -> int:
    return -1 if beats(mine, yours) else int(beats(yours, mine))


def winners(said: Sequence[Said]) -> list[Point]:
    """Who wins at each point 0 … LAST_POINT: the one that covers it and that no other beats."""
    best_first = sorted(said, key=cmp_to_key(_compared))
    found = [next((one for one in best_first if one.statement.covers(point)), None) for point in range(LAST_POINT + 1)]
    return [(won.object, won.by.incident) if won and won.statement.holds else None for won in found]


def points_of(history: History) -> list[Point]:
    """Who wins at each point in the one slot that examples are about, after the whole history."""
    oracle = Oracle()
    for entry in history:
        oracle.read(entry)
    return winners(oracle.slots()[SUBJECT, PREDICATE])


def runs_of(points: Sequence[Point]) -> list[tuple[int, int, str, str]]:
    """The maximal runs of points with one object: (start, end, object, the incident that wins at the start)."""
    runs = []
    for spoken, run in groupby(enumerate(points), key=lambda numbered: numbered[1] and numbered[1][0]):
        members = list(run)
        start, first = members[0]
        end = members[-1][0] + 1
        if spoken and first:
            runs.append((start, FOREVER if end > LAST_POINT else end, spoken, first[1]))
    return runs
