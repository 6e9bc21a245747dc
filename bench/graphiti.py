"""Questions as of a time, answered by graphiti-core and by Twiceshy's core after the same random histories.

    pip install -e '.[embedded,dev,bench]'
    python -m bench.graphiti [--histories 20] [--same-words]

Prints, for kinds of histories of which each has one more thing in it than the last (`bench.histories`), the share of
questions that each answers as the brute-force oracle of `tests.unit.core.oracle` does: at every point of
world time, as known now, and as known after each earlier entry. No language model takes part. Of graphiti-core is used:

- `resolve_extracted_edge`, which finds duplicates, closes what is contradicted and stamps it. The judgement that it
  asks a model for is made by `Judge`, which is never wrong: every other object of the slot is contradicted, and nothing
  is a duplicate. All edges of the slot are candidates, where its own search would choose ten.
- `add_nodes_and_edges_bulk`, which saves the edges into FalkorDB, and `edge_bfs_search` from the subject, with
  `SearchFilters`. Of several edges that it gives, the one that starts last is taken for the answer.

What it has no notion of is done for it as well as it can express it: its wall clock is replaced by the history's;
"nothing holds" is an edge to a node of its own; what a revision takes back, or a purge, is removed as `remove_episode`
does. The words of a fact differ with the event that says it. With ``--same-words`` they depend on subject and object
alone: a fact said again is then one edge, which is not opened again.

best        of two searches, the union: edges that were not closed yet at ``known``, whatever their end is now, and
            those whose end was known then
four stamps one search: valid_at <= event < invalid_at and created_at <= known < expired_at, a missing end being open
similarity  as best, through `edge_similarity_search`, which its default search is made of. It uses the range index that
            graphiti-core makes, and FalkorDB's ignores ``<=`` on strings: edges come that the filters exclude
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any, TypeAlias

from graphiti_core.driver.falkordb_driver import FalkorDriver
from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode
from graphiti_core.search.search_filters import ComparisonOperator, DateFilter, SearchFilters
from graphiti_core.search.search_utils import edge_bfs_search, edge_similarity_search
from graphiti_core.utils.bulk_utils import add_nodes_and_edges_bulk
from graphiti_core.utils.maintenance.edge_operations import resolve_extracted_edge

from bench.falkordb import falkordb
from bench.histories import KINDS, Entry, history
from bench.machine import machine
from tests.unit.core.oracle import points_of
from tests.unit.core.temporal_histories import LAST_POINT, PREDICATE, SUBJECT, Published, Statement, remember

GROUP = "bench"
NOTHING = "nothing"
VECTOR = [1.0]
EDGES_MAX = 100
BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)

Filters: TypeAlias = Sequence[SearchFilters]
Search: TypeAlias = Callable[[str, SearchFilters], Awaitable[list[EntityEdge]]]


def moment(point: int) -> datetime:
    """A point of either axis, in days."""
    return BEGINNING + timedelta(days=point)


class Judge:
    """In place of the model that graphiti-core asks which facts a new one repeats or contradicts."""

    def __init__(self, same: int, others: int) -> None:
        self._contradicted = list(range(same, same + others))

    async def generate_response(self, _messages: Any, **_options: Any) -> dict[str, list[int]]:
        return {"duplicate_facts": [], "contradicted_facts": self._contradicted}


async def told(entries: Sequence[Entry], stamps: Sequence[int], subject: str, *, same_words: bool) -> list[EntityEdge]:
    """The edges that are left of a history, each entry seeing what the one before left."""
    edges: list[EntityEdge] = []
    said_by: dict[str, str] = {}
    for entry, stamp in zip(entries, stamps, strict=True):
        edges = _without(edges, said_by.pop(entry.origin, None))
        if isinstance(entry, Published):
            said_by[entry.origin] = entry.event_id
            for said in entry.says:
                new = _edge(entry, said, subject, stamp, same_words=same_words)
                edges = await _resolved(edges, new, stamp)
    return edges


def _without(edges: list[EntityEdge], episode: str | None) -> list[EntityEdge]:
    """As `Graphiti.remove_episode`: an edge that no other episode supports is deleted."""
    for edge in edges:
        edge.episodes = [other for other in edge.episodes if other != episode]
    return [edge for edge in edges if edge.episodes]


def _edge(entry: Published, said: Statement, subject: str, stamp: int, *, same_words: bool) -> EntityEdge:
    spoken = said.object if said.holds else NOTHING
    words = f"{SUBJECT} {PREDICATE} {spoken}"
    return EntityEdge(
        source_node_uuid=subject,
        target_node_uuid=f"{subject}/{spoken}",
        name=PREDICATE,
        fact=words if same_words else f"{words}, says {entry.event_id}",
        fact_embedding=VECTOR,
        group_id=GROUP,
        episodes=[entry.event_id],
        created_at=moment(stamp),
        valid_at=moment(said.valid_from),
        invalid_at=None if said.valid_to is None else moment(said.valid_to),
    )


async def _resolved(edges: list[EntityEdge], new: EntityEdge, stamp: int) -> list[EntityEdge]:
    """graphiti-core's own step for a new edge, the stamps of its wall clock replaced."""
    same = [edge for edge in edges if edge.target_node_uuid == new.target_node_uuid]
    others = [edge for edge in edges if edge.target_node_uuid != new.target_node_uuid]
    expired = {edge.uuid: edge.expired_at for edge in (*edges, new)}
    episode = EpisodicNode(
        uuid=new.episodes[0],
        name="",
        group_id=GROUP,
        source=EpisodeType.text,
        source_description="",
        content="",
        valid_at=new.created_at,
    )
    kept, _, _ = await resolve_extracted_edge(Judge(len(same), len(others)), new, same, others, episode)
    after = edges if any(edge is kept for edge in edges) else [*edges, kept]
    for edge in after:
        if edge.expired_at != expired[edge.uuid]:
            edge.expired_at = moment(stamp)
    return after


