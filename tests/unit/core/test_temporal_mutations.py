"""The properties are worth what they catch: each wrong rule of belief has a history that shows it up."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias
from unittest.mock import patch

import pytest
from hypothesis import Phase, find, given, settings

from tests.unit.core.counterexamples import counterexample
from tests.unit.core.random_histories import histories
from tests.unit.core.temporal_histories import Entry
from twiceshy.core import facts
from twiceshy.core.temporal import FOREVER, Observation, Segment

Rank: TypeAlias = Callable[[Observation], tuple[Any, ...]]


def right_rank(seen: Observation) -> tuple[Any, ...]:
    return (seen.valid_from, seen.revised_at, seen.event_id, -seen.valid_to, seen.holds, seen.object)


@dataclass(frozen=True, slots=True)
class Rule:
    """Belief in its slowest form, with a knob for each decision; as they stand here, they are right.

    ``rank``: the greatest of those that cover a time wins. ``covers``: whether one does. ``heard``: whether one
    takes part at all. ``believed``: whether the winner is an answer. ``joins``: whether two neighbouring pieces
    are one segment. ``founds``: of two pieces joined, whose winner is the founder.
    """

    rank: Rank = right_rank
    covers: Callable[[Observation, int], bool] = lambda seen, time: seen.valid_from <= time < seen.valid_to
    heard: Callable[[Observation], bool] = lambda seen: True
    believed: Callable[[Observation], bool] = lambda seen: seen.holds
    joins: Callable[[Observation, Observation], bool] = lambda before, after: before.object == after.object
    founds: Callable[[Observation, Observation], Observation] = lambda before, after: before

    def __call__(self, observations: Iterable[Observation], since: None) -> tuple[Segment, ...]:
        heard = [seen for seen in observations if self.heard(seen)]
        cuts = {cut for seen in heard for cut in (seen.valid_from, seen.valid_to, seen.valid_to + 1)}
        pieces: list[tuple[int, int, Observation, Observation]] = []
        for start, end in pairwise(sorted(cut for cut in cuts if cut <= FOREVER)):
            winner = max((seen for seen in heard if self.covers(seen, start)), key=self.rank, default=None)
            if winner is None or not self.believed(winner):
                continue
            if pieces and pieces[-1][1] == start and self.joins(pieces[-1][3], winner):
                begun, _, founder, _ = pieces.pop()
                pieces.append((begun, end, self.founds(founder, winner), winner))
            else:
                pieces.append((start, end, winner, winner))
        return tuple(Segment(start, end, by.object, by.incident, by.event_id) for start, end, by, _ in pieces)


RIGHT = Rule()

WRONG = {
    "the earliest start wins": replace(RIGHT, rank=lambda seen: (-seen.valid_from, *right_rank(seen)[1:])),
    "the latest revision wins, wherever it starts": replace(
        RIGHT, rank=lambda seen: (seen.revised_at, seen.event_id, *right_rank(seen))
    ),
    "equal starts are decided by the event id alone": replace(
        RIGHT, rank=lambda seen: (seen.valid_from, seen.event_id, *right_rank(seen)[3:])
    ),
    "the smaller event id wins a tie": replace(
        RIGHT,
        rank=lambda seen: (seen.valid_from, seen.revised_at, [-ord(letter) for letter in seen.event_id]),
    ),
    "neighbours with one object stay apart": replace(RIGHT, joins=lambda before, after: before is after),
    "holds: false is not heard": replace(RIGHT, heard=lambda seen: seen.holds),
    "holds: false is believed like any other": replace(RIGHT, believed=lambda seen: True),
    "intervals hold their end": replace(RIGHT, covers=lambda seen, time: seen.valid_from <= time <= seen.valid_to),
    "intervals have no end": replace(RIGHT, covers=lambda seen, time: seen.valid_from <= time),
    "the last to speak is the founder": replace(RIGHT, founds=lambda before, after: after),
}


@contextmanager
def believing(rule: Rule) -> Iterator[None]:
    """What is recorded goes by a rule of belief in place of the right one."""
    with patch.object(facts, "believed", rule):
        yield


def shown_up(history: list[Entry], rule: Rule) -> bool:
    """Whether a rule answers otherwise than the oracle, or believes what nobody said."""
    with believing(rule):
        try:
            return counterexample(history) is not None
        except ValueError:
            return True


@given(histories())
def test_right_rule_in_its_slowest_form_has_no_counterexample(history: list[Entry]) -> None:
    with believing(RIGHT):
        assert counterexample(history) is None


@pytest.mark.parametrize("rule", WRONG.values(), ids=WRONG.keys())
def test_wrong_rule_has_a_counterexample(rule: Rule) -> None:
    history = find(
        histories(),
        lambda history: shown_up(history, rule),
        settings=settings(max_examples=1000, derandomize=True, database=None, phases=[Phase.generate]),
    )
    assert counterexample(history) is None
