"""Every query begins at an index: what the planner makes of them, on a graph that has something of everything."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.incidents import incident
from tests.memory import Memory, memory
from twiceshy.stores import cypher
from twiceshy.stores.literals import header

SCANNING = {
    "WATERMARKS": "a graph has four of these nodes",
    "EXPORT_NODES": "an export reads everything, a page at a time",
    "EXPORT_EDGES": "an export reads everything, a page at a time",
    "EPISODES_BELIEVED": "a rescan reads everything, a page at a time",
    "LIST_INDEXES": "a procedure, which matches nothing",
    # What an operator's command asks is rare; an index for it would cost every event something.
    "INCIDENTS_OF_ORIGIN": "an invalidation",
    "REVISIONS": "an invalidation",
    "PLACES_OF_COMMANDS": "an invalidation",
    "EPISODES_PURGED": "an invalidation",
    "EPISODES_MADE": "an invalidation",
    "EPISODES_AT": "an invalidation",
    "MISTAKES_MOVED": "an invalidation",
    "PLACES_OF_NAMES": "an alias",
    "EXPIRED_BEFORE": "the rehearsal of a compaction",
}

FEW = re.compile(r"Node By Label Scan \| \(\w:(Meta|Purge)\)")
"""A graph has as many of these nodes as there are stages, and as there were purges."""

QUERIES = {
    name: query
    for name, query in vars(cypher).items()
    if name.isupper() and name[0] != "_" and isinstance(query, str) and name not in SCANNING and "MATCH" in query
}

PARAMETERS: dict[str, Any] = {
    "stage": "graph",
    "tenant": "default",
    **dict.fromkeys(("seen", "next", "forever", "as_of", "known_at", "since", "until"), 1),
    **dict.fromkeys(("hub", "newest", "count", "enough", "at", "unless_by"), 1),
    **dict.fromkeys(("superseded", "ruling"), True),
    **dict.fromkeys(("version_id", "incident"), "x"),
    **dict.fromkeys(("episodes", "teaching", "mistaken", "rules", "mentioning", "subjects", "asked", "names"), ("x",)),
    **dict.fromkeys(("slots", "incidents", "event_ids", "categories"), ("x",)),
}


@pytest.fixture(scope="module")
async def full() -> AsyncIterator[Memory]:
    async with memory() as full:
        mistakes = [{"category": "missing-alert", "statement": "Nothing alerted."}]
        await full.remember(*(incident(number, mistakes=mistakes) for number in range(5)))
        yield full


@pytest.mark.parametrize("name", QUERIES)
async def test_query_begins_at_an_index(full: Memory, name: str) -> None:
    query = QUERIES[name]
    graph = full.graphs.of("default")
    await graph.ensure_indexes(cypher.QUARANTINE_INDEXES)
    # What a write takes as rows may be empty: nothing runs here.
    given = {found: PARAMETERS.get(found, []) for found in re.findall(r"\$(\w+)", query)}
    lines = await full.redis("GRAPH.EXPLAIN", graph.name, header(given) + query)
    plan = "\n".join(map(str, lines))
    assert "Index Scan" in plan or FEW.search(plan)
    plan = FEW.sub("", plan)
    assert "Label Scan" not in plan, plan
    assert "All Node Scan" not in plan, plan


@pytest.mark.parametrize("name", [name for name, query in QUERIES.items() if "any(" in query])
def test_whether_any_does_is_projected_and_not_asked_in_a_predicate(name: str) -> None:
    """FalkorDB 4.16.3 does not see what an `any` in a WHERE is about: it filters before it has the node, or fails."""
    for line in QUERIES[name].splitlines():
        assert "any(" not in line or re.search(r"any\(.*\) AS \w+,?$", line), line