async def save(driver: FalkorDriver, subject: str, edges: Sequence[EntityEdge]) -> None:
    names = dict.fromkeys([subject, *(edge.target_node_uuid for edge in edges)])
    nodes = [EntityNode(uuid=name, name=name, group_id=GROUP, name_embedding=VECTOR, labels=[]) for name in names]
    await add_nodes_and_edges_bulk(driver, [], [], nodes, list(edges), None)


def _until(at: datetime) -> list[list[DateFilter]]:
    return [[DateFilter(date=at, comparison_operator=ComparisonOperator.less_than_equal)]]


def _after(at: datetime) -> list[list[DateFilter]]:
    return [[DateFilter(date=at, comparison_operator=ComparisonOperator.greater_than)]]


def _after_or_never(at: datetime) -> list[list[DateFilter]]:
    return [*_after(at), [DateFilter(comparison_operator=ComparisonOperator.is_null)]]


def four_stamps(event: datetime, known: datetime) -> Filters:
    return (
        SearchFilters(
            valid_at=_until(event),
            invalid_at=_after_or_never(event),
            created_at=_until(known),
            expired_at=_after_or_never(known),
        ),
    )


def two_searches(event: datetime, known: datetime) -> Filters:
    learned = {"valid_at": _until(event), "created_at": _until(known)}
    return (
        SearchFilters(**learned, expired_at=_after(known)),
        SearchFilters(**learned, invalid_at=_after_or_never(event)),
    )


async def ask(search: Search, subject: str, filters: Filters) -> str | None:
    """The object of the edge that starts last of all that are found."""
    found = [edge for one in filters for edge in await search(subject, one)]
    if not found:
        return None
    newest = max(found, key=lambda edge: (edge.valid_at, edge.created_at))
    spoken: str = newest.target_node_uuid.removeprefix(f"{subject}/")
    return None if spoken == NOTHING else spoken


def readings(driver: FalkorDriver) -> dict[str, tuple[Search, Callable[[datetime, datetime], Filters]]]:
    async def walk(subject: str, filters: SearchFilters) -> list[EntityEdge]:
        found: list[EntityEdge] = await edge_bfs_search(driver, [subject], 1, filters, [GROUP], EDGES_MAX)
        return found

    async def similar(subject: str, filters: SearchFilters) -> list[EntityEdge]:
        of_subject = filters.model_copy(update={"edge_source_node_uuids": [subject]})
        found: list[EntityEdge] = await edge_similarity_search(
            driver, VECTOR, None, None, of_subject, [GROUP], EDGES_MAX
        )
        return found

    return {"best": (walk, two_searches), "four stamps": (walk, four_stamps), "similarity": (similar, two_searches)}


async def compare(
    driver: FalkorDriver, entries: Sequence[Entry], subject: str, *, same_words: bool
) -> Counter[tuple[str, str]]:
    """How many questions of a history each answered rightly, by what is asked and by who answers."""
    memory = remember(entries)
    await save(driver, subject, await told(entries, memory.stamps, subject, same_words=same_words))
    right: Counter[tuple[str, str]] = Counter()
    for count, stamp in enumerate(memory.stamps, start=1):
        asked = "now" if count == len(memory.stamps) else "then"
        points = points_of(entries[:count])
        for event_time in range(LAST_POINT + 1):
            won = points[event_time]
            expected = won[0] if won else None
            right[asked, "asked"] += 1
            right[asked, "Twiceshy"] += memory.asked(event_time, stamp) == expected
            for name, (search, filters) in readings(driver).items():
                given = await ask(search, subject, filters(moment(event_time), moment(stamp)))
                right[asked, name] += given == expected
    return right


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=20)
    parser.add_argument("--same-words", action="store_true")
    arguments = parser.parse_args()
    async with falkordb() as port:
        driver = FalkorDriver(host="127.0.0.1", port=port, database=GROUP)
        await driver.build_indices_and_constraints()
        names = ["Twiceshy", *readings(driver)]
        print(f"graphiti-core {version('graphiti-core')}, {arguments.histories} histories of a kind; {machine()}")
        print(f"  {'share of questions answered rightly':38}{''.join(f'{name:>12}' for name in names)}")
        for number, kind in enumerate(KINDS):
            right: Counter[tuple[str, str]] = Counter()
            for seed in range(arguments.histories):
                subject = f"{SUBJECT} {number} {seed}"
                right += await compare(driver, history(kind, seed), subject, same_words=arguments.same_words)
            for asked in ("now", "then"):
                total = right[asked, "asked"]
                shares = "".join(f"{right[asked, name] / total:12.3f}" for name in names)
                print(f"  {kind.name:26}known {asked:6}{shares}   ({total} questions)")
        await driver.close()


if __name__ == "__main__":
    asyncio.run(main())
