"""The folder of collections, in process: when deleted points are vacuumed, and what a kill may leave behind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from twiceshy.errors import NotReadyError
from twiceshy.local.edge import writes
from twiceshy.local.edge.folder import VACUUM_IDLE_SECONDS, CollectionsFolder
from twiceshy.local.http import RefusedError

DESCRIPTION = {"vectors": {}, "sparse_vectors": {"words": {"modifier": "idf"}}}
POINTS = 1500


class Clock:
    """A clock that stands still unless it is moved. Seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path, clock: Clock) -> Iterator[CollectionsFolder]:
    with CollectionsFolder(tmp_path, clock) as folder:
        yield folder


def word(identity: int) -> dict[str, Any]:
    return {"id": identity, "vector": {"words": {"indices": [1 + identity % 2], "values": [1.0]}}}


def best_score(folder: CollectionsFolder) -> float:
    """Of a query without a corpus, whose IDF counts what was deleted until it is vacuumed."""
    query = {"query": {"indices": [1], "values": [1.0]}, "using": "words", "limit": 1}
    return float(folder.collection("episodes").query(query)["points"][0]["score"])


def filled(folder: CollectionsFolder) -> None:
    """Points of which every second has word 1; then those with word 2 are deleted."""
    folder.create("episodes", DESCRIPTION)
    collection = folder.collection("episodes")
    collection.write([writes.upsert({"points": [word(at) for at in range(POINTS)]}, collection.schema)])
    collection.write([writes.delete({"points": list(range(1, POINTS, 2))}, collection.schema)])
    folder.touch()


def test_deleted_points_are_vacuumed_once_it_is_idle(folder: CollectionsFolder, clock: Clock) -> None:
    filled(folder)
    before = best_score(folder)
    clock.now += VACUUM_IDLE_SECONDS - 1
    folder.tick()
    assert best_score(folder) == before
    clock.now += 1
    folder.tick()
    assert best_score(folder) < before / 2
    assert folder.collection("episodes").count({}) == {"count": POINTS // 2}


def test_a_request_puts_the_vacuum_off(folder: CollectionsFolder, clock: Clock) -> None:
    filled(folder)
    before = best_score(folder)
    clock.now += VACUUM_IDLE_SECONDS - 1
    folder.touch()
    clock.now += VACUUM_IDLE_SECONDS - 1
    folder.tick()
    assert best_score(folder) == before


def test_vacuumed_collection_is_the_same_after_a_restart(tmp_path: Path, clock: Clock) -> None:
    with CollectionsFolder(tmp_path, clock) as folder:
        filled(folder)
        clock.now += VACUUM_IDLE_SECONDS
        folder.tick()
        before = best_score(folder)
    with CollectionsFolder(tmp_path) as folder:
        assert folder.collection("episodes").count({}) == {"count": POINTS // 2}
        assert best_score(folder) == before


def test_half_made_and_half_deleted_collections_are_removed(tmp_path: Path) -> None:
    for name in (".episodes.new", ".lessons.gone"):
        (tmp_path / name / "shard").mkdir(parents=True)
    with CollectionsFolder(tmp_path) as folder:
        assert folder.names() == []
        assert [entry.name for entry in tmp_path.iterdir()] == [".lock"]


def test_collection_that_does_not_open_is_named(tmp_path: Path) -> None:
    with CollectionsFolder(tmp_path) as folder:
        folder.create("episodes", DESCRIPTION)
    (tmp_path / "episodes" / "shard" / "edge_config.json").write_text("{")
    with pytest.raises(NotReadyError, match=r"episodes cannot be opened .* rebuild it from the log"):
        CollectionsFolder(tmp_path).__enter__()


@pytest.mark.parametrize("name", [".hidden", "a/b", "..", "x" * 201, "a\0b"])
def test_name_that_is_no_folder_is_refused(folder: CollectionsFolder, name: str) -> None:
    with pytest.raises(RefusedError, match="not a name"):
        folder.create(name, DESCRIPTION)
