"""Vectors from any OpenAI-compatible endpoint (Ollama's ``/v1`` included).

A status is not a cause: one text can fail its whole batch, with the status that a crash or a full queue has
too, and no word about which text it was. So a batch that keeps being refused is halved until the text is alone, and a
plain text, the canary, tells a text's fault from the server's. Only answers are halved: a server that cannot be
reached is away for everybody.
"""

import asyncio
import math
import operator
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx
import orjson

from twiceshy.errors import NotReadyError, TransientError

Vector = list[float]

CANARY = "Checkout timed out after the connection pool was made smaller."

WORD_CHARS_MAX = 200
SHORTENED_CHARS_MIN = 500
BATCH_ATTEMPTS_MAX = 2
BACKOFF_SECONDS_FIRST = 0.1
BACKOFF_SECONDS_MAX = 2.0
CONNECT_SECONDS_MAX = 5.0
CONNECTIONS_MAX = 8
REASON_CHARS_MAX = 200
SAME_COSINE_MIN = 0.999

BUSY = (429, 503)
TOO_LONG = (400, 413, 422)

# One server cuts a text at a NUL, another fails the batch; a lone surrogate cannot be sent at all.
_UNTEXTUAL = re.compile("[\x00\ud800-\udfff]")
_LONG_WORD = re.compile(rf"\S{{{WORD_CHARS_MAX}}}(?=\S)")


@dataclass(frozen=True)
class Embedded:
    """What became of a text. The vector has unit length, so that a dot product is a cosine."""

    vector: Vector | None
    reason: str | None = None  # why there is no vector
    truncated: bool = False  # it is the vector of the text's beginning


@dataclass(frozen=True)
class Model:
    """What a server calls by a name at this moment: the same name may be another model tomorrow.

    ``canary`` is the vector of a known text, which tells one model from another. It is compared by cosine, for
    another processor gives the last digits otherwise.
    """

    name: str
    dimension: int
    canary: tuple[float, ...]

    def made(self, canary: Sequence[float]) -> bool:
        """Whether this model gave the known text the unit vector ``canary``."""
        return len(canary) == self.dimension and sum(map(operator.mul, self.canary, canary)) >= SAME_COSINE_MIN


