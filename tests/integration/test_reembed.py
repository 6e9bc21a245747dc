"""The memory with another model's vectors: copied while it goes on, handed over at one point, and led back."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli import twiceshy
from tests.incidents import incident
from tests.integration.ollama import NAN_MODEL, OllamaServer
from tests.memory import Memory, memory
from tests.processes import ServerProcess
from twiceshy.client import IncidentPublisher, OutcomeFollower, RecallClient
from twiceshy.errors import FencedError, NotReadyError, TransientError
from twiceshy.events.common import instant
from twiceshy.local.embedder import MODEL, MODELS
from twiceshy.local.stack import Stack
from twiceshy.settings import Settings
from twiceshy.stores.graph import Graphs
from twiceshy.stores.vectors import Vectors
from twiceshy.stream.codec import encode
from workers.connections import Stores, open_stores
from workers.fold import Stages
from workers.rebuild import drop_generation
from workers.recall import Recall
from workers.reembed import Reembedding, drop_collection

OTHER = MODELS[64]
COMMAND_SECONDS_MAX = 120.0
QUERIES = ("ledger is slow, a full disk", "checkout returns 502", "rejects logins, an expired certificate")


@pytest.fixture(scope="module")
def other() -> Iterator[ServerProcess]:
    with ServerProcess("twiceshy.local.embedder", "--dimensions", "64") as server:
        yield server


@pytest.fixture(name="running")
async def _running() -> AsyncIterator[Memory]:
    async with memory() as running:
        yield running


@pytest.fixture
async def opened(running: Memory, other: ServerProcess) -> AsyncIterator[Stores]:
    async with open_stores(with_model(running.settings, OTHER, f"{other.url}/v1")) as stores:
        yield stores


def with_model(settings: Settings, model: str, address: str) -> Settings:
    return settings.model_copy(update={"embeddings_model": model, "embeddings": address})


def reembedding(running: Memory, to: Stores) -> Reembedding:
    return Reembedding(to, running.settings.tenants, running.settings.embeddings_model)


def stages(stores: Stores, generation: str = "g1") -> Stages:
    return Stages.of_generation(stores.redis, stores.vectors, stores.embeddings, generation, 5.0)


async def points(vectors: Vectors, generation: str = "g1", tenant: str = "default") -> dict[str, Any]:
    """All there is of a memory's points, by version id, but the generation's name."""
    return {
        payload["version_id"]: ({**payload, "generation": ""}, dense, words)
        async for payload, dense, words in vectors.every(tenant, generation)
    }


async def folded(running: Memory, to: Stores) -> dict[str, Any]:
    """The points that a fold of the whole log makes with a model."""
    fold = stages(to, "fresh")
    for start in range(0, len(running.log), 100):
        await fold.fold(running.log[start : start + 100])
    made = await points(to.vectors, "fresh")
    await drop_generation(to, "default", "fresh")
    return made


def unlike(expected: dict[str, Any], actual: dict[str, Any]) -> list[Any]:
    """The first points in which two memories differ."""
    ids = sorted({*expected, *actual})
    return [(expected.get(one), actual.get(one)) for one in ids if expected.get(one) != actual.get(one)][:3]


def fingerprints(reply: Any) -> set[str]:
    assert (reply.status, reply.partial) == ("ok", False)
    return {episode.fingerprint for episode in reply.results}


async def change(running: Memory, first: int) -> None:
    """What changes points that are there: corrections, an invalidation, rules, and a compaction."""
    await running.remember(*(incident(number, title=f"Corrected {number}") for number in range(first, first + 5)))
    invalidated = await running.command("origin-invalidation", origin="statuspage")
    assert invalidated.outcome == "applied"
    await running.remember(*(incident(number) for number in range(first + 1_000, first + 1_010)))


async def test_memory_is_copied_while_it_goes_on_and_handed_over_without_loss(running: Memory, opened: Stores) -> None:
    await running.remember(*(incident(number) for number in range(300)))
    work, stopping, copied, changed = reembedding(running, opened), asyncio.Event(), asyncio.Event(), asyncio.Event()
    answers: list[set[str]] = []
    refused: list[Exception] = []

    async def asking() -> None:
        while not stopping.is_set():
            answers.append(fingerprints(await running.ask(QUERIES[len(answers) % len(QUERIES)], deadline_ms=20_000)))

    async def writing() -> None:
        """Until embed may no more, as delivery would: what was refused comes again."""
        number = 300
        while not refused:
            try:
                if copied.is_set() and not changed.is_set():
                    await change(running, 20)
                    changed.set()
                said = [incident(number), incident(number % 50, summary=f"Said anew at {number}.")]
                await running.remember(*said)
                number += 1
            except (FencedError, TransientError) as error:
                refused.append(error)

    async with asyncio.timeout(COMMAND_SECONDS_MAX), asyncio.TaskGroup() as group:
        group.create_task(asking())
        group.create_task(writing())
        await work.copy()
        copied.set()
        await changed.wait()
        handed = await work.hand_over()
        stopping.set()
    assert ("default", "g1") in {(memory.tenant, memory.generation) for memory in handed}
    assert answers
    assert all(answers)
    with pytest.raises(TransientError, match=f"those of the embeddings_model {OTHER}, and {MODEL} is set here"):
        await running.stages.fold(running.log[-2:])

    # Embed is started with the other model. What was under way comes again, whoever had begun with it.
    running.stages = stages(opened)
    await running.stages.fold(running.log[-20:])
    await running.remember(incident(5_000))
    assert unlike(await folded(running, opened), await points(opened.vectors)) == []

    found = [fingerprints(await running.ask(query, limit=20)) for query in QUERIES]
    running.recall = Recall(running.settings, Graphs(opened.redis), opened.vectors, opened.embeddings)
    again = [fingerprints(await running.ask(query, limit=20)) for query in QUERIES]
    assert all(len(some & same) > 10 for some, same in zip(found, again, strict=True)), (found, again)
    assert "test/5000" in fingerprints(await running.ask(incident(5_000).title))
    assert await work.hand_over() == []


async def test_command_that_is_killed_goes_on_and_then_finds_nothing_to_do(
    running: Memory, other: ServerProcess, opened: Stores
) -> None:
    await running.remember(*(incident(number) for number in range(800)))
    asked = ("--model", OTHER, "--embeddings", f"{other.url}/v1")
    process = await command(running.settings, *asked)
    while await opened.vectors.count("default", "g1") < 100:
        assert process.returncode is None
        await asyncio.sleep(0.002)
    process.kill()
    await process.wait()
    there = await opened.vectors.count("default", "g1")
    total = await running.stores.vectors.count("default", "g1")
    assert 100 <= there < total

    told = await ended(await command(running.settings, *asked))
    assert f"{total - there} points were added to those of {OTHER}, 0 closed, 0 deleted" in told
    assert "There was nothing to do" in await ended(await command(running.settings, *asked))
    assert unlike(await folded(running, opened), await points(opened.vectors)) == []

    told = await ended(await command(running.settings, *asked, "--switch"))
    assert f'embeddings_model = "{OTHER}"' in told
    assert f"twiceshy reembed --drop {MODEL}" in told
    told = await ended(await command(running.settings, *asked))
    assert f"There is nothing to do: the points are those of {OTHER} already" in told
    new = with_model(running.settings, OTHER, f"{other.url}/v1")
    assert f"Dropped the points of {MODEL}" in await ended(await command(new, "--drop", MODEL))
    assert not await running.stores.vectors.exists()


async def test_what_is_dropped_or_made_otherwise_meanwhile_is_so_in_the_copy(running: Memory, opened: Stores) -> None:
    await running.remember(*(incident(number) for number in range(40)))
    await change(running, 0)
    beside = stages(running.stores, "g2")
    await beside.fold(running.log)
    work = reembedding(running, opened)
    assert await work.copy()
    assert unlike(await points(opened.vectors), await points(opened.vectors, "g2")) == []

    latest = max(logged.entry.admitted_at for logged in running.log)
    compacted = await running.command("compaction", before=instant(latest))
    assert compacted.outcome == "applied"
    await drop_generation(running.stores, "default", "g2")
    assert await reembedding(running, opened).copy()
    assert unlike(await folded(running, opened), await points(opened.vectors)) == []
    assert await opened.vectors.count("default", "g2") == 0

    # A generation of the same name, of which the copy has another past.
    await stages(running.stores, "g2").fold(running.log[:20])
    assert await reembedding(running, opened).copy()
    await drop_generation(running.stores, "default", "g2")
    await stages(running.stores, "g2").fold(running.log[:10])
    assert await reembedding(running, opened).copy()
    assert set(await points(opened.vectors, "g2")) == set(await points(running.stores.vectors, "g2"))


async def test_memory_is_led_back_to_the_model_that_it_had(running: Memory, opened: Stores) -> None:
    await running.remember(*(incident(number) for number in range(30)))
    await reembedding(running, opened).hand_over()
    running.stages = stages(opened)
    await change(running, 10)
    back = Reembedding(running.stores, running.settings.tenants, OTHER)
    assert await back.copy()
    assert back.tally.closed > 0
    await back.hand_over()
    running.stages = stages(running.stores)
    await running.remember(incident(5_000))
    assert unlike(await folded(running, running.stores), await points(running.stores.vectors)) == []


async def test_copy_of_a_memory_that_another_command_handed_over_is_left_alone(running: Memory, opened: Stores) -> None:
    await running.remember(*(incident(number) for number in range(10)))
    late = reembedding(running, opened)
    [memory] = [memory for memory in await late.memories() if memory.tenant == "default"]
    await reembedding(running, opened).hand_over()
    running.stages = stages(opened)
    await running.remember(incident(11))
    before = await points(opened.vectors)
    with pytest.raises(NotReadyError, match="handed over meanwhile"):
        await late._delete_gone(memory)
    assert before == await points(opened.vectors)


async def test_collection_in_use_is_not_dropped(running: Memory, opened: Stores) -> None:
    await running.remember(incident(1))
    await reembedding(running, opened).hand_over()
    refused = {MODEL: "embeddings_model is set to it", OTHER: "the points of default are there", "x": "is not there"}
    for model, why in refused.items():
        with pytest.raises(NotReadyError, match=why):
            await drop_collection(running.stores, running.settings.tenants, model)


async def test_points_whose_collection_is_gone_are_not_taken_for_none(running: Memory, opened: Stores) -> None:
    await running.remember(incident(1))
    await running.stores.vectors.drop_collection()
    with pytest.raises(NotReadyError, match="`twiceshy rebuild` makes them anew"):
        await reembedding(running, opened).copy()


async def test_text_that_ollama_cannot_embed_is_kept_by_its_words(running: Memory, tmp_path: Path) -> None:
    """The old model's embedder is away: it is not needed any more."""
    await running.remember(*(incident(number) for number in range(3)), incident(9, title="the nanword"))
    await running.kill("embedder")
    with OllamaServer(tmp_path) as ollama:
        async with open_stores(with_model(running.settings, NAN_MODEL, ollama.url)) as stores:
            work = reembedding(running, stores)
            assert await work.copy()
            assert work.tally.words_alone == 1
            made = await points(stores.vectors)
    without = [payload for payload, dense, _ in made.values() if dense is None]
    assert [(one["has_vector"], one["vector_missing"]) for one in without] == [(False, False)]
    assert without[0]["text"].startswith("the nanword")


