"""What quarantine costs: holding items, listing them, deciding on a group of 500, expiring, and putting back.

    python -m bench.quarantine [--items 1000]

Items of 1 kB in a real FalkorDB. Guard's stages are called without a broker; what they send is made and not sent.
"""

import argparse
import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from bench.machine import machine
from tests.held import SUBJECT, about, carried_out, deciding, decision, item
from tests.memory import memory
from tests.records import NOW, Clock
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.records import Output
from workers.guard_sweep import Sweep
from workers.review import reviewed

TENANT = "default"
GROUP = {"origin": "pagerduty", "subject": SUBJECT}

T = TypeVar("T")


class Nowhere:
    """Takes what is sent, and sends it nowhere."""

    async def send(self, outputs: Sequence[Output]) -> list[int]:
        return [0] * len(outputs)


async def timed(doing: str, work: Callable[[], Awaitable[T]]) -> T:
    started = time.perf_counter()
    result = await work()
    print(f"  {doing}: {time.perf_counter() - started:.2f} s")
    return result


async def measure(count: int) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    async with memory() as stores:
        redis, clock = stores.stores.redis, Clock()
        quarantine = Quarantine(redis)
        await quarantine.prepare()
        items = [item(number, TENANT, expires_at=NOW + 1) for number in range(count)]
        size = len(items[0].model_dump_json(exclude_defaults=True))
        print(f"quarantine of {count} items of {size} bytes; {machine()}")

        async def hold() -> None:
            for start in range(0, count, 100):
                await quarantine.hold(items[start : start + 100])

        await timed(f"hold {count}", hold)
        graph = stores.graphs.of(TENANT)

        async def look() -> None:
            await reviewed(graph, await quarantine.items(TENANT))

        await timed(f"list {count} with what memory knows of each", look)
        stage = deciding(stores, clock, TENANT)
        approval = decision(about(TENANT, "approve", group=GROUP))
        outputs = await timed("approve 500 by group", lambda: carried_out(stage, approval))
        print(f"    records to send: {len(outputs)}, of {sum(len(o.value or b'') for o in outputs) / 1e6:.1f} MB")
        await timed("the same decision, redelivered", lambda: carried_out(stage, approval))
        clock.now += 1_000

        async def complete() -> None: ...

        sweep = Sweep(quarantine, Decisions(redis), Nowhere(), complete, clock)

        async def expire() -> None:
            while await sweep.sweep():
                pass

        await timed(f"expire {count - 500}", expire)
        standing = await quarantine.items(TENANT)
        await redis.delete("twiceshy:quarantine")
        await quarantine.prepare()

        async def put_back() -> None:
            for start in range(0, count, 100):
                await quarantine.put_back(standing[start : start + 100])

        await timed(f"put {count} back", put_back)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=1_000)
    asyncio.run(measure(parser.parse_args().items))


if __name__ == "__main__":
    main()
