"""The adapter of one tenant's graph, of one generation, in FalkorDB.

Queries are constants of `cypher`, and parameters are bound as `literals` has them.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from falkordb.asyncio.graph import AsyncGraph
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from twiceshy.core.ids import derive
from twiceshy.errors import FencedError, NotReadyError, TransientError
from twiceshy.stores import cypher
from twiceshy.stores.connection import answering
from twiceshy.stores.literals import Table, header

Row = list[Any]
STAGES = ("graph", "lesson", "consolidate", "embed")
FIRST_GENERATION = "g1"

# The server's own time-outs are far longer: they also hold when it reads its append-only file, and drop, without
# a word, the writes of it that take longer.
READ_MS_MAX = 10_000
WRITE_MS_MAX = 60_000

_INDEX_SECONDS_MAX = 60.0


def graph_name(tenant: str, generation: str) -> str:
    """The Redis key of a tenant's graph. Derived, so that no tenant's name is ever part of a command."""
    return f"twiceshy:{generation}:{derive('graph', tenant)}"


def tables(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Parameters of a write: lists of rows by name, as tables where a query takes one."""
    return {name: Table.of(cypher.COLUMNS[name], of) if name in cypher.COLUMNS else of for name, of in rows.items()}


class Graph:
    """One graph. Reads never create it; `prepare` does, with its indexes and the stages' watermarks."""

    def __init__(self, redis: Redis, name: str) -> None:
        self.name = name
        self._redis = redis
        self._graph = AsyncGraph(redis, name)

    async def read(self, query: str, **parameters: Any) -> list[Row]:
        """Rows of a read-only query.

        Raises:
            TransientError: the server is away. A graph that does not exist has no rows.
        """
        async with answering():
            try:
                result = await self._graph.ro_query(header(parameters) + query, timeout=READ_MS_MAX)
            except ResponseError as error:
                if _missing(error):
                    return []
                if _passing(error):
                    raise TransientError(f"FalkorDB could not answer: {error}") from error
                raise
        rows: list[Row] = result.result_set
        return rows

    async def write(self, query: str, **parameters: Any) -> list[Row]:
        """Rows of a query that writes."""
        async with answering():
            try:
                result = await self._graph.query(header(parameters) + query, timeout=WRITE_MS_MAX)
            except ResponseError as error:
                if _passing(error):
                    raise TransientError(f"FalkorDB could not write: {error}") from error
                raise
        rows: list[Row] = result.result_set
        return rows

    async def write_fenced(self, query: str, *, stage: str, seen: int, next_watermark: int, **parameters: Any) -> None:
        """A write that moves ``stage``'s watermark from ``seen`` on.

        Raises:
            FencedError: the watermark is not ``seen``: another writer was here. Nothing was written.
        """
        await self.write_piece(query, stage=stage, seen=seen, next=next_watermark, **parameters)

    async def write_piece(self, query: str, *, stage: str, seen: int, **parameters: Any) -> None:
        """A part of a write that moves the watermark only when all parts are there.

        Raises:
            FencedError: as `write_fenced` does.
        """
        if not await self.write(query, stage=stage, seen=seen, **parameters):
            raise FencedError(f"the watermark of {stage} in {self.name} is no longer {seen}")

    async def watermarks(self) -> dict[str, int]:
        """The transaction time of the last entry that each stage applied (0: none)."""
        rows = await self.read(cypher.WATERMARKS)
        return {row[0]: row[1] for row in rows}

    async def prepare(self) -> None:
        """Makes what is missing of the graph (indexes, watermarks) and waits until the indexes work.

        Raises:
            NotReadyError: an index did not become operational in time.
        """
        await self.ensure_indexes(cypher.INDEXES + cypher.EDGE_INDEXES)
        for stage in STAGES:
            await self.write(cypher.MAKE_META, stage=stage)

    async def ensure_indexes(self, wanted: Sequence[tuple[str, str]]) -> None:
        present = await self._indexes()
        for index in wanted:
            if index not in present:
                await self._create_index(index)
        try:
            async with asyncio.timeout(_INDEX_SECONDS_MAX):
                while not await self._operational(wanted):
                    await asyncio.sleep(0.02)
        except TimeoutError as error:
            raise NotReadyError(
                f"The indexes of {self.name} are still being built after {_INDEX_SECONDS_MAX:.0f} s. "
                "Wait until FalkorDB is done, then start again."
            ) from error

    async def _operational(self, wanted: Sequence[tuple[str, str]]) -> bool:
        present = await self._indexes()
        return all(present.get(index) for index in wanted)

    async def _create_index(self, index: tuple[str, str]) -> None:
        try:
            await self.write(cypher.CREATE_INDEX[index])
        except ResponseError as error:
            if "already indexed" not in str(error):
                raise

    async def _indexes(self) -> dict[tuple[str, str], bool]:
        """(label, field) to whether the index works already."""
        rows = await self.read(cypher.LIST_INDEXES)
        return {(label, field): status == "OPERATIONAL" for label, fields, status in rows for field in fields}

    async def exists(self) -> bool:
        async with answering():
            return bool(await self._redis.exists(self.name))

    async def drop(self) -> None:
        """Deletes the graph; one that does not exist is fine."""
        async with answering():
            await self._redis.delete(self.name)


def _missing(error: ResponseError) -> bool:
    return "empty key" in str(error)


def _passing(error: ResponseError) -> bool:
    text = str(error).lower()
    return "timed out" in text or "max pending queries" in text or "loading" in text


class Graphs:
    """The graphs of every tenant in one generation, each prepared once a process."""

    def __init__(self, redis: Redis, generation: str = FIRST_GENERATION) -> None:
        self.redis = redis
        self.generation = generation
        self._prepared: dict[str, Graph] = {}
        self._others: dict[str, Graphs] = {}

    def in_generation(self, generation: str) -> "Graphs":
        """The graphs of another generation, or these."""
        if generation == self.generation:
            return self
        if generation not in self._others:
            self._others[generation] = Graphs(self.redis, generation)
        return self._others[generation]

    def of(self, tenant: str) -> Graph:
        """A tenant's graph, as it is: for reads."""
        return Graph(self.redis, graph_name(tenant, self.generation))

    async def prepared(self, tenant: str) -> Graph:
        """A tenant's graph, ready to be written."""
        if tenant not in self._prepared:
            graph = self.of(tenant)
            await graph.prepare()
            self._prepared[tenant] = graph
        return self._prepared[tenant]
