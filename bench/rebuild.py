"""Incidents a second that a memory is folded again from its log, beside the live one, vectors carried over.

    python -m bench.rebuild [--incidents 100000] [--broker kafka|tansu]

The log is written straight to the broker, the live generation folded from it with every text embedded; then a second
generation is folded, timed, with the vectors taken over by content hash, and both are compared line by line.
"""

import argparse
import asyncio
import time
from collections.abc import Iterator

from bench.machine import cpu_seconds, machine
from bench.throughput import event
from tests.rig import BrokerKind, Rig
from twiceshy.core.ids import event_id
from twiceshy.core.sequences import batched
from twiceshy.events.chain import Admission, EntryLogged, StampedSettings
from twiceshy.stores.graph import FIRST_GENERATION
from twiceshy.stream.codec import encode
from twiceshy.stream.outputs import Outputs
from twiceshy.stream.records import Output
from workers import collector
from workers.comparison import compare
from workers.connections import Stores
from workers.entrance import append, canonical_hash
from workers.rebuild import Fold

TENANT = "default"
GOAL_A_SECOND = 1_000
CHUNK_ENTRIES = 500
BEGINNING_MS = 1_767_225_600_000


def entries(count: int) -> Iterator[Output]:
    """The log of so many incidents of 1 kB, admitted one after the other."""
    for number in range(count):
        incident = event(number)
        body = encode(incident)
        yield append(
            EntryLogged(
                event_id=event_id(TENANT, "bench", str(number), body),
                tenant=TENANT,
                kind="incident",
                ce_source="bench",
                ce_id=str(number),
                revised_at=BEGINNING_MS + number,
                admitted_at=BEGINNING_MS + number,
                settings=StampedSettings(origin_trust=0.3),
                admission=Admission(how="clean"),
                content_hash=canonical_hash(incident),
                incident=incident,
            )
        )


async def measure(kind: BrokerKind, count: int) -> None:
    async with Rig(kind) as rig, rig.stores() as stores:
        collector.settle()
        outputs = Outputs(rig.settings, "bench")
        await outputs.start()
        for chunk in batched(entries(count), CHUNK_ENTRIES):
            await outputs.send(chunk)
        await outputs.stop()
        print(f"{kind}: {count} incidents of 1 kB, one tenant, wordllama 256-d; {machine()}")
        await _timed(rig, stores, FIRST_GENERATION, count, "folded, each text embedded")
        rate = await _timed(rig, stores, "g2", count, "folded beside it, vectors carried over")
        print(f"  goal: {GOAL_A_SECOND}; reached: {rate / GOAL_A_SECOND:.2f} of it")
        fold = Fold(rig.settings, stores, TENANT, "g2")
        found = await compare(stores, fold, TENANT, FIRST_GENERATION, "g2", lambda *_: None)
        print(f"  exports: {found.equal} lines equal, {found.live_alone + found.rebuilt_alone} in one alone")


async def _timed(rig: Rig, stores: Stores, generation: str, count: int, what: str) -> float:
    pids = {name: part.pid for name, part in rig.parts.items()}
    before = {name: cpu_seconds(pid) for name, pid in pids.items() if pid}
    started, own = time.perf_counter(), time.process_time()
    await Fold(rig.settings, stores, TENANT, generation).up_to()
    took = time.perf_counter() - started
    used = {name: (cpu_seconds(pid) - before[name]) for name, pid in pids.items() if pid}
    used["fold"] = time.process_time() - own
    each = ", ".join(f"{name} {seconds / count * 1_000:.2f}" for name, seconds in used.items())
    print(f"  {generation}, {what}: {count / took:.0f} a second, {took:.1f} s; processor ms an incident: {each}")
    return count / took


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--incidents", type=int, default=100_000)
    parser.add_argument("--broker", choices=("kafka", "tansu"), default="kafka")
    given = parser.parse_args()
    asyncio.run(measure(given.broker, given.incidents))
