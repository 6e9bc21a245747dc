"""What every read and every write of a memory goes by: how far it is, its aliases, what was purged, its horizon."""

from dataclasses import dataclass, field
from functools import lru_cache

from twiceshy.core.aliases import Alias, Names
from twiceshy.core.purges import Purge
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph


@dataclass(frozen=True, slots=True)
class Standing:
    """``watermarks`` and ``horizons`` are by stage. A graph that does not exist has nothing."""

    watermarks: dict[str, int] = field(default_factory=dict)
    horizons: dict[str, int] = field(default_factory=dict)
    aliases: tuple[Alias, ...] = ()
    purges: tuple[Purge, ...] = ()

    def names(self, known_at: int) -> Names:
        """The names as known at ``known_at``."""
        return _names(tuple(one for one in self.aliases if one.t_created <= known_at < one.t_expired))

    def purges_known(self) -> tuple[Purge, ...]:
        """The purges that graph has carried out, whether or not the later stages have."""
        return tuple(purge for purge in self.purges if purge.at <= self.watermarks.get("graph", 0))


@lru_cache(maxsize=256)
def _names(live: tuple[Alias, ...]) -> Names:
    """Every read goes by the names, and they seldom change."""
    return Names(live)


async def standing(graph: Graph) -> Standing:
    """Reads it, in one round trip.

    Raises:
        TransientError: FalkorDB is away.
    """
    for stages, aliases, purges in await graph.read(cypher.STANDING):
        return Standing(
            {stage: watermark for stage, watermark, _ in stages},
            {stage: horizon or 0 for stage, _, horizon in stages},
            tuple(
                Alias(alias=alias, canonical=canonical, t_created=t_created, t_expired=t_expired)
                for alias, canonical, t_created, t_expired in aliases
            ),
            tuple(
                Purge(origin=origin, since=since, at=at, block=block, unblocked_at=unblocked_at)
                for origin, since, at, block, unblocked_at in purges
            ),
        )
    return Standing()
