"""What speaks for a belief and against it: derived from what was said at the moment of a read, and never stored.

    evidence = Evidence(claims, purges, doubted)      claims: what is live then, by the names of then
    evidence.withheld(slot, segment)                   all that supported it was purged
    evidence.trust(slot, segment)                      that of the most trusted supporter which was not
    evidence.contested_by(slot, segment)               what is trusted more, and was displaced

A purge takes a supporter away whatever moment is read. What an incident says that derives from a purged one is
trusted little.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from twiceshy.core.memory import Claimed
from twiceshy.core.purges import TRUST_FLOOR, Purge, purged
from twiceshy.core.temporal import Observation, Segment, overlaps, supporters, winner


class Evidence:
    """Claims by slot, those that were purged apart. ``doubted`` are the incidents that derive from a purged one."""

    def __init__(self, claims: Iterable[Claimed], purges: Sequence[Purge], doubted: Collection[str] = ()) -> None:
        self._kept: dict[str, list[Claimed]] = defaultdict(list)
        self._purged: dict[str, list[Claimed]] = defaultdict(list)
        self._saying: dict[tuple[str, str], list[Claimed]] = defaultdict(list)
        self._greatest_trust: dict[str, float] = defaultdict(float)
        for one in claims:
            slot = one.seen.slot
            if purged(purges, one.said["origin"], one.said["said_at"]):
                self._purged[slot].append(one)
                continue
            trust = floored(one.seen.trust, one.seen.incident in doubted)
            kept = one if trust == one.seen.trust else replace(one, seen=replace(one.seen, trust=trust))
            self._kept[slot].append(kept)
            self._greatest_trust[slot] = max(trust, self._greatest_trust[slot])
            if one.seen.holds:
                self._saying[slot, one.seen.object].append(kept)

    def slots(self) -> set[str]:
        return self._kept.keys() | self._purged.keys()

    def supporters(self, slot: str, segment: Segment) -> list[Claimed]:
        """Those that say what the segment says, the latest revision first."""
        return sorted(self._supporters(slot, segment), key=_newest_first)

    def withheld(self, slot: str, segment: Segment) -> bool:
        """Whether all that supported the segment was purged."""
        return not self._supporters(slot, segment) and bool(
            supporters((one.seen for one in self._purged.get(slot, ())), segment)
        )

    def trust(self, slot: str, segment: Segment) -> float:
        """That of the most trusted supporter; without any, 0."""
        return max((one.seen.trust for one in self._supporters(slot, segment)), default=0.0)

    def contested_by(self, slot: str, segment: Segment) -> list[Claimed]:
        """What says otherwise of a time within the segment, and is trusted more; the most trusted first."""
        trust = self.trust(slot, segment)
        if self._greatest_trust.get(slot, 0.0) <= trust:
            return []
        return _strongest_first(
            one
            for one in self._kept[slot]
            if one.seen.trust > trust
            and not (one.seen.holds and one.seen.object == segment.object)
            and overlaps(one.seen, segment)
        )

    def denied(self, slot: str, event_time: int) -> list[Claimed]:
        """What would hold at ``event_time`` but for a claim of lower trust that nothing does, if that is so.

        A purged claim that nothing holds has less trust than any.
        """
        won = self._winner(slot, event_time)
        if won is None or won.holds:
            return []
        by = self.denied_by(slot, event_time)
        trust = -1.0 if by is None else by.seen.trust
        return _strongest_first(
            one
            for one in self._kept.get(slot, ())
            if one.seen.holds and one.seen.trust > trust and one.seen.valid_from <= event_time < one.seen.valid_to
        )

    def denied_by(self, slot: str, event_time: int) -> Claimed | None:
        """The claim that nothing holds at ``event_time``, where that is what holds and was not purged."""
        won = self._winner(slot, event_time)
        return next((one for one in self._kept.get(slot, ()) if one.seen is won and not won.holds), None)

    def _winner(self, slot: str, event_time: int) -> Observation | None:
        said = (*self._kept.get(slot, ()), *self._purged.get(slot, ()))
        return winner((one.seen for one in said), event_time)

    def _supporters(self, slot: str, segment: Segment) -> list[Claimed]:
        return [one for one in self._saying.get((slot, segment.object), ()) if overlaps(one.seen, segment)]


def _newest_first(one: Claimed) -> tuple[int, str]:
    return -one.seen.revised_at, one.said["observation_id"]


def _strongest_first(claims: Iterable[Claimed]) -> list[Claimed]:
    return sorted(claims, key=lambda one: (-one.seen.trust, *_newest_first(one)))


def floored(trust: float, doubted: bool) -> float:
    """``trust``, or the floor where there is a doubt, if that is less."""
    return min(trust, TRUST_FLOOR) if doubted else trust


@dataclass(frozen=True, slots=True)
class Derivation:
    """What an incident derives from, and whether something that it said was purged."""

    derived_from: tuple[str, ...] = ()
    purged: bool = False


def doubted(derivations: Mapping[str, Derivation]) -> frozenset[str]:
    """Those of the incidents that derive from a purged one, directly or by others between. Circles are no matter."""
    children: dict[str, list[str]] = defaultdict(list)
    for key, derivation in derivations.items():
        for parent in derivation.derived_from:
            children[parent].append(key)
    found: set[str] = set()
    coming = [key for key, derivation in derivations.items() if derivation.purged]
    while coming:
        for child in children[coming.pop()]:
            if child not in found:
                found.add(child)
                coming.append(child)
    return frozenset(found)
