"""Whose vectors a memory has: the embedding model that its points are of, kept in its graph beside embed's watermark.

A model has a collection of its own, so this says which collection is the memory's. Embed moves its watermark only
while it is its own: another model takes over at one watermark, and whatever was under way then is done again by it.
"""

from dataclasses import dataclass

from twiceshy.errors import TransientError
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph

STAGE = "embed"


@dataclass(frozen=True, slots=True)
class Kept:
    """How far embed has come with a memory, and with which model; None where no entry has come to it yet."""

    watermark: int
    model: str | None


async def kept_of(graph: Graph) -> Kept | None:
    """How a memory is kept; None for a graph that does not exist."""
    for watermark, model in await graph.read(cypher.EMBEDDED, stage=STAGE):
        return Kept(watermark, model)
    return None


async def claim(graph: Graph, tenant: str, model: str) -> None:
    """Makes a memory without a model that of ``model``.

    Raises:
        TransientError: it has another one, until somebody hands it over or the process is started anew.
    """
    for (kept,) in await graph.write(cypher.CLAIM_MODEL, stage=STAGE, model=model):
        if kept != model:
            raise TransientError(other_model(tenant, kept, model))


async def hand_over(graph: Graph, seen: int, before: str, model: str) -> bool:
    """Makes it the memory of ``model``, unless embed has moved on from ``seen`` or it is not that of ``before``."""
    return bool(await graph.write(cypher.HAND_OVER, stage=STAGE, seen=seen, before=before, model=model))


def other_model(tenant: str, kept: str | None, model: str) -> str:
    return (
        f"The points of {tenant} are those of the embeddings_model {kept}, and {model} is set here. Set {kept} and "
        f"start this again, or hand the memory over: twiceshy reembed --model {model} --switch."
    )