class _RefusedError(Exception):
    """An answer that is not vectors, or none in time (``status`` is None then)."""

    def __init__(self, reason: str, status: int | None, may_pass: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.may_pass = may_pass


class EmbeddingsClient:
    """A client of one model at one address, with one pool of connections. Close it with `aclose`.

    ``base_url`` ends as OpenAI's does, in ``/v1``. Texts are cut to ``text_chars_max`` characters.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout_seconds: float = 30.0,
        batch_texts_max: int = 64,
        attempts_max: int = 4,
        text_chars_max: int = 8000,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._name = model
        self._timeout_seconds = timeout_seconds
        self._batch_texts_max = batch_texts_max
        self._attempts_max = attempts_max
        self._text_chars_max = text_chars_max
        self._jitter = jitter
        self._model: Model | None = None
        self._http = httpx.AsyncClient(
            headers={"authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, CONNECT_SECONDS_MAX)),
            limits=httpx.Limits(max_connections=CONNECTIONS_MAX),
            trust_env=False,  # only settings.py reads the environment
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def probe(self) -> Model:
        """Ask for the canary's vector, which also warms a cold model.

        Raises TransientError when the server is away, late or busy, and NotReadyError when it answers that this model
        cannot be had.
        """
        try:
            [vector] = await self._attempt([CANARY], self._attempts_max)
        except _RefusedError as refusal:
            if refusal.status is None or refusal.may_pass:
                raise TransientError(f"The embedder at {self._url} is not well: {refusal.reason}") from refusal
            raise NotReadyError(
                f"The embedder at {self._url} does not embed with {self._name!r} ({refusal.reason}). "
                "Check that the model is there, that the address ends in /v1, and the key."
            ) from refusal
        if vector is None:
            raise NotReadyError(f"{self._name!r} at {self._url} gives no usable vector for a plain text.")
        self._model = Model(self._name, len(vector), tuple(vector))
        return self._model

    async def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> list[Embedded]:
        """One result a text, in their order. Probes first if that was never done.

        Raises TransientError when the server cannot be reached, refuses even the canary, or the deadline has passed;
        NotReadyError when its vectors have another dimension than when it was probed.
        """
        try:
            async with asyncio.timeout(deadline_seconds):
                if self._model is None:
                    await self.probe()
                return await self._embed(texts)
        except TimeoutError as error:
            raise TransientError(f"The embedder at {self._url} took more than {deadline_seconds} s") from error

    async def _embed(self, texts: Sequence[str]) -> list[Embedded]:
        results = [Embedded(None, "empty text")] * len(texts)
        prepared = [_prepared(text, self._text_chars_max) for text in texts]
        wanted = [at for at, (text, _) in enumerate(prepared) if text]
        for start in range(0, len(wanted), self._batch_texts_max):
            batch = wanted[start : start + self._batch_texts_max]
            embedded = await self._embed_batch([prepared[at][0] for at in batch])
            for at, result in zip(batch, embedded, strict=True):
                results[at] = replace(result, truncated=result.truncated or prepared[at][1])
        return results

    async def _embed_batch(self, texts: list[str]) -> list[Embedded]:
        try:
            vectors = await self._attempt(texts, BATCH_ATTEMPTS_MAX)
        except _RefusedError as error:
            refusal = error
        else:
            if None in vectors:
                await self._check_server()
            return [_embedded(vector) for vector in vectors]
        await self._check_server()
        if len(texts) == 1:
            return [await self._embed_alone(texts[0], refusal)]
        half = len(texts) // 2
        return await self._embed_batch(texts[:half]) + await self._embed_batch(texts[half:])

    async def _embed_alone(self, text: str, refusal: _RefusedError) -> Embedded:
        """The last resorts for a text that was refused by a server that is well."""
        if refusal.may_pass:
            try:
                [vector] = await self._attempt([text], self._attempts_max - BATCH_ATTEMPTS_MAX)
                return _embedded(vector)
            except _RefusedError as error:
                refusal = error
            await self._check_server()
        elif refusal.status in TOO_LONG and len(text) > SHORTENED_CHARS_MIN:
            [shortened] = await self._embed_batch([text[: len(text) // 2]])
            return replace(shortened, truncated=True)
        return Embedded(None, refusal.reason)

    async def _check_server(self) -> None:
        """Raises TransientError when not even the canary is embedded: then it is not the text's fault."""
        try:
            [vector] = await self._attempt([CANARY], self._attempts_max)
        except _RefusedError as refusal:
            raise TransientError(f"The embedder at {self._url} refuses every text: {refusal.reason}") from refusal
        if vector is None:
            raise TransientError(f"The embedder at {self._url} gives zero or no finite vector for every text")

    async def _attempt(self, texts: list[str], attempts_max: int) -> list[Vector | None]:
        """A unit vector a text, or None where the server's is not one.

        Raises _RefusedError, after ``attempts_max`` attempts if it may pass; TransientError when it is busy.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._vectors(await self._post(texts), len(texts))
            except _RefusedError as refusal:
                busy = refusal.status in BUSY
                if busy and attempt >= self._attempts_max:
                    raise TransientError(f"The embedder at {self._url} is busy: {refusal.reason}") from refusal
                if not refusal.may_pass or (attempt >= attempts_max and not busy):
                    raise
            await self._pause(attempt)

    async def _post(self, texts: list[str]) -> httpx.Response:
        """The server's answer, whatever its status. Raises TransientError when it cannot be reached."""
        body = orjson.dumps({"model": self._name, "input": texts})
        failure: httpx.RequestError | None = None
        for attempt in range(self._attempts_max):
            if attempt:
                await self._pause(attempt)
            try:
                return await self._http.post(self._url, content=body, headers={"content-type": "application/json"})
            except httpx.ReadTimeout as error:
                late = f"no answer within {self._timeout_seconds} s"
                raise _RefusedError(late, None, may_pass=False) from error
            except httpx.RequestError as error:
                failure = error
        raise TransientError(f"The embedder at {self._url} cannot be reached: {failure!r}") from failure

    async def _pause(self, attempt: int) -> None:
        seconds = min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS_FIRST * 2 ** (attempt - 1))
        await asyncio.sleep(seconds * (1 + self._jitter()) / 2)

    def _vectors(self, response: httpx.Response, count: int) -> list[Vector | None]:
        status = response.status_code
        if status != 200:
            reason = f"status {status}: {_message(response)}"
            may_pass = status >= 500 or status in (408, 429) or (status == 400 and "EOF" in reason)
            raise _RefusedError(reason, status, may_pass)
        try:
            data = orjson.loads(response.content)["data"]
            if len(data) != count:
                raise _RefusedError(f"{len(data)} vectors came for {count} texts", status, may_pass=True)
            by_index = {item.get("index", at): item["embedding"] for at, item in enumerate(data)}
            vectors = [_unit(by_index[at]) for at in range(count)]
        except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
            raise _RefusedError(f"the answer is malformed: {error!r}", status, may_pass=True) from error
        for vector in vectors:
            if vector and self._model and len(vector) != self._model.dimension:
                raise NotReadyError(
                    f"{self._name!r} at {self._url} gives {len(vector)} dimensions now, and gave "
                    f"{self._model.dimension} before: it is another model. Restore it, or build a new generation."
                )
        return vectors


def _prepared(text: str, chars_max: int) -> tuple[str, bool]:
    """What is sent for a text, and whether something was cut off its end. Over-long words are split: they are slow."""
    clean = _UNTEXTUAL.sub(" ", text)
    cut = _LONG_WORD.sub(r"\g<0> ", clean[:chars_max])
    return cut.strip(), bool(clean[chars_max:].strip())


def _unit(vector: Any) -> Vector | None:
    """The vector at unit length, or None when it has none. Raises TypeError for what is no vector."""
    norm = math.hypot(*vector)
    if not 0 < norm < math.inf:
        return None
    return [component / norm for component in vector]


def _embedded(vector: Vector | None) -> Embedded:
    return Embedded(vector, None if vector else "the embedder's vector is zero or not finite")


def _message(response: httpx.Response) -> str:
    """What an error says of itself: OpenAI's shape, Ollama's older one, or plain text."""
    try:
        error = orjson.loads(response.content)["error"]
        message = error["message"] if isinstance(error, dict) else error
    except (orjson.JSONDecodeError, KeyError, TypeError):
        message = response.text
    return str(message).strip()[:REASON_CHARS_MAX] or "(nothing more)"
