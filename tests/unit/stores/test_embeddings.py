"""The embeddings client against faults that no real server has at a test's bidding.

They come from a fake: an HTTP server of a few lines that answers, is late or drops the connection as each test
says. What real servers do is in tests/integration/test_embeddings_servers.py.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from twiceshy.errors import NotReadyError, TransientError
from twiceshy.stores.embeddings import CANARY, WORD_CHARS_MAX, Embedded, EmbeddingsClient

Answer = tuple[int, Any] | None  # status and body; None is never an answer
DIMENSION = 3


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, 2.0]


def vectors(texts: list[str]) -> Answer:
    data = [{"object": "embedding", "index": at, "embedding": vector(text)} for at, text in enumerate(texts)]
    return 200, {"object": "list", "data": data}


class FakeServer:
    """Answers each request with ``behaviour(texts)``, a dropped connection when that raises, and counts them."""

    def __init__(self) -> None:
        self.behaviour: Callable[[list[str]], Answer] = vectors
        self.asked: list[list[str]] = []
        self.head = ""  # of the last request, in lower case
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                self.head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(self.head.split("content-length: ")[1].split("\r\n")[0])
                texts = json.loads(await reader.readexactly(length))["input"]
                self.asked.append(texts)
                if (answer := self.behaviour(texts)) is None:
                    await asyncio.sleep(60)
                    return
                body = answer[1] if isinstance(answer[1], bytes) else json.dumps(answer[1]).encode()
                writer.write(b"HTTP/1.1 %d Whatever\r\ncontent-length: %d\r\n\r\n%b" % (answer[0], len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    fake = FakeServer()
    async with await asyncio.start_server(fake.serve, "127.0.0.1", 0) as listening:
        fake.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        serving = asyncio.create_task(listening.serve_forever())
        yield fake
        serving.cancel()


@pytest.fixture
async def client(server: FakeServer) -> AsyncIterator[EmbeddingsClient]:
    client = EmbeddingsClient(server.url, "m", timeout_seconds=0.3, text_chars_max=1000)
    yield client
    await client.aclose()


def drop(_: list[str]) -> Answer:
    raise ConnectionError


def only_canary(refusal: Answer) -> Callable[[list[str]], Answer]:
    return lambda texts: vectors(texts) if texts == [CANARY] else refusal


def refusing(word: str, refusal: Answer) -> Callable[[list[str]], Answer]:
    return lambda texts: refusal if any(word in text for text in texts) else vectors(texts)


async def test_vectors_come_at_unit_length_in_the_order_of_the_texts(client: EmbeddingsClient) -> None:
    results = await client.embed(["a", "bbbb", "cc"])
    for text, result in zip(["a", "bbbb", "cc"], results, strict=True):
        assert result.vector is not None
        assert math.hypot(*result.vector) == pytest.approx(1.0)
        assert result.vector[0] / result.vector[1] == pytest.approx(len(text))
        assert (result.reason, result.truncated) == (None, False)


async def test_order_is_the_index_not_the_position(client: EmbeddingsClient, server: FakeServer) -> None:
    def reversed_(texts: list[str]) -> Answer:
        answer = vectors(texts)
        assert answer is not None
        answer[1]["data"].reverse()
        return answer

    expected = await client.embed(["a", "bbbb", "cc"])
    server.behaviour = reversed_
    assert await client.embed(["a", "bbbb", "cc"]) == expected


async def test_empty_texts_are_not_sent(client: EmbeddingsClient, server: FakeServer) -> None:
    assert await client.embed(["", " \n", "\0", "\ud800"]) == [Embedded(None, "empty text")] * 4
    assert await client.embed([]) == []
    assert server.asked == [[CANARY]]


async def test_text_is_cut_its_words_are_split_and_untextual_characters_replaced(
    client: EmbeddingsClient, server: FakeServer
) -> None:
    long = "w" * 450
    results = await client.embed(["a\0b\ud800c", long, "word " * 300])
    assert [result.truncated for result in results] == [False, False, True]
    sent = server.asked[-1]
    assert sent[0] == "a b c"
    assert [len(word) for word in sent[1].split()] == [WORD_CHARS_MAX, WORD_CHARS_MAX, 50]
    assert len(sent[2]) <= 1000


async def test_batches_hold_no_more_texts_than_allowed(client: EmbeddingsClient, server: FakeServer) -> None:
    await client.embed([f"text {at}" for at in range(130)])
    assert [len(texts) for texts in server.asked] == [1, 64, 64, 2]


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"data": []}),
        (200, {"data": [{"index": 0, "embedding": [1.0, 1.0, 1.0]}] * 3}),
        (200, {"data": [{"index": 7, "embedding": [1.0, 1.0, 1.0]}]}),
        (200, {"data": [{"index": 0, "embedding": [None, 1.0, 1.0]}]}),
        (200, {"data": [{"index": 0, "embedding": [0.0, 0.0, 0.0]}]}),
        (200, {"data": [{"index": 0, "embedding": [1e200, 1e200, 1e308]}] * 2}),
        (200, {"data": "AAAA"}),
        (200, [1]),
        (200, b"not json"),
        (200, b""),
        (400, b""),
        (500, {"error": "older shape"}),
        (502, b"<html>bad gateway</html>"),
    ],
)
async def test_text_that_is_never_answered_rightly_goes_without_a_vector(
    client: EmbeddingsClient, server: FakeServer, answer: Answer
) -> None:
    server.behaviour = refusing("bad", answer)
    good, bad = await client.embed(["good", "bad"])
    assert good.vector is not None
    assert bad.vector is None
    assert bad.reason


async def test_passing_refusals_cost_no_vector(client: EmbeddingsClient, server: FakeServer) -> None:
    refusals: list[Answer] = [(500, b""), (400, {"error": {"message": "do embedding request: EOF"}}), (503, b"busy")]
    server.behaviour = lambda texts: refusals.pop() if refusals else vectors(texts)
    [result] = await client.embed(["text"])
    assert result.vector is not None


async def test_refused_batch_is_halved_until_the_text_is_alone(client: EmbeddingsClient, server: FakeServer) -> None:
    server.behaviour = refusing("bad", (500, {"error": {"message": "unsupported value: NaN"}}))
    texts = ["bad" if at == 37 else f"text {at}" for at in range(64)]
    results = await client.embed(texts)
    assert [at for at, result in enumerate(results) if result.vector is None] == [37]
    assert results[37].reason == "status 500: unsupported value: NaN"
    assert len(server.asked) < 45


async def test_text_that_is_too_long_for_the_model_is_shortened(client: EmbeddingsClient, server: FakeServer) -> None:
    too_long = (400, {"error": {"message": "the input length exceeds the context length"}})
    server.behaviour = lambda texts: too_long if any(len(text) > 600 for text in texts) else vectors(texts)
    short, long = await client.embed(["short", "word " * 190])
    assert short == Embedded(short.vector)
    assert long.vector is not None
    assert long.truncated


async def test_text_that_the_server_never_answers_goes_without_a_vector(
    client: EmbeddingsClient, server: FakeServer
) -> None:
    server.behaviour = refusing("hang", None)
    good, bad = await client.embed(["good", "hang"])
    assert good.vector is not None
    assert bad == Embedded(None, "no answer within 0.3 s")


@pytest.mark.parametrize("status", [429, 503])
async def test_busy_server_is_away_and_no_text_is_blamed(
    client: EmbeddingsClient, server: FakeServer, status: int
) -> None:
    server.behaviour = only_canary((status, {"error": "server busy"}))
    with pytest.raises(TransientError, match=r"busy: status \d+: server busy"):
        await client.embed(["a", "b"])


@pytest.mark.parametrize(
    "answer",
    [(500, b"oh"), (404, b"no such page"), (200, {}), (200, {"data": [{"index": 0, "embedding": [0.0, 0.0, 0.0]}]})],
)
async def test_server_that_refuses_even_the_canary_is_away(
    client: EmbeddingsClient, server: FakeServer, answer: Answer
) -> None:
    await client.probe()
    server.behaviour = lambda _: answer
    with pytest.raises(TransientError, match=server.url):
        await client.embed(["a"])


async def test_server_that_hangs_is_away_after_one_canary(client: EmbeddingsClient, server: FakeServer) -> None:
    await client.probe()
    server.behaviour = lambda _: None
    texts = [f"text {at}" for at in range(64)]
    with pytest.raises(TransientError, match="no answer within"):
        await client.embed(texts)
    assert server.asked[1:] == [texts, [CANARY]]


async def test_deadline_ends_the_waiting(client: EmbeddingsClient, server: FakeServer) -> None:
    server.behaviour = lambda _: None
    with pytest.raises(TransientError, match=r"took more than 0\.1 s"):
        await client.embed(["text"], deadline_seconds=0.1)


async def test_dropped_connections_are_tried_again_and_never_halved(
    client: EmbeddingsClient, server: FakeServer
) -> None:
    await client.probe()
    server.behaviour = drop
    with pytest.raises(TransientError, match=f"{server.url}.* cannot be reached"):
        await client.embed(["a", "b"])
    assert server.asked[1:] == [["a", "b"]] * 4
    server.behaviour = vectors
    assert all(result.vector for result in await client.embed(["a", "b"]))


async def test_server_that_is_not_there_is_away() -> None:
    client = EmbeddingsClient("http://127.0.0.1:9/v1", "m")
    with pytest.raises(TransientError, match=r"http://127\.0\.0\.1:9/v1/embeddings cannot be reached"):
        await client.embed(["a"])
    await client.aclose()


async def test_another_dimension_is_another_model(client: EmbeddingsClient, server: FakeServer) -> None:
    assert (await client.probe()).dimension == DIMENSION
    server.behaviour = lambda texts: (200, {"data": [{"index": 0, "embedding": [1.0] * 4}]})
    with pytest.raises(NotReadyError, match="gives 4 dimensions now, and gave 3 before"):
        await client.embed(["a"])


async def test_key_is_sent_as_a_bearer_token(server: FakeServer) -> None:
    client = EmbeddingsClient(server.url, "m", api_key="sesame")
    await client.probe()
    assert "authorization: bearer sesame\r\n" in server.head
    await client.aclose()
