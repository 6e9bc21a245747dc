"""Guard's ground: real stores with an empty quarantine, a clock that stands, and a tenant of the test's own."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from tests.memory import Memory, memory
from tests.records import Clock
from twiceshy.stores.quarantine import Quarantine


@pytest.fixture(scope="module", name="stores")
async def _stores() -> AsyncIterator[Memory]:
    async with memory() as running:
        await Quarantine(running.stores.redis).prepare()
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tenant() -> str:
    """One of the test's own, so that its admissions are."""
    return f"t-{uuid4().hex[:8]}"
