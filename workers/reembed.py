"""one embedding model's collection → reembed → another's, while the chain goes on and recall answers

Copies every point of a memory with a vector that the other model makes of its text, and hands the memory over.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from qdrant_client import models

from twiceshy.errors import NotReadyError
from twiceshy.stores import handover
from twiceshy.stores.embeddings import Embedded
from twiceshy.stores.generations import Generations
from twiceshy.stores.graph import Graph, Graphs
from twiceshy.stores.points import copied
from twiceshy.stores.vectors import Vectors
from workers.connections import Stores, until_answering
from workers.reembed_items import Lack, Tally, lacking, to_copy

HAND_OVER_SECONDS_MAX = 60.0
PASSES_MAX = 10
"""Each is over what came during the one before, and so shorter, until it is a few entries that are under way."""

Advance = Callable[[int, int], None]
"""Called with how many points were looked at, and how many there were."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One generation of one tenant's memory, whose points are in the collection of ``source``."""

    tenant: str
    generation: str
    live: str
    graph: Graph
    source: Vectors


class Reembedding:
    """To the model of ``stores``. It can be stopped at any point and begun anew: what is there is not made again.

    ``running`` is the model of memories to which no entry has come since memories say theirs.
    """

    def __init__(
        self, stores: Stores, tenants: Sequence[str], running: str, advance: Advance = lambda done, total: None
    ) -> None:
        self._redis = stores.redis
        self._embeddings = stores.embeddings
        self._target = stores.vectors
        self._tenants = tenants
        self._running = running
        self._advance = advance
        self._generations = Generations(stores.redis)
        self._seen: dict[str, int] = {}
        self.tally = Tally()

    async def memories(self) -> list[Memory]:
        """Those whose points are still another model's, the live generation of a tenant first."""
        found: list[Memory] = []
        for tenant in self._tenants:
            live = (await self._generations.of(tenant)).live
            generations = await self._generations.with_graph(tenant)
            for generation in sorted(generations, key=lambda name: name != live):
                graph = Graphs(self._redis, generation).of(tenant)
                kept = await handover.kept_of(graph)
                model = kept and (kept.model or self._running)
                if kept and model and model != self._target.model:
                    source = self._target.beside(model)
                    if await self._can_be_read(tenant, kept, source):
                        found.append(Memory(tenant, generation, live, graph, source))
        return found

    async def copy(self) -> bool:
        """Copies what is there, then what came meanwhile, pass by pass; whether the last one found nothing to do.

        Raises:
            NotReadyError: a part did not answer for a minute, or somebody else handed a memory over.
        """
        memories = await self.memories()
        total = sum([await memory.source.count(memory.tenant, memory.generation) for memory in memories])
        done = 0
        for memory in memories:
            done = await self._follow(memory, done, total)
            if memory.generation == memory.live:
                await self._drop_gone(memory)
        for _ in range(PASSES_MAX):
            before = self.tally.changes
            for memory in await self.memories():
                await self._follow(memory)
            if self.tally.changes == before:
                return True
        return False

    async def hand_over(self) -> list[Memory]:
        """Makes every memory that of the model, each once its points are all there; those that were another's.

        Embed then waits until it is started with this model, and does again what was under way.

        Raises:
            NotReadyError: as `copy`; or entries came for a minute faster than they could be followed.
        """
        handed: list[Memory] = []
        while memories := await self.memories():
            for memory in memories:
                await self._hand_over(memory)
            handed += memories
        return handed

    async def _hand_over(self, memory: Memory) -> None:
        deadline = time.monotonic() + HAND_OVER_SECONDS_MAX
        while time.monotonic() < deadline:
            await self._follow(memory)
            seen = self._seen.get(memory.graph.name)
            if seen is None or await handover.hand_over(memory.graph, seen, memory.source.model, self._target.model):
                return
        raise NotReadyError(
            f"Entries of {memory.tenant} kept coming for {HAND_OVER_SECONDS_MAX:.0f} s, so that it was never quite "
            "copied: stop the worker embed and run this again. What is published meanwhile waits for embed."
        )

    async def _can_be_read(self, tenant: str, kept: handover.Kept, source: Vectors) -> bool:
        if await source.exists():
            return True
        if kept.watermark:
            raise NotReadyError(
                f"The points of {tenant} are those of {source.model}, and Qdrant has no collection "
                f"{source.collection}: with embeddings_model {self._target.model}, `twiceshy rebuild` makes them anew "
                "from the log, in a generation of its own."
            )
        return False

    async def _follow(self, memory: Memory, done: int = 0, total: int = 0) -> int:
        """Copies what was made or closed since the last time, or else all; how many points are done then."""
        kept = await handover.kept_of(memory.graph)
        if kept is None:
            return done
        since = self._seen.get(memory.graph.name)
        offset: models.ExtendedPointId | None = None
        while True:
            read = partial(memory.source.page, memory.tenant, memory.generation, offset, since)
            points, offset = await until_answering(read)
            await until_answering(partial(self._take_over, memory, points))
            done += len(points)
            if total:
                self._advance(done, total)
            if offset is None:
                break
        # Whatever was written while this was read has a later transaction time.
        self._seen[memory.graph.name] = kept.watermark
        counts = [await vectors.count(memory.tenant, memory.generation) for vectors in (self._target, memory.source)]
        if counts[0] > counts[1]:
            await self._delete_gone(memory)
        return done

    async def _take_over(self, memory: Memory, points: Sequence[models.Record]) -> None:
        told = {str((point.payload or {})["version_id"]): point for point in points}
        copies = await self._target.payloads(memory.generation, list(told))
        lacks: dict[Lack | None, list[str]] = {}
        for version_id, point in told.items():
            lacks.setdefault(lacking(point.payload or {}, copies.get(version_id)), []).append(version_id)
        unlike = lacks.get("likeness", [])
        new = [told[version_id] for version_id in (*unlike, *lacks.get("point", ()))]
        closed = [
            (version_id, (told[version_id].payload or {})["t_expired"]) for version_id in lacks.get("closing", ())
        ]
        if not new and not closed:
            return
        items = [to_copy(point, one) for point, one in zip(new, await self._embed(memory, new), strict=True)]
        await self._delete(memory, unlike)
        await self._target.insert(items)
        await self._target.close(memory.generation, closed)
        self.tally.added += len(new)
        self.tally.closed += len(closed)
        self.tally.words_alone += sum(item.dense is None for item in items)

    async def _embed(self, memory: Memory, points: Sequence[models.Record]) -> list[Embedded]:
        """The vectors of texts. What the live generation has need not be made again: a version has one id in all."""
        texts = {str((point.payload or {})["version_id"]): str((point.payload or {})["text"]) for point in points}
        made: dict[str, Embedded] = {}
        if memory.generation != memory.live:
            places = {version_id: (memory.live, version_id) for version_id in texts}
            for version_id, point in (await self._target.copies(places)).items():
                item = copied(point)
                if item.payload["text"] == texts[version_id] and not item.vector_missing:
                    made[version_id] = Embedded(item.dense)
        new = [version_id for version_id in texts if version_id not in made]
        embedded = await self._embeddings.embed([texts[version_id] for version_id in new])
        made |= dict(zip(new, embedded, strict=True))
        return [made[version_id] for version_id in texts]

    async def _delete(self, memory: Memory, version_ids: Sequence[str]) -> None:
        """Deletes copies that were found to be wrong, if they are still nothing but copies."""
        if not version_ids:
            return
        kept = await handover.kept_of(memory.graph)
        if kept is not None and kept.model == self._target.model:
            raise NotReadyError(f"The memory of {memory.tenant} was handed over meanwhile, by another command.")
        await self._target.delete(memory.generation, version_ids)
        self.tally.deleted += len(version_ids)

    async def _delete_gone(self, memory: Memory) -> None:
        """Deletes copies of what is there no more: a compaction leaves some, and a generation that was made again."""
        offset: models.ExtendedPointId | None = None
        while True:
            copies, offset = await self._target.page(memory.tenant, memory.generation, offset)
            version_ids = [str((copy.payload or {})["version_id"]) for copy in copies]
            there = await memory.source.payloads(memory.generation, version_ids)
            await self._delete(memory, [version_id for version_id in version_ids if version_id not in there])
            if offset is None:
                return

    async def _drop_gone(self, memory: Memory) -> None:
        """Drops copies of the tenant's generations that have neither a graph nor points any more."""
        known = set(await self._generations.with_graph(memory.tenant))
        while (generation := await self._target.other_generation(memory.tenant, known)) is not None:
            known.add(generation)
            # Made since it was asked which there are; or it is FalkorDB that is not the right one.
            there = await Graphs(self._redis, generation).of(memory.tenant).exists()
            if not there and not await memory.source.count(memory.tenant, generation):
                self.tally.deleted += await self._target.count(memory.tenant, generation)
                await self._target.drop(memory.tenant, generation)


async def drop_collection(stores: Stores, tenants: Sequence[str], model: str) -> None:
    """Deletes the collection of a model that is no memory's.

    Raises:
        NotReadyError: it is in use, or there is none.
    """
    dropped = stores.vectors.beside(model)
    used = {stores.vectors.collection: "embeddings_model is set to it"}
    for tenant in tenants:
        for generation in await Generations(stores.redis).with_graph(tenant):
            kept = await handover.kept_of(Graphs(stores.redis, generation).of(tenant))
            if kept is not None and kept.model is not None:
                used[stores.vectors.beside(kept.model).collection] = f"the points of {tenant} are there"
    if dropped.collection in used:
        raise NotReadyError(f"The collection of {model} is in use: {used[dropped.collection]}.")
    if not await dropped.exists():
        raise NotReadyError(f"Qdrant has no collection of {model}: {dropped.collection} is not there.")
    await dropped.drop_collection()
