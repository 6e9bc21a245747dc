"""What a reviewer looks at, read from quarantine and from the tenant's live memory."""

import contextlib
from collections.abc import AsyncIterator, Sequence

from twiceshy.cli.output import fail
from twiceshy.events.quarantine import QuarantineGroup, QuarantineState
from twiceshy.settings import Settings
from twiceshy.stores.connection import connect
from twiceshy.stores.generations import Generations
from twiceshy.stores.graph import Graph, Graphs
from twiceshy.stores.quarantine import Quarantine
from workers.review import Reviewed, reviewed

ALIKE_MAX = 5


@contextlib.asynccontextmanager
async def opened(settings: Settings, tenant: str) -> AsyncIterator[tuple[Quarantine, Graph]]:
    """Quarantine, and the graph of the tenant's live memory."""
    redis = connect(settings.falkordb)
    try:
        live = (await Generations(redis).of(tenant)).live
        yield Quarantine(redis), Graphs(redis, live).of(tenant)
    finally:
        await redis.aclose()


async def listed(
    settings: Settings, tenant: str, states: Sequence[QuarantineState], group: QuarantineGroup | None, count: int
) -> list[Reviewed]:
    """The first ``count`` items of a tenant, or of a group, in one of ``states``."""
    async with opened(settings, tenant) as (quarantine, graph):
        return await reviewed(graph, await quarantine.items(tenant, states, group=group, count=count))


async def looked_at(settings: Settings, tenant: str, named: Sequence[str]) -> list[Reviewed]:
    """The items that are named."""
    async with opened(settings, tenant) as (quarantine, graph):
        ids = [await one(quarantine, tenant, name) for name in named]
        return await reviewed(graph, await quarantine.by_id(tenant, ids))


async def one(quarantine: Quarantine, tenant: str, name: str) -> str:
    """The id of the one item that ``name`` is, or is the beginning of. Else the program ends with a sentence."""
    found = await quarantine.ids(tenant, name, ALIKE_MAX)
    if not found:
        fail(f"There is no item {name} in the quarantine of tenant {tenant}: `quarantine list --state all` shows all.")
    if len(found) > 1 and name not in found:
        fail(f"Several items begin with {name!r}, among them {', '.join(found)}: say more of the id.")
    return name if name in found else found[0]
