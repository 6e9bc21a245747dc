"""Each store and the embedder away in turn: recall says what it could not reach, and nothing published is lost."""

import asyncio
import time

import pytest

from tests.incidents import incident
from tests.rig import Publisher, Rig
from twiceshy.client import RecallClient
from twiceshy.events.recall import RecallReplied

FILL_SECONDS_MAX = 60.0
BACK_SECONDS_MAX = 30.0


@pytest.fixture(scope="module", name="rig")
async def _rig():  # type: ignore[no-untyped-def]
    async with Rig("tansu") as rig:
        await rig.start_workers("chain", "recall")
        async with Publisher(rig.settings) as publisher:
            await publisher.send([incident(number) for number in range(40)])
            await publisher.until_all()
        yield rig


@pytest.mark.parametrize(
    ("part", "missing", "first"),
    [
        ("embedder", {"semantic"}, 100),
        ("vectors", {"semantic", "lexical"}, 200),
        ("falkordb", {"graph"}, 300),
    ],
)
async def test_a_part_that_is_away_costs_its_legs_and_no_event(
    rig: Rig, part: str, missing: set[str], first: int
) -> None:
    published = [incident(number) for number in range(first, first + 20)]
    async with Publisher(rig.settings) as publisher, RecallClient(rig.settings) as client:
        await rig.kill(part)
        await publisher.send(published)
        reply = await client.recall(
            tenant="default", query="checkout times out", entities=["service:checkout"], deadline_ms=2_000
        )
        assert reply.status == "ok"
        assert reply.partial
        assert {name for name, leg in reply.legs.items() if leg.status in ("error", "timeout")} == missing
        await rig.parts[part].start()
        await publisher.until_all()
        assert {outcome.outcome for outcome in publisher.outcomes if outcome.event_id in publisher.sent} == {
            "remembered"
        }
        await until_no_vector_is_missing(rig)
        reply = await whole_reply(client, published[7].title)
        assert published[7].fingerprint in [found.fingerprint for found in reply.results]


async def whole_reply(client: RecallClient, query: str) -> RecallReplied:
    """The first reply that lacks no leg: a part that was away a moment ago is not asked at once."""
    async with asyncio.timeout(BACK_SECONDS_MAX):
        while (reply := await client.recall(tenant="default", query=query, deadline_ms=5_000)).partial:
            await asyncio.sleep(0.2)
    return reply


async def until_no_vector_is_missing(rig: Rig) -> None:
    deadline = time.monotonic() + FILL_SECONDS_MAX
    async with rig.stores() as stores:
        while await stores.vectors.missing(1):
            assert time.monotonic() < deadline, "a vector is still missing"
            await asyncio.sleep(0.2)
