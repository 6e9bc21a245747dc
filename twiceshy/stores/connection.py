"""The one connection to FalkorDB, which is a Redis as well. Its errors become ours here."""

import contextlib
from collections.abc import AsyncIterator

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from twiceshy.errors import TransientError

_PASSING = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.BusyLoadingError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    OSError,
)


def connect(url: str, connections_max: int = 16) -> Redis:
    """A client whose pool waits for a free connection instead of raising when all are taken."""
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=connections_max,
        timeout=10,
        socket_timeout=65,
        socket_connect_timeout=5,
        decode_responses=True,
        protocol=2,
        retry=Retry(NoBackoff(), 0),  # who calls decides whether to wait
    )
    return Redis(connection_pool=pool)


@contextlib.asynccontextmanager
async def answering() -> AsyncIterator[None]:
    """Turns what passes (a server that is away, loading, full or demoted) into TransientError."""
    try:
        yield
    except _PASSING as error:
        raise TransientError(f"FalkorDB does not answer: {error}") from error
