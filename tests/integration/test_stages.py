"""The chain from the log on, over real stores: batches, redeliveries and two writers leave no trace in a memory."""

import asyncio
import contextlib
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import orjson
import pytest
from qdrant_client import AsyncQdrantClient

from tests.entries import entry, placed
from tests.incidents import incident
from tests.memory import Memory, memory
from tests.unit.core.recorded_tables import Tables
from twiceshy.core.temporal import FOREVER
from twiceshy.errors import FencedError, NotReadyError
from twiceshy.events.chain import EntryLogged
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.stores import cypher
from twiceshy.stores.embeddings import Model
from twiceshy.stores.graph import Graphs, graph_name
from twiceshy.stores.vectors import Vectors
from twiceshy.stream.topics import TOPICS
from workers.export import export_lines
from workers.fold import Stages
from workers.graph import GraphStage, Logged

SEED = 20261201
NOW = 1_800_000_000_000
TENANTS = ("default", "demo")


@pytest.fixture(scope="module", name="stores")
async def _stores() -> AsyncIterator[Memory]:
    async with memory() as running:
        yield running


def stages(stores: Memory, generation: str) -> Stages:
    parts = stores.stores
    return Stages.of_generation(parts.redis, parts.vectors, parts.embeddings, generation, 5.0)


def new_generation() -> str:
    return f"test-{uuid4().hex[:8]}"


async def export(stores: Memory, generation: str, tenant: str = "default") -> list[bytes]:
    graph = Graphs(stores.stores.redis, generation).of(tenant)
    return await export_lines(graph, stores.stores.vectors, tenant, generation)


def history(count: int) -> list[EntryLogged]:
    """Incidents of two tenants: some corrected, some said again, some late, with mistakes that come to rules."""
    chance = random.Random(SEED)
    made: list[EntryLogged] = []
    for number in range(count):
        tenant = chance.choice(TENANTS)
        mistakes = [
            {"category": chance.choice(("missing-alert", "ownership", "other")), "statement": f"Mistake {number}."}
            for _ in range(chance.randint(0, 2))
        ]
        about = chance.randint(0, count // 4)
        said = incident(about, tenant=tenant, mistakes=mistakes)
        if chance.random() < 0.3:
            said = incident(about, tenant=tenant)
        ce_time = chance.choice((None, NOW - chance.randint(0, 1_000)))
        made.append(entry(said, NOW + chance.randint(-20, 20), ce_id=str(number), ce_time=ce_time))
    return made


async def test_random_batches_and_redeliveries_leave_the_memory_that_one_entry_after_the_other_leaves(
    stores: Memory,
) -> None:
    logged = placed(history(60))
    alone, batched = new_generation(), new_generation()
    outcomes = [outcome for one in logged for outcome in await stages(stores, alone).fold([one])]
    assert {outcome.outcome for outcome in outcomes} == {"remembered", "corrected", "reaffirmed", "stale"}
    told = await in_batches(stages(stores, batched), logged)
    assert {(o.event_id, o.outcome, o.known_at) for o in told} == {
        (o.event_id, o.outcome, o.known_at) for o in outcomes
    }
    for tenant in TENANTS:
        expected = await export(stores, alone, tenant)
        assert any(b'"node":"MemoryRule"' in line for line in expected)
        assert expected == await export(stores, batched, tenant)


async def test_graph_has_all_that_an_entry_is_to_write(stores: Memory) -> None:
    generation = new_generation()
    entries = [logged for logged in history(40) if logged.tenant == "default"]
    await stages(stores, generation).graph.apply(placed(entries))
    tables = Tables()
    tables.remember(*entries)
    graph = Graphs(stores.stores.redis, generation).of("default")
    found: dict[str, list[Any]] = defaultdict(list)
    for _, label, properties in await graph.read(cypher.EXPORT_NODES, after=-1, count=10_000):
        found[label].append(properties)
    for _, kind, properties, _, to in await graph.read(cypher.EXPORT_EDGES, after=-1, until=10_000):
        found[kind].append({"to": to, **properties})
    expected: dict[str, list[Any]] = defaultdict(list)
    for label, rows in tables.by_label().items():
        expected[label] = [{name: value for name, value in row.items() if value is not None} for row in rows]
    for kind, edge in tables.edges:
        expected[kind].append({name: value for name, value in edge.items() if name != "from"})
    assert found.keys() == expected.keys()
    for label in expected:
        assert sorted(map(canonical, found[label])) == sorted(map(canonical, expected[label])), label


def canonical(row: Any) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_SORT_KEYS)


