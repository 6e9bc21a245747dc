"""A memory folded anew beside the live one, killed and gone on with, and switched to while it is asked."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.incidents import incident
from tests.rig import Publisher, Rig
from twiceshy.client import MemoryCommands, OutcomeFollower, RecallClient
from twiceshy.events.recall import RecallReplied
from twiceshy.stores.generations import Generations, Pointers

INCIDENTS = 300
COMMAND_SECONDS_MAX = 180.0


@pytest.fixture(scope="module", name="rig")
async def _rig() -> AsyncIterator[Rig]:
    async with Rig("tansu") as started:
        await started.start_workers("chain", "recall")
        yield started


async def test_generation_is_rebuilt_after_a_kill_and_switched_to_and_back_while_recall_answers(rig: Rig) -> None:
    async with Publisher(rig.settings) as publisher:
        await publisher.send([incident(number) for number in range(INCIDENTS)])
        await publisher.until_all()
        await _correct(rig)
        await _killed_on_the_way(rig)
        # What comes while nobody folds is caught up with.
        await publisher.send([incident(number, title="Said anew") for number in range(10)])
        await publisher.until_all()

        rebuilt = await _run(rig, "rebuild")
        assert "are those of the live one" in rebuilt

        async with _asked_throughout(rig) as answers:
            await _run(rig, "switch", "g2")
            assert Pointers("g2", "g2") == await _pointers(rig)
            assert {"g1", "g2"} == {answer.generation for answer in answers if answer.generation}
            await publisher.send([incident(number) for number in range(INCIDENTS, INCIDENTS + 10)])
            await publisher.until_all()

            await _run(rig, "switch", "g1")
            assert Pointers("g1", "g1") == await _pointers(rig)
        assert all(answer.results and not answer.partial for answer in answers)
    again = await _run(rig, "rebuild", "--generation", "g2")
    assert "are those of the live one" in again
    await _run(rig, "drop", "g2")


async def test_switch_to_what_was_never_built_is_refused_with_the_way_to_build_it(rig: Rig) -> None:
    process = await rig.command("switch", "g9")
    told, _ = await asyncio.wait_for(process.communicate(), COMMAND_SECONDS_MAX)
    assert process.returncode == 1
    assert "twiceshy generations" in told.decode()
    assert Pointers() == await _pointers(rig)


async def test_fold_of_nothing_is_empty_and_what_was_never_built_cannot_be_dropped(rig: Rig) -> None:
    assert await _run(rig, "fold", "--tenant", "public") == ""
    process = await rig.command("drop", "g9")
    told, _ = await asyncio.wait_for(process.communicate(), COMMAND_SECONDS_MAX)
    assert process.returncode == 1
    assert "twiceshy generations" in told.decode()


async def _correct(rig: Rig) -> None:
    """Commands of every kind that changes what a fold has to come to."""
    about: dict[str, Any] = {"tenant": "default", "who": "tests", "why": "tests"}
    async with OutcomeFollower(rig.settings) as follower, MemoryCommands(rig.settings) as commands:
        ids = [
            await commands.alias(canonical="checkout", alias="search", **about),
            await commands.invalidate_by_origin(origin="statuspage", **about),
            await commands.unalias(canonical="checkout", alias="search", **about),
            await commands.alias(canonical="ledger", alias="mailer", **about),
        ]
        outcomes = await follower.outcomes(ids, timeout_seconds=60)
        assert {"applied"} == {outcome.outcome for outcome in outcomes.values()}
        known_at = outcomes[ids[1]].known_at
        assert known_at is not None
        compacted = await commands.compact(before=known_at, **about)
        assert (await follower.outcomes([compacted], timeout_seconds=60))[compacted].outcome == "applied"


async def _killed_on_the_way(rig: Rig) -> None:
    process = await rig.command("rebuild")
    async with rig.stores() as stores:
        while not await Generations(stores.redis).others("default"):
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)
    process.kill()
    await process.wait()


@contextlib.asynccontextmanager
async def _asked_throughout(rig: Rig) -> AsyncIterator[list[RecallReplied]]:
    """Asks the memory all the time; every answer."""
    answers: list[RecallReplied] = []
    stopping = asyncio.Event()

    async def ask() -> None:
        async with RecallClient(rig.settings) as memory:
            while not stopping.is_set():
                answers.append(
                    await memory.recall(tenant="default", query="ledger is slow, pool too small", deadline_ms=20_000)
                )

    asking = asyncio.create_task(ask())
    try:
        while not answers:
            await asyncio.sleep(0.05)
            if asking.done():
                asking.result()
        yield answers
    finally:
        stopping.set()
        await asking


async def _run(rig: Rig, *arguments: str) -> str:
    process = await rig.command(*arguments)
    told, _ = await asyncio.wait_for(process.communicate(), COMMAND_SECONDS_MAX)
    assert process.returncode == 0, told.decode()
    return told.decode()


async def _pointers(rig: Rig) -> Pointers:
    async with rig.stores() as stores:
        return await Generations(stores.redis).of("default")
