"""A Qdrant Edge shard as a collection.

A folder each: ``shard/``, which is Edge's, and ``collection.json``, which holds what create_collection was told.
A write is in Edge's write-ahead log before it is acknowledged: a killed process loses nothing. It is flushed to the
disk soon after, by `settle`, for a flush takes a tenth of a second and more on a busy disk. No operation that Edge
would refuse may reach a shard: Edge logs it first, and applies it up to the point that it refuses.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import qdrant_edge as qe

from twiceshy.local.edge import query, schema, wire
from twiceshy.local.edge.wire import Json
from twiceshy.local.edge.writes import Write
from twiceshy.local.http import RefusedError

DESCRIPTION = "collection.json"
SHARD = "shard"
UNFLUSHED_WRITES_MAX = 50


class Collection:
    """An open collection. One process has a shard, and makes one call at a time."""

    def __init__(self, folder: Path) -> None:
        """Open what `create` made. Raises Exception, with Edge's text, when it cannot be opened."""
        self._folder = folder
        self._description: Json = orjson.loads((folder / DESCRIPTION).read_bytes())
        self.schema = schema.schema_of(self._description)
        self._shard = qe.EdgeShard.load(str(folder / SHARD), schema.edge_config(self._description))
        self._writes = 0
        self._vacuum_due = True
        self._unflushed = 0
        self._unflushed_before = 0

    @classmethod
    def create(cls, folder: Path, body: Any) -> "Collection":
        """Make a collection of create_collection's body. It appears as a whole or, after a kill, not at all."""
        description = schema.collection_description(body)
        config = schema.edge_config(description)
        draft = folder.with_name(f".{folder.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        with _edge_errors():
            qe.EdgeShard.create(str(draft / SHARD), config).close()
        with (draft / DESCRIPTION).open("wb") as file:
            file.write(orjson.dumps(description))
            file.flush()
            os.fsync(file.fileno())
        draft.rename(folder)
        return cls(folder)

    def close(self) -> None:
        self._shard.flush()
        self._shard.close()

    def delete(self) -> None:
        """Remove the collection. What a kill leaves of it has a dot before its name, and goes at the next start."""
        self._shard.close()
        gone = self._folder.with_name(f".{self._folder.name}.gone")
        shutil.rmtree(gone, ignore_errors=True)
        self._folder.rename(gone)
        shutil.rmtree(gone)

    def vacuum(self) -> None:
        """Drop deleted points for good, if some were deleted since the last time and they are many.

        Edge decides what is many (schema.OPTIMIZERS). Until then they count in the IDF of a query without a
        corpus. It takes 4 s at 100,000 points, and nothing else runs meanwhile.
        """
        if self._vacuum_due:
            self._vacuum_due = False
            if self._shard.optimize():
                self._shard.flush()

    def settle(self) -> None:
        """Flush what was written, once nothing more comes or it has become much; to be called every second."""
        quiet = self._unflushed == self._unflushed_before
        if self._unflushed and (quiet or self._unflushed >= UNFLUSHED_WRITES_MAX):
            self._shard.flush()
            self._unflushed = 0
        self._unflushed_before = self._unflushed

    def info(self) -> Json:
        return schema.collection_json(self._description, self._shard.info())

    def create_index(self, body: Any) -> Json:
        operation = schema.field_index(body)
        return self.write([lambda shard: shard.update(operation)])[0]

    def write(self, writes: Sequence[Write]) -> list[Json]:
        """Apply writes in their order. Returns Qdrant's update result of each."""
        with _edge_errors():
            for write in writes:
                before = self._shard.info().points_count
                write(self._shard)
                self._vacuum_due |= self._shard.info().points_count < before
        self._unflushed += 1
        first = self._writes + 1
        self._writes += len(writes)
        return [{"operation_id": number, "status": "completed"} for number in range(first, self._writes + 1)]

    def retrieve(self, body: Any) -> list[Json]:
        given = wire.fields(body, "retrieve", ("ids", "with_payload", "with_vector"))
        ids = wire.point_ids(given.get("ids"))
        payload = wire.payload_selector(given.get("with_payload", True))
        vector = wire.vector_selector(given.get("with_vector", False))
        with _edge_errors():
            return [wire.record_json(record) for record in self._shard.retrieve(ids, payload, vector)]

    def scroll(self, body: Any) -> Json:
        request = query.scroll_request(body)
        with _edge_errors():
            records, offset = self._shard.scroll(request)
        return {"points": [wire.record_json(record) for record in records], "next_page_offset": offset}

    def count(self, body: Any) -> Json:
        request = query.count_request(body)
        with _edge_errors():
            return {"count": self._shard.count(request)}

    def query(self, body: Any) -> Json:
        request = query.query_request(body, self.schema)
        with _edge_errors():
            return _hits(self._shard.query(request))

    def query_batch(self, body: Any) -> list[Json]:
        requests = qe.QueryBatchRequest(query.query_batch(body, self.schema))
        with _edge_errors():
            return [_hits(found) for found in self._shard.query_batch(requests)]


def _hits(found: list[qe.ScoredPoint]) -> Json:
    return {"points": [wire.record_json(hit) for hit in found]}


@contextmanager
def _edge_errors() -> Iterator[None]:
    """Turn Edge's errors, plain exceptions with a text, into RefusedError: 500 for a fault of its own, or 400."""
    try:
        yield
    except Exception as error:
        if type(error) is not Exception:
            raise
        if "Service" in str(error):
            raise RefusedError(500, str(error)) from error
        raise RefusedError(400, f"Wrong input: {error}") from error
