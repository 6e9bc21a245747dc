"""Random histories of one slot, each kind with one more thing in it that happens to a memory; seeded.

They are entries of `tests.unit.core.temporal_histories`, and `tests.unit.core.oracle` knows what is right at every
point: world time runs over 0 … LAST_POINT, and the entries come one after the other.
"""

import random
from dataclasses import dataclass
from typing import TypeAlias

from tests.unit.core.temporal_histories import LAST_POINT, Published, Purged, Statement

Entry: TypeAlias = Published | Purged

ENTRIES = 8
OBJECTS = ("acme", "beta", "gamma")
LONGEST = 8
ADMITTED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """``late``: not in order of the starts. ``ended``: half of what is said has an end. ``again``: there are only
    three objects. ``revised``: half of the incidents say something else later. ``denied``: some say that nothing
    holds, and some incidents are purged: each has an origin of its own.
    """

    name: str
    late: bool = False
    ended: bool = False
    again: bool = False
    revised: bool = False
    denied: bool = False


KINDS = (
    Kind(name="each newer than the last"),
    Kind(name="… some learned late", late=True),
    Kind(name="… some with an end", late=True, ended=True),
    Kind(name="… some said again", late=True, ended=True, again=True),
    Kind(name="… some revised", late=True, ended=True, again=True, revised=True),
    Kind(name="… some denied or purged", late=True, ended=True, again=True, revised=True, denied=True),
)


def history(kind: Kind, seed: int) -> list[Entry]:
    chance = random.Random(f"{kind.name} {seed}")
    starts = chance.sample(range(LAST_POINT), ENTRIES)
    if not kind.late:
        starts.sort()
    origins = [chance.randrange(ENTRIES // 2) if kind.revised else number for number in range(ENTRIES)]
    entries: list[Entry] = []
    for number, (start, origin) in enumerate(zip(starts, origins, strict=True)):
        admitted_at = 10 * number + ADMITTED
        if kind.denied and number and chance.random() < 0.1:
            entries.append(Purged(f"{origin}", admitted_at))
            continue
        ended = kind.ended and chance.random() < 0.5
        said = Statement(
            object=chance.choice(OBJECTS) if kind.again else f"place {number}",
            valid_from=start,
            valid_to=min(start + chance.randint(1, LONGEST), LAST_POINT) if ended else None,
            holds=not (kind.denied and chance.random() < 0.2),
        )
        entries.append(Published(f"{origin}/1", f"e{number}", admitted_at, says=(said,)))
    return entries
