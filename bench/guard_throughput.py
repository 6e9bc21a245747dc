"""Events of 1 kB a second through all of guard, from a record as it came to the entry as it is produced.

    python -m bench.guard_throughput [--events 10000]

One core, Redis included, the broker apart: checks, scan, redaction, bursts, decision, and the entry's JSON, in batches
as `Delivery` makes them. Redis has a process of its own; what it takes is waited for. The goal is about a record that
is decoded: what it takes to read an incident from its JSON is measured beside it, by reading each once more.
"""

import argparse
import asyncio
import os
import time

import uvloop

from bench.machine import machine
from bench.throughput import event
from tests.guards import guard, verdict
from tests.memory import memory
from tests.records import NOW, Clock
from twiceshy.client.publisher import publication
from twiceshy.events.incident import IncidentConcluded
from twiceshy.settings import Settings
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.codec import decode
from twiceshy.stream.delivery import BATCH_ENTRIES_MAX
from twiceshy.stream.records import Record
from twiceshy.stream.signing import Signer
from workers import collector

GOAL_A_SECOND = 1_000
WARM_EVENTS = 500
TENANT = "default"


def run(events: int) -> None:
    """Prints how many events a second, and where the time went. The loop is the one that workers have."""
    uvloop.install()
    asyncio.run(measure(events))


def published(number: int, signer: Signer) -> Record:
    """The record of an event as a client publishes it."""
    _, output = publication(event(number), signer, changed_at=None, backfill=False)
    return Record(output.topic, output.partition, number, output.key, output.value, dict(output.headers), NOW)


async def measure(events: int) -> None:
    signer = Signer(Settings())
    records = [published(number, signer) for number in range(events + WARM_EVENTS)]
    async with memory() as stores:
        await Quarantine(stores.stores.redis).prepare()
        stage = guard(stores, Clock(), TENANT, burst={"max_per_origin": 1_000_000})
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
        await stage.handle([stage.decode(one) for one in records[:WARM_EVENTS]])
        collector.settle()
        admitted, reading, judging, took = 0, 0.0, 0.0, 0.0
        for first in range(WARM_EVENTS, len(records), BATCH_ENTRIES_MAX):
            batch = records[first : first + BATCH_ENTRIES_MAX]
            began = time.perf_counter()
            for one in batch:
                decode(one, IncidentConcluded)
            read = time.perf_counter()
            judged = [stage.decode(one) for one in batch]
            decided = time.perf_counter()
            admitted += sum(verdict(outputs) == "admit" for outputs in await stage.handle(judged))
            reading, judging, took = reading + read - began, judging + decided - read, took + time.perf_counter() - read
    print(f"  {events / (took - reading):.0f} events of 1 kB a second, decoded (goal: {GOAL_A_SECOND})")
    print(f"  {events / took:.0f} a second with their JSON read, {admitted} of {events} admitted")
    each = {"in all": took, "reading": reading, "check, scan and redact": judging - reading, "the rest": took - judging}
    print("  ms each:", ", ".join(f"{what} {1_000 * seconds / events:.2f}" for what, seconds in each.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000)
    events = parser.parse_args().events
    print(f"guard, from record to entry; {machine()}")
    run(events)


if __name__ == "__main__":
    main()
