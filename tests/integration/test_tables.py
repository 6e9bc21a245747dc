"""What is written as a table is read back as it was, whatever is in its texts."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.falkordb import falkordb
from twiceshy.stores.connection import connect
from twiceshy.stores.graph import Graph
from twiceshy.stores.literals import Table

ECHO = "UNWIND $rows AS r RETURN r"

CELLS = st.one_of(
    st.text(max_size=20),
    st.text("\x00\x01\x1f\x7f\\\"'`{}$/*\n\u2028\ud800\\u0041", max_size=8),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(0, 1).map(lambda part: round(part, 9)),
    st.booleans(),
    st.none(),
    st.lists(st.text(max_size=5), max_size=3),
)


@pytest.fixture(scope="module")
async def graph() -> AsyncIterator[Graph]:
    async with falkordb() as port, connect(f"redis://127.0.0.1:{port}") as redis:
        graph = Graph(redis, "tables")
        await graph.write("CREATE (n:Meta)")
        yield graph


def kept(cell: Any) -> Any:
    """A cell as a graph can hold it."""
    if isinstance(cell, list):
        return [kept(part) for part in cell]
    return cell.replace("\x00", "\ufffd").encode("utf-8", "replace").decode() if isinstance(cell, str) else cell


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=4))
async def test_table_is_read_back_as_it_was(graph: Graph, rows: list[list[Any]]) -> None:
    assert await graph.read(ECHO, rows=Table(rows)) == [[[kept(cell) for cell in row]] for row in rows]
