"""The embeddings client against real servers: the embedded embedder, and Ollama."""

import math
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration import tiny_gguf
from tests.integration.ollama import MODEL, NAN_MODEL, OllamaServer
from tests.processes import ServerProcess
from twiceshy.errors import NotReadyError, TransientError
from twiceshy.local import embedder
from twiceshy.stores.embeddings import Embedded, EmbeddingsClient

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="finds Ollama's runners in /proc")
TEXTS = ["plain cat", "the dog and the cat", "connection pool", "deploy 4711 was rolled back"]


@pytest.fixture(scope="module")
def ollama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OllamaServer]:
    with OllamaServer(tmp_path_factory.mktemp("ollama")) as server:
        yield server


@pytest.fixture(scope="module")
def embedded() -> Iterator[ServerProcess]:
    with ServerProcess("twiceshy.local.embedder") as server:
        yield server


@asynccontextmanager
async def connected(url: str, model: str, **more: Any) -> AsyncIterator[EmbeddingsClient]:
    client = EmbeddingsClient(url, model, **more)
    yield client
    await client.aclose()


async def check_texts(client: EmbeddingsClient, dimension: int) -> None:
    """The vectors are the same in a batch, in batches and alone, but for rounding."""
    together = await client.embed(TEXTS)
    for text, result in zip(TEXTS, together, strict=True):
        assert result.vector is not None
        assert len(result.vector) == dimension
        assert math.hypot(*result.vector) == pytest.approx(1.0)
        [alone] = await client.embed([text])
        assert alone.vector == pytest.approx(result.vector, abs=1e-4)


async def test_embedded_embedder_embeds(embedded: ServerProcess) -> None:
    async with connected(f"{embedded.url}/v1", embedder.MODEL, batch_texts_max=3) as client:
        model = await client.probe()
        assert (model.name, model.dimension) == (embedder.MODEL, embedder.DIMENSION)
        assert await client.probe() == model
        await check_texts(client, embedder.DIMENSION)


async def test_ollama_embeds(ollama: OllamaServer) -> None:
    async with connected(ollama.url, MODEL, batch_texts_max=3) as client:
        model = await client.probe()
        assert (model.name, model.dimension) == (MODEL, tiny_gguf.DIMENSION)
        assert await client.probe() == model
        await check_texts(client, tiny_gguf.DIMENSION)


async def test_text_that_gives_nan_is_found_among_64(ollama: OllamaServer) -> None:
    texts = [f"plain cat {at}" for at in range(64)]
    texts[41] = "the nanword dog"
    async with connected(ollama.url, NAN_MODEL) as client:
        results = await client.embed(texts)
    assert [at for at, result in enumerate(results) if result.vector is None] == [41]
    assert "NaN" in (results[41].reason or "")


async def test_text_of_nothing_but_nan_words_alone_is_no_fault_of_the_server(ollama: OllamaServer) -> None:
    async with connected(ollama.url, NAN_MODEL) as client:
        [result] = await client.embed(["nanword"])
        assert result.vector is None
        assert await client.embed([""]) == [Embedded(None, "empty text")]


async def test_text_that_exceeds_the_context_is_shortened(ollama: OllamaServer) -> None:
    """An over-long text with a character that the model does not know is refused, not cut."""
    async with connected(ollama.url, MODEL) as client:
        short, long = await client.embed(["plain cat", "世 " + "plain " * 150])
    assert short == Embedded(short.vector)
    assert long.vector is not None
    assert long.truncated


async def test_endless_word_does_not_hold_up_the_server(ollama: OllamaServer) -> None:
    async with connected(ollama.url, MODEL) as client:
        [result] = await client.embed(["x" * 8000])
    assert result.vector is not None


async def test_unknown_model_is_not_ready_and_named(ollama: OllamaServer) -> None:
    async with connected(ollama.url, "bge-m4") as client:
        with pytest.raises(NotReadyError, match=r"'bge-m4' \(status 404: model .* not found"):
            await client.probe()


async def test_address_without_v1_is_not_ready_and_says_so(ollama: OllamaServer) -> None:
    async with connected(ollama.url.removesuffix("/v1"), MODEL) as client:
        with pytest.raises(NotReadyError, match="ends in /v1"):
            await client.probe()


@needs_proc
async def test_crashed_runner_costs_nothing(ollama: OllamaServer) -> None:
    async with connected(ollama.url, MODEL) as client:
        before = await client.embed(TEXTS)
        ollama.signal_runners(signal.SIGKILL)
        after = await client.embed(TEXTS)
    for old, new in zip(before, after, strict=True):
        assert old.vector is not None
        assert new.vector == pytest.approx(old.vector, abs=1e-4)


@needs_proc
async def test_hung_runner_is_a_server_that_is_away(ollama: OllamaServer) -> None:
    async with connected(ollama.url, MODEL, timeout_seconds=1.0) as client:
        await client.probe()
        ollama.signal_runners(signal.SIGSTOP)
        try:
            with pytest.raises(TransientError, match=ollama.url):
                await client.embed(TEXTS)
        finally:
            ollama.signal_runners(signal.SIGCONT)
        assert all(result.vector for result in await client.embed(TEXTS))


async def test_same_name_with_other_weights_is_told_by_its_canary(ollama: OllamaServer) -> None:
    ollama.create("changing")
    async with connected(ollama.url, "changing") as client, connected(ollama.url, MODEL) as same:
        before = await client.probe()
        assert (await same.probe()).made(before.canary)
        ollama.create("changing", seed=tiny_gguf.SEED + 1)
        assert not (await client.probe()).made(before.canary)


async def test_killed_server_is_away_until_it_is_back(tmp_path: Path) -> None:
    with ServerProcess("twiceshy.local.embedder") as server:
        async with connected(f"{server.url}/v1", embedder.MODEL) as client:
            before = await client.embed(TEXTS)
            server.kill()
            with pytest.raises(TransientError, match=f"{server.url}/v1/embeddings cannot be reached"):
                await client.embed(TEXTS)
            server.start()
            assert await client.embed(TEXTS) == before
