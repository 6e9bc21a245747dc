"""The embedded embedder as a process: OpenAI's interface over wordllama."""

import base64
import json
import math
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from tests.processes import ROOT, ServerProcess
from twiceshy.local.embedder import BATCH_TEXTS_MAX, DIMENSION, MODEL, MODELS


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with ServerProcess("twiceshy.local.embedder") as server:
        yield server


@pytest.fixture(scope="module")
async def http(server: ServerProcess) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, timeout=30.0) as http:
        yield http


async def embed(http: httpx.AsyncClient, given: Any, **more: Any) -> httpx.Response:
    return await http.post("/v1/embeddings", json={"model": MODEL, "input": given, **more})


async def vectors(http: httpx.AsyncClient, given: Any) -> list[list[float]]:
    answer = await embed(http, given)
    assert answer.status_code == 200
    return [item["embedding"] for item in answer.json()["data"]]


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


async def test_vectors_have_unit_length_and_like_is_near_like(http: httpx.AsyncClient) -> None:
    texts = ["the payments database ran out of connections", "too many connections to postgres", "a cat sat on a mat"]
    answer = (await embed(http, texts)).json()
    assert [item["index"] for item in answer["data"]] == [0, 1, 2]
    assert answer["model"] == MODEL
    assert answer["usage"]["prompt_tokens"] == answer["usage"]["total_tokens"] > 10
    first, second, third = (item["embedding"] for item in answer["data"])
    assert [len(first), len(second), len(third)] == [DIMENSION] * 3
    assert math.hypot(*first) == pytest.approx(1.0, abs=1e-6)
    assert dot(first, second) > dot(first, third)


async def test_vector_does_not_depend_on_its_neighbours(http: httpx.AsyncClient) -> None:
    texts = ["short", "a text that is quite a bit longer " * 30, "deploy 4711"]
    together = await vectors(http, texts)
    assert together == [(await vectors(http, text))[0] for text in texts]


async def test_same_text_has_the_same_vector_in_every_process(http: httpx.AsyncClient) -> None:
    with ServerProcess("twiceshy.local.embedder") as another:
        async with httpx.AsyncClient(base_url=another.url) as other:
            assert await vectors(other, "too many connections") == await vectors(http, "too many connections")


@pytest.mark.parametrize("dimension", [64, 128])
async def test_smaller_model_has_a_name_of_its_own_and_is_the_larger_ones_beginning(
    http: httpx.AsyncClient, dimension: int
) -> None:
    with ServerProcess("twiceshy.local.embedder", "--dimensions", str(dimension)) as smaller:
        async with httpx.AsyncClient(base_url=smaller.url) as other:
            assert (await embed(other, "too many connections")).json()["error"]["code"] == "model_not_found"
            answer = await embed(other, "too many connections", model=MODELS[dimension])
            [small] = [item["embedding"] for item in answer.json()["data"]]
    [large] = await vectors(http, "too many connections")
    norm = math.hypot(*large[:dimension])
    assert small == pytest.approx([component / norm for component in large[:dimension]], abs=1e-6)


async def test_base64_holds_the_same_floats(http: httpx.AsyncClient) -> None:
    [expected] = await vectors(http, "text")
    [item] = (await embed(http, "text", encoding_format="base64")).json()["data"]
    floats = struct.unpack(f"<{DIMENSION}f", base64.b64decode(item["embedding"]))
    assert list(floats) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("untextual", ["a\0b", "a\ud800b"])
async def test_untextual_characters_are_blanks(http: httpx.AsyncClient, untextual: str) -> None:
    answer = await http.post("/v1/embeddings", content=json.dumps({"model": MODEL, "input": untextual}))
    assert [item["embedding"] for item in answer.json()["data"]] == await vectors(http, "a b")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
async def test_body_that_is_no_request_is_refused(http: httpx.AsyncClient, body: bytes) -> None:
    answer = await http.post("/v1/embeddings", content=body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "body")


@pytest.mark.parametrize("blank", ["", " \n\t", "\0"])
async def test_text_without_a_token_is_refused_by_its_index(http: httpx.AsyncClient, blank: str) -> None:
    answer = await embed(http, ["fine", blank])
    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "message": "input[1] has no token, so it has no vector",
        "type": "invalid_request_error",
        "param": "input[1]",
        "code": "no_tokens",
    }


@pytest.mark.parametrize(
    ("given", "more", "status", "param"),
    [
        ([], {}, 400, "input"),
        (["a"] * (BATCH_TEXTS_MAX + 1), {}, 400, "input"),
        ([[1, 2]], {}, 400, "input"),
        (None, {}, 400, "input"),
        ("a", {"model": "bge-m3"}, 404, "model"),
        ("a", {"dimensions": 64}, 400, "dimensions"),
        ("a", {"encoding_format": "hex"}, 400, "encoding_format"),
    ],
)
async def test_request_that_cannot_be_met_is_refused(
    http: httpx.AsyncClient, given: Any, more: dict[str, Any], status: int, param: str
) -> None:
    answer = await embed(http, given, **more)
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, param)


async def test_a_full_batch_is_taken(http: httpx.AsyncClient) -> None:
    assert len(await vectors(http, ["a"] * BATCH_TEXTS_MAX)) == BATCH_TEXTS_MAX


async def test_models_and_health(http: httpx.AsyncClient) -> None:
    assert [model["id"] for model in (await http.get("/v1/models")).json()["data"]] == [MODEL]
    assert (await http.get("/healthz")).status_code == 200
    assert (await http.get("/v2/models")).status_code == 404


def test_port_that_is_taken_is_said_in_a_sentence(server: ServerProcess) -> None:
    port = server.url.rsplit(":", 1)[1]
    command = [sys.executable, "-m", "twiceshy.local.embedder", "--port", port]
    second = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False, cwd=ROOT)
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == f"Cannot listen on 127.0.0.1:{port}: Address already in use.\n"


def test_stop_is_orderly() -> None:
    with ServerProcess("twiceshy.local.embedder") as server:
        assert server.stop() == 0
