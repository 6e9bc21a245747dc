"""Events a second of one tenant, from publish to recallable, and the processor time that each part costs for it.

    python -m bench.throughput [--events 10000] [--broker kafka|tansu]

On Apache Kafka each worker has a process of its own, as in production; on Tansu all are in one, as in the
embedded stack. Both run on this machine together with everything else, so the parts share its cores.

Guard does all that it does by default, but for how many incidents an hour one origin may have (``max_per_origin``). No
more than five are about the same, so that none is a burst of its subject.
"""

import argparse
import asyncio
import time

from bench.machine import cpu_seconds, machine
from tests.incidents import incident
from tests.rig import BrokerKind, Publisher, Rig
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stream.codec import encode

EVENT_BYTES = 1_000
CHUNK_EVENTS = 500
WARM_EVENTS = 200
GOAL_A_SECOND = 400
SERVICES = 2_500
WORKERS: dict[BrokerKind, tuple[str, ...]] = {
    "kafka": ("guard", "graph", "lesson", "consolidate", "embed"),
    "tansu": ("chain",),
}


def event(number: int) -> IncidentConcluded:
    """An incident of 1 kB: the seeded one, about one of 2,500 services, its title and details in words of its own."""
    seeded = incident(number)
    service = word(number % SERVICES)
    facts = tuple(fact.model_copy(update={"subject": f"{fact.subject}-{service}"}) for fact in seeded.facts)
    plain = seeded.model_copy(update={"facts": facts, "title": f"{word(number)}: {seeded.title}"})
    missing = EVENT_BYTES - len(encode(plain)) - len(',"details":""')
    words = " ".join(f"{plain.title} {number * 7919 + step}" for step in range(20))
    return plain.model_copy(update={"details": words[: max(1, missing)]})


def word(number: int) -> str:
    """A number in letters: numbers alone do not make two titles differ to guard."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


async def measure(kind: BrokerKind, events: int) -> None:
    published = [event(number) for number in range(events)]
    size = sum(len(encode(each)) for each in published) / events
    async with Rig(kind, burst={"max_per_origin": 1_000_000}) as rig:
        await rig.start_workers(*WORKERS[kind])
        async with Publisher(rig.settings) as publisher:
            await publisher.send([event(number) for number in range(events, events + WARM_EVENTS)])
            await publisher.until_all()
            pids = {name: part.pid for name, part in {**rig.workers, **rig.parts}.items()}
            if rig.kafka is not None:
                pids["broker"] = rig.kafka.pid
            before = {name: cpu_seconds(pid) for name, pid in pids.items() if pid}
            started = time.perf_counter()
            for first in range(0, events, CHUNK_EVENTS):
                await publisher.send(published[first : first + CHUNK_EVENTS])
            sent = time.perf_counter() - started
            await publisher.until_all(seconds_max=600)
            took = time.perf_counter() - started
            after = {name: cpu_seconds(pid) for name, pid in pids.items() if pid}
    goal = f" (goal: {GOAL_A_SECOND})" if kind == "kafka" else ""
    print(f"{kind}: {events} events of {size:.0f} bytes, one tenant, wordllama 256-d, warm; {machine()}")
    print(f"  {events / took:.0f} events a second{goal}, {took:.1f} s in all, of which published within {sent:.1f} s")
    for name in after:
        cost = after[name] - before[name]
        print(f"  {name:12} {cost:6.1f} s of processor time, {1_000 * cost / events:.2f} ms an event")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--broker", choices=("kafka", "tansu"))
    arguments = parser.parse_args()
    kinds: tuple[BrokerKind, ...] = (arguments.broker,) if arguments.broker else ("kafka", "tansu")
    for kind in kinds:
        await measure(kind, arguments.events)


if __name__ == "__main__":
    asyncio.run(main())
