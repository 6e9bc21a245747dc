"""Qdrant's REST interface, as far as Twiceshy uses it: which path is which call, and what answers look like."""

import time
from collections.abc import Callable
from typing import Any

from twiceshy.local.edge import writes
from twiceshy.local.edge.collection import Collection
from twiceshy.local.edge.folder import CollectionsFolder
from twiceshy.local.edge.wire import Json
from twiceshy.local.edge.writes import Write
from twiceshy.local.http import RefusedError, Request

# The client compares it with its own and warns when they are more than a minor version apart.
QDRANT_VERSION = "1.20.0"

Call = Callable[[Collection, Any], Any]


def _writing(translate: Callable[[Any, Any], Write]) -> Call:
    return lambda collection, body: collection.write([translate(body, collection.schema)])[0]


# Calls with a body, by method and what follows the collection's name in the path.
_CALLS: dict[tuple[str, str], Call] = {
    ("PUT", "index"): Collection.create_index,
    ("PUT", "points"): _writing(writes.upsert),
    ("POST", "points"): Collection.retrieve,
    ("POST", "points/payload"): _writing(writes.set_payload),
    ("PUT", "points/vectors"): _writing(writes.update_vectors),
    ("POST", "points/delete"): _writing(writes.delete),
    ("POST", "points/batch"): lambda collection, body: collection.write(writes.batch(body, collection.schema)),
    ("POST", "points/scroll"): Collection.scroll,
    ("POST", "points/count"): Collection.count,
    ("POST", "points/query"): Collection.query,
    ("POST", "points/query/batch"): Collection.query_batch,
}


class EdgeService:
    def __init__(self, folder: CollectionsFolder) -> None:
        self._folder = folder

    def answer(self, request: Request) -> Json:
        match request.path.strip("/").split("/", 2):
            case [""]:
                return {"title": "Qdrant Edge, served by Twiceshy", "version": QDRANT_VERSION}
            case ["healthz" | "readyz" | "livez"]:
                return {"status": "ok"}
            case ["collections", *rest]:
                started = time.perf_counter()
                result = self._collections(request, *rest)
                return {"result": result, "status": "ok", "time": time.perf_counter() - started}
            case _:
                raise _unknown(request)

    def refusal(self, error: RefusedError) -> Json:
        return {"status": {"error": error.message}, "time": 0.0}

    def _collections(self, request: Request, name: str = "", action: str = "") -> Any:
        match request.method, name, action:
            case "GET", "", "":
                return {"collections": [{"name": name} for name in self._folder.names()]}
            case "GET", _, "":
                return self._folder.collection(name).info()
            case "GET", _, "exists":
                return {"exists": name in self._folder.names()}
            case "PUT", _, "" if name:
                self._folder.create(name, request.json())
                return True
            case "DELETE", _, "":
                return self._folder.delete(name)
        if (call := _CALLS.get((request.method, action))) is None:
            raise _unknown(request)
        self._folder.touch()
        return call(self._folder.collection(name), request.json())


def _unknown(request: Request) -> RefusedError:
    return RefusedError(404, f"Not found: {request.method} {request.path} is not served here")
