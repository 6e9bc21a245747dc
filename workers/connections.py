"""The connections of one process, each proved to be as it must be before the first event."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import httpx
from qdrant_client import AsyncQdrantClient
from redis.asyncio import Redis

from twiceshy.errors import NotReadyError, TransientError
from twiceshy.settings import Settings
from twiceshy.stores import falkordb_settings
from twiceshy.stores.connection import answering, connect
from twiceshy.stores.embeddings import EmbeddingsClient
from twiceshy.stores.vectors import Vectors

CONNECT_SECONDS_MAX = 60.0

# Its client keeps no connection open to 127.0.0.1 unless told to.
KEEP_ALIVE = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=60)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Stores:
    """The connections of one process."""

    redis: Redis
    embeddings: EmbeddingsClient
    vectors: Vectors


@contextlib.asynccontextmanager
async def open_stores(settings: Settings) -> AsyncIterator[Stores]:
    """Connects to the stores and the embedder and verifies them.

    Raises:
        NotReadyError: one is not as it must be, or did not answer within a minute.
    """
    redis = connect(settings.falkordb)
    embeddings = EmbeddingsClient(
        settings.embeddings,
        settings.embeddings_model,
        api_key=settings.embeddings_api_key.get_secret_value() if settings.embeddings_api_key else None,
    )
    qdrant_key = settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
    qdrant = AsyncQdrantClient(
        url=settings.qdrant,
        api_key=qdrant_key,
        timeout=30,
        check_compatibility=False,
        # Otherwise the client looks through every number that it sends for texts that it should embed itself.
        cloud_inference=True,
        limits=KEEP_ALIVE,
    )
    try:
        await until_answering(lambda: _verify_falkordb(redis))
        model = await until_answering(embeddings.probe)
        vectors = Vectors(qdrant, model)
        await until_answering(vectors.prepare)
        yield Stores(redis, embeddings, vectors)
    finally:
        await qdrant.close()
        await embeddings.aclose()
        await redis.aclose()


async def _verify_falkordb(redis: Redis) -> None:
    async with answering():
        faults = await falkordb_settings.verify(redis)
    if faults:
        raise NotReadyError(" ".join(faults))


async def until_answering(call: Callable[[], Awaitable[R]]) -> R:
    """What ``call`` returns, once the part it asks answers."""
    reason = ""
    try:
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            while True:
                try:
                    return await call()
                except TransientError as error:
                    reason = str(error)
                    await asyncio.sleep(0.25)
    except TimeoutError as error:
        raise NotReadyError(f"{reason} (tried for {CONNECT_SECONDS_MAX:.0f} s)") from error
