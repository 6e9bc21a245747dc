"""The adapter of quarantine: a graph of its own, which no recall can reach."""

from redis.asyncio import Redis

from twiceshy.events.quarantine import IncidentQuarantined
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph

GRAPH_NAME = "twiceshy:quarantine"


class Quarantine:
    def __init__(self, redis: Redis) -> None:
        self._graph = Graph(redis, GRAPH_NAME)

    async def prepare(self) -> None:
        await self._graph.ensure_indexes(cypher.QUARANTINE_INDEXES)

    async def hold(self, item: IncidentQuarantined) -> None:
        """Adds an item if it is not there yet: one that was decided on is not made pending again."""
        await self._graph.write(
            cypher.HOLD_ITEM,
            item_id=item.item_id,
            tenant=item.tenant,
            origin=item.origin,
            content_hash=item.content_hash,
            event_id=item.event_id,
            state=item.state.value,
            held_at=item.held_at,
            expires_at=item.expires_at,
            item=item.model_dump_json(exclude_defaults=True),
        )

    async def items(self, tenant: str) -> list[IncidentQuarantined]:
        """A tenant's items, oldest first."""
        rows = await self._graph.read(cypher.QUARANTINED_ITEMS, tenant=tenant)
        return [IncidentQuarantined.model_validate_json(item) for _, _, _, _, item in rows]
