"""memory.consolidated.v1 → embed, a compaction → incidents.outcomes.v1

Drops the versions that had expired by a moment, in pieces. The last stage does it, when no other can still need them.
"""

import structlog

from twiceshy.core.sequences import batched
from twiceshy.events.chain import Compaction
from twiceshy.events.common import milliseconds
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph
from twiceshy.stores.vectors import Vectors

STAGE = "embed"
PIECE_VERSIONS = 500

log = structlog.get_logger()


async def compact(graph: Graph, vectors: Vectors, tenant: str, generation: str, command: Compaction, seen: int) -> None:
    """Carries out a compaction. Questions from before the horizon are refused before the first version goes.

    Raises:
        FencedError: another writer moved embed's watermark from ``seen`` on.
        TransientError: a store is away. What was dropped stays dropped, and the rest goes the next time.
    """
    before = milliseconds(command.before)
    await graph.write_piece(cypher.SET_HORIZON, stage=STAGE, seen=seen, horizon=before)
    for label in cypher.VERSIONED:
        expired = [row[0] for row in await graph.read(cypher.EXPIRED_VERSIONS[label], before=before)]
        for number, piece in enumerate(batched(expired, PIECE_VERSIONS), start=1):
            await graph.write_piece(cypher.DROP_VERSIONS[label], stage=STAGE, seen=seen, version_ids=piece)
            dropped = min(number * PIECE_VERSIONS, len(expired))
            log.info("compacting", tenant=tenant, label=label, dropped=dropped, of=len(expired))
    await vectors.drop(tenant, generation, expired_by=before)
