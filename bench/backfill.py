"""How soon an incident of today can be recalled while a backfill runs: seconds from publish to found.

    python -m bench.backfill [--incidents 20000] [--broker kafka|tansu] [--every 5]

The backfill is published at once. Every few seconds an incident is published live, and asked for until it is found.
"""

import argparse
import asyncio
import time
from statistics import median

from bench.machine import machine
from bench.throughput import WORKERS, event
from tests.incidents import incident
from tests.rig import BrokerKind, Publisher, Rig
from twiceshy.client import IncidentPublisher, RecallClient
from twiceshy.stream.topics import TOPICS

GOAL_SECONDS = 2.0
CHUNK_EVENTS = 500


async def measure(kind: BrokerKind, count: int, every_seconds: float) -> None:
    async with Rig(kind) as rig:
        await rig.start_workers(*WORKERS[kind], "recall")
        async with Publisher(rig.settings) as backfill:
            started = time.perf_counter()
            sending = asyncio.create_task(_send(backfill, count))
            took = await _live(rig, sending, every_seconds)
            seconds = time.perf_counter() - started
    took.sort()
    print(f"{kind}: backfill of {count} incidents of 1 kB, one tenant, wordllama 256-d; {machine()}")
    print(f"  backfill: {count / seconds:.0f} a second, {seconds:.0f} s")
    print(
        f"  live, publish to recalled: median {median(took):.2f} s, worst of {len(took)} {took[-1]:.2f} s "
        f"(goal: {GOAL_SECONDS})"
    )


async def _send(backfill: Publisher, count: int) -> None:
    for first in range(0, count, CHUNK_EVENTS):
        events = [event(number) for number in range(first, min(first + CHUNK_EVENTS, count))]
        await backfill.send(events, topic=TOPICS.incidents_backfill)
    await backfill.until_all(seconds_max=3_600)


async def _live(rig: Rig, backfill: "asyncio.Task[None]", every_seconds: float) -> list[float]:
    took: list[float] = []
    async with IncidentPublisher(rig.settings) as publisher, RecallClient(rig.settings) as memory:
        while not backfill.done():
            number = len(took)
            title = f"Kiln {number} overheats at noon"
            started = time.perf_counter()
            await publisher.publish(incident(number, fingerprint=f"live/{number}", title=title))
            while True:
                reply = await memory.recall(tenant="default", query=title, deadline_ms=5_000)
                if any(found.title == title for found in reply.results):
                    break
            took.append(time.perf_counter() - started)
            await asyncio.sleep(every_seconds)
    backfill.result()
    return took


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--incidents", type=int, default=20_000)
    parser.add_argument("--broker", choices=("kafka", "tansu"), default="tansu")
    parser.add_argument("--every", type=float, default=5.0)
    given = parser.parse_args()
    asyncio.run(measure(given.broker, given.incidents, given.every))