async def test_embedded_stack_goes_over_to_another_embedder(
    other: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("twiceshy.local.stack.DRAIN_SECONDS_MAX", 1.0)  # embed does not finish: it waits
    elsewhere = (f"{other.url}/v1", OTHER)
    async with Stack(tmp_path, current=False) as stack:
        told = await twiceshy("publish", "-", folder=tmp_path, stdin=lines(range(5)))
        assert told.code == 0, told.err
        told = await twiceshy("reembed", "--model", OTHER, "--embeddings", elsewhere[0], "--switch", folder=tmp_path)
        assert told.code == 0, told.err
        assert f"twiceshy up --embeddings {elsewhere[0]} --model {OTHER}" in told.out.decode()
        async with IncidentPublisher(stack.settings) as publisher:
            waiting = await publisher.publish(incident(5))
        async with OutcomeFollower(stack.settings) as follower:
            with pytest.raises(TimeoutError):
                await follower.outcomes([waiting], timeout_seconds=3)
        told = await twiceshy("doctor", folder=tmp_path)
        assert f"The points of default are those of the embeddings_model {OTHER}" in told.out.decode()

    async with Stack(tmp_path, current=False, embeddings=elsewhere) as stack:
        found: set[str] = set()
        async with RecallClient(stack.settings) as recall, asyncio.timeout(60):
            while "test/5" not in found:
                reply = await recall.recall(tenant="default", query=incident(5).title, limit=20, deadline_ms=20_000)
                found = fingerprints(reply)
        assert {f"test/{number}" for number in range(6)} == found
        told = await twiceshy("doctor", folder=tmp_path)
        assert told.code == 0, told.out


def lines(numbers: Iterable[int]) -> bytes:
    return b"\n".join(encode(incident(number)) for number in numbers)


async def command(settings: Settings, *arguments: str) -> asyncio.subprocess.Process:
    """``twiceshy reembed``, as one runs it."""
    told = {name: getattr(settings, name) for name in ("falkordb", "qdrant", "embeddings", "embeddings_model")}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "twiceshy.cli",
        "reembed",
        *arguments,
        env={**os.environ, **{f"TWICESHY_{name.upper()}": value for name, value in told.items()}},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def ended(process: asyncio.subprocess.Process) -> str:
    """What it says, once it has ended well."""
    try:
        told, _ = await asyncio.wait_for(process.communicate(), COMMAND_SECONDS_MAX)
    except TimeoutError:
        process.kill()
        raise
    assert process.returncode == 0, told.decode()
    return told.decode()
