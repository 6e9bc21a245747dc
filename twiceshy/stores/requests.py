"""What every request to Qdrant goes by: what its errors are, and how much goes into one."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

import httpx
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from twiceshy.core.sequences import batched
from twiceshy.errors import TransientError

POINTS_MAX = 100
REQUESTS_AT_ONCE = 2

Part = TypeVar("Part")


@contextlib.asynccontextmanager
async def answering() -> AsyncIterator[None]:
    """Turns what passes into TransientError."""
    try:
        yield
    except (ResponseHandlingException, httpx.TransportError, OSError) as error:
        raise TransientError(f"Qdrant does not answer: {error!r}") from error
    except UnexpectedResponse as error:
        if error.status_code is not None and (error.status_code >= 500 or error.status_code == 429):
            raise TransientError(f"Qdrant could not answer: {error.status_code} {error.reason_phrase}") from error
        raise


@contextlib.asynccontextmanager
async def still_there() -> AsyncIterator[None]:
    """A point that was deleted meanwhile is no longer missing anything: whoever asks again does not find it."""
    try:
        yield
    except UnexpectedResponse as error:
        if error.status_code != 404:
            raise
        raise TransientError(
            "Qdrant no longer has a point that lacked its vector: look again what is missing."
        ) from error


async def in_parts(call: Callable[[Sequence[Part]], Awaitable[None]], parts: Sequence[Part]) -> None:
    """Calls with so many of ``parts`` at a time as go into one request; the next is made while one is answered."""
    chunks = deque(batched(parts, POINTS_MAX))

    async def one_by_one() -> None:
        try:
            while chunks:
                await call(chunks.popleft())
        except BaseException:
            chunks.clear()
            raise

    # Both are waited for, whatever becomes of one: nothing is written behind the back of who tries again.
    for outcome in await asyncio.gather(*(one_by_one() for _ in range(REQUESTS_AT_ONCE)), return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
