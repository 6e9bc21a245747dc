"""Two builds of a tenant's memory side by side, and where they differ."""

import asyncio
from dataclasses import dataclass

from twiceshy.errors import TransientError
from twiceshy.stores.graph import Graphs
from workers.connections import Stores
from workers.export import export_lines
from workers.rebuild import Advance, Fold

TRIES_MAX = 20
EXAMPLES_MAX = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """How many lines of their exports two generations share, how many one alone has, and some of these."""

    equal: int
    live_alone: int
    rebuilt_alone: int
    live_examples: tuple[bytes, ...]
    rebuilt_examples: tuple[bytes, ...]

    @property
    def none(self) -> bool:
        return not self.live_alone and not self.rebuilt_alone


def difference(live: list[bytes], rebuilt: list[bytes]) -> Difference:
    """Where two exports differ, whatever the order of their lines."""
    lives, rebuilts = set(live), set(rebuilt)
    live_alone = [line for line in live if line not in rebuilts]
    rebuilt_alone = [line for line in rebuilt if line not in lives]
    return Difference(
        len(lives & rebuilts),
        len(live_alone),
        len(rebuilt_alone),
        tuple(live_alone[:EXAMPLES_MAX]),
        tuple(rebuilt_alone[:EXAMPLES_MAX]),
    )


async def compare(stores: Stores, fold: Fold, tenant: str, live: str, rebuilt: str, advance: Advance) -> Difference:
    """Compares the live generation with one that is being folded, both of the same moment.

    Raises:
        TransientError: entries kept coming, so that the two were never of one moment.
    """
    for _ in range(TRIES_MAX):
        await fold.up_to(advance=advance)
        before = await _watermarks(stores, tenant, live, rebuilt)
        if before[0] == before[1]:
            lines = [
                await export_lines(Graphs(stores.redis, name).of(tenant), stores.vectors, tenant, name)
                for name in (live, rebuilt)
            ]
            if await _watermarks(stores, tenant, live, rebuilt) == before:
                return difference(*lines)
        await asyncio.sleep(0.5)
    raise TransientError(
        f"The live chain and the fold of {tenant} were never at the same entry: see with `twiceshy doctor` that the "
        "chain keeps up, and compare again when less is being published."
    )


async def _watermarks(stores: Stores, tenant: str, *generations: str) -> list[dict[str, int]]:
    return [await Graphs(stores.redis, name).of(tenant).watermarks() for name in generations]
