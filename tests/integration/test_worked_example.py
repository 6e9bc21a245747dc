"""The worked example of two time axes, and the cases that a naive rule gets wrong, through the broker and recall."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import pytest

from tests.rig import Rig
from twiceshy.client import IncidentPublisher, MemoryCommands, OutcomeFollower, RecallClient
from twiceshy.events.incident import IncidentConcluded

OUTCOME_SECONDS_MAX = 60.0
DEADLINE_MS = 20_000
INSTANT = timedelta(milliseconds=1)


def day(number: float) -> datetime:
    """World time of these tests is in days."""
    return datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=number)


class Told:
    """Publishes facts, as anyone would, and asks what held: ``known_at`` is what an outcome said."""

    def __init__(self, rig: Rig) -> None:
        self._exit = AsyncExitStack()
        self._publisher = IncidentPublisher(rig.settings)
        self._follower = OutcomeFollower(rig.settings)
        self._memory = RecallClient(rig.settings)
        self._commands = MemoryCommands(rig.settings)

    async def __aenter__(self) -> Self:
        for part in (self._follower, self._publisher, self._memory, self._commands):
            await self._exit.enter_async_context(part)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exit.aclose()

    async def say(
        self, who: str, incident: str, *facts: dict[str, Any], origin: str = "pagerduty", at: float = 1
    ) -> datetime:
        """When memory learned it. ``at`` is the day of the revision."""
        body = {
            "tenant": "default",
            "fingerprint": f"{who}/{incident}",
            "title": f"What {incident} told of {who}",
            "concluded_at": day(0),
            "origin": {"name": origin},
            "facts": [{"subject": who, "predicate": "works_at", **fact} for fact in facts],
        }
        event_id = await self._publisher.publish(IncidentConcluded.model_validate(body), changed_at=day(at))
        return await self._learned(event_id)

    async def purge(self, origin: str) -> datetime:
        event_id = await self._commands.invalidate_by_origin(
            tenant="default", origin=origin, who="tests", why="it lied"
        )
        return await self._learned(event_id)

    async def held(self, who: str, event: float, known_at: datetime | None = None) -> list[str]:
        reply = await self._memory.at(
            "default", who, "works_at", as_of=day(event), known_at=known_at, deadline_ms=DEADLINE_MS
        )
        assert reply.status == "ok", reply
        return [fact.object for fact in reply.facts]

    async def trust(self, who: str) -> float:
        reply = await self._memory.at("default", who, "works_at", deadline_ms=DEADLINE_MS)
        return reply.facts[0].trust

    async def versions(self, who: str) -> int:
        return len((await self._memory.history("default", who, "works_at", deadline_ms=DEADLINE_MS)).versions)

    async def _learned(self, event_id: str) -> datetime:
        [outcome] = (await self._follower.outcomes([event_id], OUTCOME_SECONDS_MAX)).values()
        assert outcome.outcome in ("remembered", "corrected", "applied"), outcome
        assert outcome.known_at is not None
        return outcome.known_at


def fact(said: str, start: float, end: float | None = None, **told: Any) -> dict[str, Any]:
    return {"object": said, "valid_from": day(start), "valid_to": None if end is None else day(end), **told}


@pytest.fixture(scope="module")
async def told(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Told]:
    secret = tmp_path_factory.mktemp("keys") / "tests.key"
    secret.write_text("x" * 32)
    everybody = {"secret": f"file:{secret}", "tenants": "*", "origins": "*", "commands": "*"}
    async with Rig(
        "kafka", origins={"curated": {"trust": 0.9}}, credentials={"tests": everybody}, credential="tests"
    ) as rig:
        await rig.start_workers("chain", "recall")
        async with Told(rig) as ready:
            yield ready


async def test_worked_example(told: Told) -> None:
    acme = await told.say("alice", "first", fact("acme", 100))
    beta = await told.say("alice", "second", fact("beta", 200))
    gamma = await told.say("alice", "late news", fact("gamma", 150))

    assert await told.held("alice", 120, gamma) == ["acme"]
    assert await told.held("alice", 180, gamma) == ["gamma"]
    assert await told.held("alice", 180, gamma - INSTANT) == ["acme"]
    assert await told.held("alice", 250, beta - INSTANT) == ["acme"]
    assert await told.held("alice", 250, gamma) == ["beta"]
    assert await told.held("alice", 250, acme - INSTANT) == []


async def test_correction_to_an_earlier_start_leaves_nothing_of_what_it_corrects(told: Told) -> None:
    await told.say("bob", "first", fact("acme", 100))
    await told.say("bob", "second", fact("beta", 200))
    before = await told.say("bob", "late news", fact("delta", 120, 130))
    await told.say("bob", "second", fact("gamma", 150), at=2)

    assert await told.held("bob", 250) == ["gamma"]
    assert await told.held("bob", 250, before) == ["beta"]


async def test_bounded_statement_takes_nothing_back_and_nothing_holds_from_where_that_is_said(told: Told) -> None:
    await told.say("carol", "first", fact("acme", 100))
    await told.say("carol", "second", fact("acme", 100, 300))
    assert await told.held("carol", 400) == ["acme"]

    await told.say("carol", "third", fact("acme", 300, holds=False))
    assert await told.held("carol", 400) == []
    assert await told.held("carol", 299) == ["acme"]


async def test_the_same_said_again_makes_no_version(told: Told) -> None:
    await told.say("dave", "first", fact("acme", 100))
    await told.say("dave", "second", fact("acme", 160))

    assert await told.versions("dave") == 1
    assert await told.held("dave", 250) == ["acme"]


async def test_what_another_one_says_too_outlives_a_purge_with_the_trust_of_that_one(told: Told) -> None:
    await told.say("erin", "first", fact("acme", 100), origin="curated")
    known = await told.say("erin", "second", fact("acme", 160))
    await told.say("frank", "first", fact("acme", 100), origin="curated")
    assert await told.trust("erin") == 0.9

    await told.purge("curated")

    assert await told.held("erin", 250) == ["acme"]
    assert await told.trust("erin") == 0.3
    assert await told.held("frank", 250) == []
    assert await told.held("frank", 250, known) == []