async def in_batches(chain: Stages, logged: Sequence[Logged]) -> list[IncidentOutcome]:
    """As workers that are killed at any point do: some stages alone, then the batch again, then older entries again."""
    chance = random.Random(SEED)
    told: list[IncidentOutcome] = []
    start = 0
    while start < len(logged):
        end = start + chance.randint(1, 15)
        batch = logged[max(0, start - chance.randint(0, 6)) : end]
        if (killed_after := chance.randint(0, 3)) > 0:
            recorded = await chain.graph.apply(batch)
            if killed_after > 1:
                reflected = await chain.lesson.apply(recorded)
                if killed_after > 2:
                    await chain.consolidate.apply(reflected)
        told += await chain.fold(batch)
        start = end
    return told


async def test_redelivered_entry_is_passed_on_as_it_was(stores: Memory) -> None:
    chain = stages(stores, new_generation())
    batch = placed(history(12))
    first = await chain.graph.apply(batch)
    again = await chain.graph.apply(batch[5:])
    assert [event.recorded for event in again] == [event.recorded for event in first[5:]]


async def test_revision_that_no_longer_stands_is_told_so(stores: Memory) -> None:
    chain = stages(stores, new_generation())
    one, other = entry(incident(1), NOW), entry(incident(1, title="Corrected"), NOW + 1, ce_id="2")
    assert [outcome.current for outcome in await chain.fold(placed([one]))] == [True]
    assert [outcome.current for outcome in await chain.fold(placed([other]))] == [True]
    [again] = await chain.fold(placed([one]))
    assert (again.outcome, again.current) == ("remembered", False)


async def test_revision_that_comes_again_is_told_that_it_stands(stores: Memory) -> None:
    chain = stages(stores, new_generation())
    one, other = (entry(incident(number), NOW + number, ce_id=str(number)) for number in range(2))
    await chain.fold(placed([one]))
    assert [outcome.current for outcome in await chain.fold(placed([one]))] == [True]
    assert [outcome.current for outcome in await chain.fold(placed([one, other]))] == [True, True]


async def test_entry_that_comes_again_puts_no_rule_in_place_of_a_later_one(stores: Memory) -> None:
    chain = stages(stores, new_generation())
    mistakes = [{"category": "ownership", "statement": "Nobody owned it."}]
    logged = placed([entry(incident(n, mistakes=mistakes), NOW + n, ce_id=str(n)) for n in range(4)])

    async def rules(*again: Logged) -> list[int]:
        """How many rules each entry sends to those that follow them."""
        reflected = await chain.lesson.apply(await chain.graph.apply(again))
        outputs = await chain.consolidate.handle(reflected)
        return [sum(output.topic == TOPICS.memory_rules.name for output in of_entry) for of_entry in outputs]

    assert await rules(*logged[:3]) == [0, 0, 1]
    assert await rules(logged[2]) == [1]
    assert await rules(logged[3]) == [1]
    assert await rules(logged[2]) == [0]
    assert await rules(logged[3]) == [1]


async def test_second_writer_is_fenced_off_and_writes_nothing(stores: Memory) -> None:
    generation = new_generation()
    batch = placed(history(10))
    writers = [stages(stores, generation).graph for _ in range(2)]
    for tenant in TENANTS:
        await Graphs(stores.stores.redis, generation).prepared(tenant)
    results = await asyncio.gather(*(writer.apply(batch) for writer in writers), return_exceptions=True)
    fenced = [result for result in results if isinstance(result, FencedError)]
    assert len(fenced) == 1
    raced = {tenant: await export(stores, generation, tenant) for tenant in TENANTS}
    await insist(writers, batch)
    for tenant in TENANTS:
        assert raced[tenant] == await export(stores, generation, tenant)


async def insist(writers: Sequence[GraphStage], batch: Sequence[Logged]) -> None:
    """Each writer tries until it is not fenced, as delivery does."""
    for writer in writers:
        while True:
            with contextlib.suppress(FencedError):
                await writer.apply(batch)
                break


@pytest.mark.parametrize(
    ("stage", "query", "rows"),
    [
        ("graph", cypher.RECORD, "entries"),
        ("lesson", cypher.REFLECT, "lessons"),
        ("consolidate", cypher.CONSOLIDATE, "rules"),
        ("embed", cypher.MOVE_WATERMARK, ""),
    ],
)
async def test_stale_watermark_writes_nothing(stores: Memory, stage: str, query: str, rows: str) -> None:
    generation = new_generation()
    await stages(stores, generation).fold(placed([entry(incident(1), NOW)]))
    graph = await Graphs(stores.stores.redis, generation).prepared("default")
    before, watermarks = await export(stores, generation), await graph.watermarks()
    names = (
        "entries incidents entities episodes observations facts mentions resolutions subjects objects "
        "expired_episodes expired_facts retracted lessons playbooks mistakes closed rules rests_on withdrawn"
    ).split()
    empty: dict[str, Any] = {name: [] for name in names if f"${name} " in query}
    if rows:
        empty[rows] = [{"version_id": "x", "event_id": "x", "episode_id": "x"}]
    with pytest.raises(FencedError, match=f"the watermark of {stage} in .* is no longer 7"):
        await graph.write_fenced(query, stage=stage, seen=7, next_watermark=8, forever=FOREVER, model="any", **empty)
    assert await export(stores, generation) == before
    assert await graph.watermarks() == watermarks


