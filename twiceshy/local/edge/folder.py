"""The data folder: every collection of it, open, in the hands of one process."""

import fcntl
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from twiceshy.errors import NotReadyError
from twiceshy.local.edge.collection import DESCRIPTION, Collection
from twiceshy.local.http import RefusedError

VACUUM_IDLE_SECONDS = 10.0
NAME_CHARS_MAX = 200
_FORBIDDEN = frozenset('<>:"/\\|?*\0\x1f')  # Qdrant's own list


class CollectionsFolder:
    """The collections under a folder, by name. A context: open inside, flushed and closed after it.

    Raises NotReadyError on entering when another process has the folder, or a collection cannot be opened.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._open: dict[str, Collection] = {}
        self._held = ExitStack()
        self._touched_at = clock()

    def __enter__(self) -> "CollectionsFolder":
        self._path.mkdir(parents=True, exist_ok=True)
        with ExitStack() as undone:
            undone.callback(self.__exit__)
            self._lock()
            for entry in sorted(self._path.iterdir()):
                if entry.name.startswith(".") and entry.is_dir():
                    shutil.rmtree(entry)  # a creation or a deletion that a kill cut short
                elif (entry / DESCRIPTION).exists():
                    self._open[entry.name] = self._load(entry)
            undone.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for collection in self._open.values():
            collection.close()
        self._held.close()

    def _lock(self) -> None:
        file = self._held.enter_context((self._path / ".lock").open("w"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise NotReadyError(
                f"Another process serves the vectors in {self._path}. Stop it, or use another folder."
            ) from error

    def _load(self, folder: Path) -> Collection:
        try:
            return Collection(folder)
        except Exception as error:
            raise NotReadyError(
                f"The collection in {folder} cannot be opened ({error}). Move it away and rebuild it from the log."
            ) from error

    def tick(self) -> None:
        """Flush what was written, and vacuum when there was no `touch` for a while; to be called every second."""
        for collection in self._open.values():
            collection.settle()
        if self._clock() - self._touched_at >= VACUUM_IDLE_SECONDS:
            for collection in self._open.values():
                collection.vacuum()

    def touch(self) -> None:
        """Note that points are asked for or written; looking at a collection keeps nobody from a vacuum."""
        self._touched_at = self._clock()

    def names(self) -> list[str]:
        return sorted(self._open)

    def collection(self, name: str) -> Collection:
        """Raises RefusedError (404)."""
        if name not in self._open:
            raise RefusedError(404, f"Not found: Collection `{name}` doesn't exist!")
        return self._open[name]

    def create(self, name: str, body: Any) -> None:
        """Raises RefusedError: 409 when there is one of that name, 400 when the name or the body is malformed."""
        if name in self._open:
            raise RefusedError(409, f"Wrong input: Collection `{name}` already exists!")
        if name.startswith(".") or len(name) > NAME_CHARS_MAX or _FORBIDDEN.intersection(name):
            raise RefusedError(400, f"Wrong input: `{name}` is not a name for a collection")
        self._open[name] = Collection.create(self._path / name, body)

    def delete(self, name: str) -> bool:
        """Whether there was one."""
        if name not in self._open:
            return False
        self._open.pop(name).delete()
        return True
