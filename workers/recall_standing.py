"""recall.requests.v1 → recall, what a read goes by → recall.replies.<tenant>

Which generation of a tenant's memory is read, how far it has come, its names, and what of it was purged.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from twiceshy.core.aliases import Names, folded, folded_ref
from twiceshy.core.temporal import FOREVER
from twiceshy.errors import TransientError
from twiceshy.events.common import instant, milliseconds
from twiceshy.events.items import Withheld
from twiceshy.stores.generations import Generations
from twiceshy.stores.graph import Graph, Graphs
from twiceshy.stores.points import Scope
from twiceshy.stores.standing import Standing, standing

EVERYTHING = FOREVER - 1
"""A ``known_at`` behind every transaction time."""

POLL_SECONDS = 0.005
LAST_STAGE = "embed"
WITHHELD: tuple[Withheld, ...] = ("origin_purge",)

_NEVER_HEARD = Standing(watermarks={LAST_STAGE: EVERYTHING})


@dataclass(frozen=True, slots=True)
class Ground:
    """One generation of a tenant's memory, as it stood when last heard of. ``missing`` says what is not known."""

    tenant: str
    generation: str
    standing: Standing
    missing: tuple[str, ...] = ()

    @property
    def watermark(self) -> int:
        """How far recall may read: what the last stage has done."""
        return self.standing.watermarks.get(LAST_STAGE, 0)

    def refusal(self, known_at: datetime | None) -> str | None:
        """Why a moment of the past cannot be asked about any more, if so."""
        horizon = self.standing.horizons.get(LAST_STAGE, 0)
        if known_at is None or milliseconds(known_at) >= horizon:
            return None
        return (
            f"known_at {written(known_at)} lies before the horizon {written(instant(horizon))} of a compaction: "
            "ask about a later moment."
        )

    def scope(self, *, as_of: int, known_at: datetime | None = None, superseded: bool = False) -> Scope:
        """What a question sees. ``as_of`` is in epoch milliseconds."""
        asked = EVERYTHING if known_at is None else milliseconds(known_at)
        return Scope(
            tenant=self.tenant,
            generation=self.generation,
            as_of=as_of,
            known_at=min(asked, self.watermark),
            purges=self.standing.purges_known(),
            superseded=superseded,
        )

    def names(self, scope: Scope) -> Names:
        return self.standing.names(scope.known_at)


class Grounds:
    """The grounds of every tenant. What was last heard is what to go by while the graph does not say."""

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs
        self._generations = Generations(graphs.redis)
        self._last: dict[str, Ground] = {}

    def graph(self, scope: Scope) -> Graph:
        return self._graphs.in_generation(scope.generation).of(scope.tenant)

    def reading(self, ground: Ground, scope: Scope) -> "Reading":
        return Reading(self.graph(scope), ground, scope, ground.names(scope))

    async def read(self, tenant: str) -> Ground:
        """Reads it now, in one round trip, unless recall has just moved to another generation.

        Raises:
            TransientError: FalkorDB is away.
        """
        before = self._last.get(tenant)
        generation = self._graphs.generation if before is None else before.generation
        pointers, now = await asyncio.gather(self._generations.of(tenant), self._standing(tenant, generation))
        if pointers.recalled != generation:
            generation = pointers.recalled
            now = await self._standing(tenant, generation)
        self._last[tenant] = Ground(tenant, generation, now)
        return self._last[tenant]

    async def await_at_least(self, tenant: str, at_least: int, until: float) -> Ground:
        """Reads it once the last stage is ``at_least`` so far, or until the event loop's time is ``until``."""
        loop = asyncio.get_running_loop()
        heard: Ground | None = None
        missing: list[str] = []
        try:
            async with asyncio.timeout_at(until):
                while (heard := await self.read(tenant)).watermark < at_least and loop.time() + POLL_SECONDS < until:
                    await asyncio.sleep(POLL_SECONDS)
        except (TransientError, TimeoutError) as error:
            if heard is None:
                missing.append(f"FalkorDB did not say how far memory is ({error or 'it was late'}).")
        ground = self._last.get(tenant) or Ground(tenant, self._graphs.generation, _NEVER_HEARD)
        if ground.watermark < at_least:
            missing.append("Memory has not come as far as at_least within the deadline.")
        return Ground(tenant, ground.generation, ground.standing, tuple(missing))

    async def _standing(self, tenant: str, generation: str) -> Standing:
        return await standing(self._graphs.in_generation(generation).of(tenant))


@dataclass(frozen=True, slots=True)
class Reading:
    """One question's read: of which graph, what it sees, and which names are one."""

    graph: Graph
    ground: Ground
    scope: Scope
    names: Names

    def names_of(self, asked: str) -> tuple[str, ...]:
        """The names that are read as one with ``asked``, as they were said."""
        refs, known_at = self.names.group(asked), self.scope.known_at
        said = {folded(asked): asked}
        for one in self.ground.standing.aliases:
            if one.t_created <= known_at < one.t_expired:
                said |= {folded(name): name for name in (one.alias, one.canonical) if folded_ref(name) in refs}
        return tuple(sorted(said.values()))

    def envelope(self, *, withheld: bool = False) -> dict[str, Any]:
        """What every reply to it has."""
        return {
            "status": "ok",
            "known_at": instant(self.scope.known_at),
            "generation": self.scope.generation,
            "withheld": WITHHELD if withheld else (),
        }


def bound(scope: Scope) -> dict[str, Any]:
    """The scope as the parameters that most queries have."""
    return {
        "as_of": scope.as_of,
        "known_at": scope.known_at,
        "superseded": scope.superseded,
        "purges": [{"origin": purge.origin, "since": purge.since, "at": purge.at} for purge in scope.purges],
    }


def written(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
