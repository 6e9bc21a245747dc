"""Random histories, drawn cheaply: a few bytes an entry, of which each choice takes what it needs.

Zeros are the simplest history, and fewer bytes are a shorter one, so that a counterexample shrinks well.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from hypothesis import strategies as st

from tests.unit.core.temporal_histories import (
    LAST_POINT,
    Again,
    Aliased,
    Entry,
    Published,
    Purged,
    Statement,
    Superseded,
    Unaliased,
    Unblocked,
)
from twiceshy.core.temporal import transaction_time

T = TypeVar("T")

ENTRY_BYTES = 20
LARGE = 10
"""A history of so many entries is a large one."""

SINGLE, REGION, MANY = "owner", "region", "depends_on"
SUBJECTS = ("service:a", "service:b", "service:A", "host:b", "host:d:1", "c")
OBJECTS = ("x", "service:b", "y", "service:a", "X", "host:d:1")
ALIASES = (
    ("service:b", "service:a"),
    ("y", "x"),
    ("b", "a"),
    ("service:B", "service:A"),
    ("host:d:1", "service:b"),
    ("a", "service:a"),
    ("host:d:1", "b"),
    ("c", "service:b"),
    ("x", "a"),
    ("host:b", "service:a"),
)
"""(alias, canonical). None closes a circle with others, for each comes to a lesser reference or to a type."""

ORIGINS = "pqr"
INCIDENTS = tuple(f"{origin}/{number}" for number in range(6) for origin in ORIGINS)
TRUST = {"p": 0.3, "q": 0.3, "r": 0.9}
ADMITTED = 100
"""Entries are admitted around here, after all that ever happened; `since` of a purge is a moment around here too."""


@dataclass(slots=True)
class Choices:
    """Choices out of one number, the first of each being the simplest."""

    left: int

    def below(self, count: int) -> int:
        self.left, chosen = divmod(self.left, count)
        return chosen

    def of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]


@dataclass(frozen=True, slots=True)
class World:
    """How many incidents, subjects and objects there are, the predicates, and how much a revision says at most."""

    incidents: int
    subjects: int
    objects: int
    predicates: tuple[str, ...]
    statements: int


FEW = (World(3, 1, 2, (SINGLE,), 2), World(6, 6, 6, (SINGLE, REGION, MANY), 3), World(18, 2, 6, (MANY, SINGLE), 4))
CROWDED = (
    World(9, 1, 4, (SINGLE,), 5),
    World(9, 2, 6, (SINGLE,), 8),
    World(9, 1, 6, (SINGLE, REGION), 8),
    World(9, 3, 4, (SINGLE,), 8),
    World(9, 1, 2, (MANY, SINGLE), 8),
)
sizes = st.sampled_from([1, 2, 4, 6, 8, 10, 12, 14, 16])


@st.composite
def histories(draw: st.DrawFn) -> list[Entry]:
    """Entries in the order of the log: clocks jump, revisions come late, and incidents published again say less."""
    size = draw(sizes)
    return decoded(draw(st.binary(min_size=1 + ENTRY_BYTES * size, max_size=1 + ENTRY_BYTES * size)))


def decoded(drawn: bytes) -> list[Entry]:
    worlds = FEW if len(drawn) < 1 + ENTRY_BYTES * LARGE else CROWDED
    world = worlds[drawn[0] % len(worlds)]
    history: list[Entry] = []
    for start in range(1, len(drawn), ENTRY_BYTES):
        choices = Choices(int.from_bytes(drawn[start : start + ENTRY_BYTES], "big"))
        kind = choices.of(KINDS) if history else published
        history.append(kind(choices, world, history))
    return history


def published(choices: Choices, world: World, before: Sequence[Entry]) -> Published:
    incident = INCIDENTS[choices.below(world.incidents)]
    admitted_at, ce_time = clock(choices), choices.of((None, 1, 2, 3))
    count = choices.of((1, world.statements, 2, world.statements, world.statements, 0))
    return Published(
        incident,
        f"{choices.of('abcd')}{len(before):02}",
        admitted_at,
        ce_time,
        says=tuple(statement(choices, world) for _ in range(count)),
        trust=TRUST[incident[0]],
        title=choices.of(("It broke", "It broke again")),
        starts_at=choices.below(LAST_POINT),
        supersedes=choices.of(((), (), INCIDENTS[:1], (), INCIDENTS[1:3], ())),
        many_valued=choices.of(((MANY,), (MANY,), (MANY,), ())),
    )


def statement(choices: Choices, world: World) -> Statement:
    start, length = choices.below(LAST_POINT), choices.of((None, None, 1, 2, 3, 5, 8))
    return Statement(
        object=OBJECTS[choices.below(world.objects)],
        valid_from=start,
        valid_to=None if length is None else min(start + length, LAST_POINT),
        holds=choices.of((True, True, True, True, False)),
        subject=SUBJECTS[choices.below(world.subjects)],
        predicate=choices.of(world.predicates),
    )


def clock(choices: Choices) -> int:
    return ADMITTED + choices.below(60)


def again(choices: Choices, world: World, before: Sequence[Entry]) -> Again:
    return Again(choices.below(len(before)))


def purged(choices: Choices, world: World, before: Sequence[Entry]) -> Purged:
    stamps = list(accumulate((entry.admitted_at for entry in before if not isinstance(entry, Again)), transaction_time))
    since = choices.of((None, choices.of(stamps), choices.of(stamps), choices.of(stamps) + 1))
    origins = [entry.origin for entry in before if isinstance(entry, Published)]
    return Purged(choices.of(origins), clock(choices), since, block=not choices.below(4))


def unblocked(choices: Choices, world: World, before: Sequence[Entry]) -> Unblocked:
    blocked = [entry.origin for entry in before if isinstance(entry, Purged) and entry.block]
    return Unblocked(choices.of(blocked or ORIGINS), clock(choices))


def aliased(choices: Choices, world: World, before: Sequence[Entry]) -> Aliased:
    return Aliased(*choices.of(ALIASES), clock(choices))


def unaliased(choices: Choices, world: World, before: Sequence[Entry]) -> Entry:
    made = [(entry.alias, entry.canonical) for entry in before if isinstance(entry, Aliased)]
    return Unaliased(*choices.of(made), clock(choices)) if made else aliased(choices, world, before)


def superseded(choices: Choices, world: World, before: Sequence[Entry]) -> Entry:
    known = [entry.incident for entry in before if isinstance(entry, Published)]
    return Superseded(choices.of(known), choices.of(known), choices.below(LAST_POINT), clock(choices))


KINDS: tuple[Callable[[Choices, World, Sequence[Entry]], Entry], ...] = (
    *[published] * 24,
    *[aliased] * 3,
    *[purged] * 2,
    unaliased,
    again,
    superseded,
    unblocked,
)


@st.composite
def publications(draw: st.DrawFn) -> list[Published]:
    """Incidents alone, each with a ``ce_time`` that is not later than its admission, wherever in the log it comes."""
    size = draw(sizes)
    drawn = draw(st.binary(min_size=1 + ENTRY_BYTES * size, max_size=1 + ENTRY_BYTES * size))
    world = (FEW + CROWDED)[drawn[0] % len(FEW + CROWDED)]
    said: list[Published] = []
    for start in range(1, len(drawn), ENTRY_BYTES):
        choices = Choices(int.from_bytes(drawn[start : start + ENTRY_BYTES], "big"))
        said.append(replace(published(choices, world, said), ce_time=choices.below(4)))
    return said
