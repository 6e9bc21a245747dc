"""Fixtures that several kinds of tests share."""

import contextlib
import os
from collections.abc import AsyncIterator, Iterator

import orjson
import pytest
import structlog
from hypothesis import settings

from tests.incidents import NO_BURSTS
from twiceshy.local.stack import Stack

settings.register_profile("quick", max_examples=100, deadline=None)
settings.register_profile("thorough", max_examples=250, deadline=None)
settings.load_profile("thorough" if os.environ.get("CI") == "true" else "quick")

SIDE_BY_SIDE = 2
"""So many files at once when all tests are run: most of the time a test waits, and two cores are not too few."""

LONGEST = (
    "tests/faults/test_kills.py",
    "tests/unit/core/test_histories.py",
    "tests/faults/",
    "tests/integration/",
)
"""What takes long is begun first, so that it is not left alone at the end."""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Files or tests that are named are run in this process, which starts sooner than others would."""
    return SIDE_BY_SIDE if config.args_source is pytest.Config.ArgsSource.TESTPATHS else 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    return next((place for place, path in enumerate(LONGEST) if item.nodeid.startswith(path)), len(LONGEST))


@pytest.fixture(scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """An embedded stack. Tests of one module keep apart by using incidents, or tenants, of their own.

    There is none for the whole session: one that has nothing to do still takes a quarter of a core. Together
    the tests publish so many incidents that are alike that guard would take them for a burst.
    """
    async with contextlib.AsyncExitStack() as exits:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("TWICESHY_BURST", orjson.dumps(NO_BURSTS).decode())
            running = await exits.enter_async_context(Stack(tmp_path_factory.mktemp("stack"), current=False))
        yield running


@pytest.fixture(autouse=True)
def _logs_as_configured_by_nobody() -> Iterator[None]:
    """Commands that a test runs in this process send the logs to a stream that is closed when the test ends."""
    yield
    structlog.reset_defaults()
