"""``kill -9`` in the middle of everything: nothing is lost, nothing is there twice, and the memory is the same."""

import asyncio
import random

import pytest

from tests.incidents import incident
from tests.rig import BrokerKind, Publisher, Rig
from twiceshy.events.incident import IncidentConcluded

SEED = 20261130
UNDER_WAY = 120


def events(count: int) -> list[IncidentConcluded]:
    """Incidents of which every seventh is corrected later, and every eleventh published again as it was."""
    made: list[IncidentConcluded] = []
    for number in range(count):
        made.append(incident(number))
        if number % 7 == 6:
            made.append(
                incident(
                    number - 3,
                    summary="It was worse than we thought.",
                    concluded_at=incident(count + number).concluded_at,
                )
            )
        if number % 11 == 10:
            made.append(incident(number - 5))
    return made


async def run(
    kind: BrokerKind, workers: tuple[str, ...], published: list[IncidentConcluded], kills: int
) -> list[bytes]:
    """Publishes everything to one input partition while workers are killed, and exports the memory."""
    chance = random.Random(SEED)
    async with Rig(kind) as rig:
        await rig.start_workers(*workers)
        async with Publisher(rig.settings) as publisher:
            share = len(published) // max(1, kills)
            for number in range(kills):
                await publisher.send(published[number * share : (number + 1) * share])
                await asyncio.sleep(chance.uniform(0.0, 0.4))
                name = chance.choice(workers)
                await rig.kill(name)
                await rig.workers[name].start()
            await publisher.send(published[kills * share :])
            await publisher.until_all(seconds_max=300)
            told = {(outcome.event_id, outcome.outcome) for outcome in publisher.outcomes}
            assert len(told) == len(publisher.sent), "an event had two different outcomes"
            assert {outcome for _, outcome in told} <= {"remembered", "reaffirmed", "corrected", "stale"}
        return await rig.export("default", system_time=False)


@pytest.mark.parametrize(
    ("kind", "workers", "kills"),
    [
        ("kafka", ("guard", "graph", "lesson", "consolidate", "embed"), 20),
        ("tansu", ("chain",), 3),
    ],
)
async def test_killed_workers_lose_nothing_and_double_nothing(
    kind: BrokerKind, workers: tuple[str, ...], kills: int
) -> None:
    """The memory is that of a chain which nothing disturbs, whatever its broker and however many processes it is."""
    published = events(kills * UNDER_WAY)
    killed = await run(kind, workers, published, kills)
    assert killed == await run("tansu", ("chain",), published, kills=0)
