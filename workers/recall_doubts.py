"""recall.requests.v1 → recall, what derives from purged incidents → recall.replies.<tenant>

Whatever derives from an incident that was purged, also by others between, is trusted little.
"""

from collections.abc import Iterable, Mapping, Sequence

from twiceshy.core.believing import Derivation, doubted
from twiceshy.core.purges import purged
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph
from twiceshy.stores.points import Scope

STEPS_MAX = 8
"""So many incidents between one and another that it derives from are followed."""


async def read_doubted(
    graph: Graph, scope: Scope, incidents: Iterable[str], derived_from: Mapping[str, Sequence[str]] | None = None
) -> frozenset[str]:
    """Which of the incidents, by key, derive from a purged one. Without purges nothing is read.

    ``derived_from`` has what is known to derive from incidents without being one, by whatever it is called.

    Raises:
        TransientError: FalkorDB is away.
    """
    if not scope.purges:
        return frozenset()
    derivations = {name: Derivation(tuple(parents)) for name, parents in (derived_from or {}).items()}
    ahead = {*incidents, *_parents(derivations)}
    for _ in range(STEPS_MAX):
        if not ahead:
            break
        derivations |= await _derivations(graph, scope, ahead)
        ahead = _parents(derivations) - derivations.keys()
    return doubted(derivations)


def _parents(derivations: Mapping[str, Derivation]) -> set[str]:
    return {parent for one in derivations.values() for parent in one.derived_from}


async def _derivations(graph: Graph, scope: Scope, incidents: set[str]) -> dict[str, Derivation]:
    found = dict.fromkeys(incidents, Derivation())
    for gone, versions in await graph.read(cypher.DERIVATIONS, incidents=sorted(incidents)):
        taken_away = set(gone)
        derived_from: dict[str, tuple[str, ...]] = {}
        for incident, origin, said_at, t_created, t_expired, named in versions:
            if purged(scope.purges, origin, said_at):
                taken_away.add(incident)
            if t_created <= scope.known_at < t_expired:
                derived_from[incident] = tuple(named or ())
        found = {key: Derivation(derived_from.get(key, ()), key in taken_away) for key in incidents}
    return found