@pytest.mark.parametrize(
    "value",
    [
        2**53 - 1,
        -(2**53) + 1,
        True,
        None,
        0.1,
        1e-300,
        1e300,
        -0.0,
        '"',
        "\\",
        "\\\"'`",
        "a\r\n\tb",
        "$x",
        "支付🔥",
        "",
    ],
)
async def test_parameter_comes_back_as_it_was(stores: Memory, value: Any) -> None:
    graph = await Graphs(stores.stores.redis, "parameters").prepared("default")
    assert await graph.read("RETURN $value", value=value) == [[value]]


async def test_text_that_breaks_a_query_is_replaced(stores: Memory) -> None:
    graph = await Graphs(stores.stores.redis, "parameters").prepared("default")
    assert await graph.read("RETURN $text", text="a\x00b\ud800c") == [["a\N{REPLACEMENT CHARACTER}b?c"]]


async def test_graph_that_does_not_exist_has_no_rows_and_is_not_made_by_asking(stores: Memory) -> None:
    name = graph_name("nobody", "none")
    assert await Graphs(stores.stores.redis, "none").of("nobody").read(cypher.WATERMARKS) == []
    assert not await stores.stores.redis.exists(name)


async def test_correction_closes_the_point_and_a_late_writer_cannot_open_it_again(stores: Memory) -> None:
    generation = new_generation()
    chain, vectors = stages(stores, generation), stores.stores.vectors
    one, other = entry(incident(1), NOW), entry(incident(1, title="Corrected"), NOW + 1, ce_id="2")
    first, second = await chain.graph.apply(placed([one, other]))
    consolidated = await chain.consolidate.apply(await chain.lesson.apply([first, second]))
    await chain.embed.apply(consolidated)
    await vectors.insert(await chain.embed._items(consolidated))
    ids = [event.recorded.episode_id or "" for event in (first, second)]
    payloads = await vectors.payloads(generation, ids)
    assert [payloads[version_id]["t_expired"] for version_id in ids] == [NOW + 1, FOREVER]


async def test_vectors_missed_while_the_embedder_was_away_are_those_it_would_have_made(stores: Memory) -> None:
    there, away = new_generation(), new_generation()
    batch = placed(history(15))
    await stages(stores, there).fold(batch)
    chain = stages(stores, away)
    await stores.kill("embedder")
    try:
        outcomes = await chain.fold(batch)
    finally:
        await stores.restart("embedder")
    assert {outcome.vector for outcome in outcomes} == {False}
    assert await export(stores, away) != await export(stores, there)
    assert await chain.embed.fill_missing() > 0
    assert await chain.embed.fill_missing() == 0
    assert await export(stores, away) == await export(stores, there)
    assert {outcome.vector for outcome in await chain.fold(batch)} == {True}


@contextlib.asynccontextmanager
async def vectors_of(stores: Memory, model: Model) -> AsyncIterator[Vectors]:
    client = AsyncQdrantClient(url=stores.settings.qdrant, check_compatibility=False)
    try:
        yield Vectors(client, model)
    finally:
        await client.close()


async def test_collection_of_another_dimension_or_model_is_refused_with_what_to_do(stores: Memory) -> None:
    model = await stores.stores.embeddings.probe()
    async with vectors_of(stores, model) as same:
        await same.prepare()
    async with vectors_of(stores, replace(model, dimension=128, canary=model.canary[:128])) as smaller:
        with pytest.raises(NotReadyError, match=r"not have vectors of 128 dimensions .* Delete it and fold the log"):
            await smaller.prepare()
    turned = replace(model, canary=tuple(reversed(model.canary)))
    async with vectors_of(stores, turned) as other:
        with pytest.raises(NotReadyError, match=r"made by another model of the name .* Set embeddings_model back"):
            await other.prepare()
    async with vectors_of(stores, replace(model, name="a model of its own")) as new:
        with pytest.raises(NotReadyError, match="Qdrant has no collection"):
            await new.verify()
