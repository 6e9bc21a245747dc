"""As-of answers: how many are right, and what one costs in the core and in the graph.

    python -m bench.asof [--data temporal.jsonl] [--things 10000] [--skip-graph]

Prints three parts. **Right**: SituatedQA and YAGO15k answered by the core, beside a memory that always gives the latest
value and one that overwrites in place, the facts arriving as they are filed and shuffled; and what the core misses.
**Core**: processor time of an as-of over the ten versions of a slot, and of belief over a growing history.
**Graph**: milliseconds of a current, an as-of and a both-axes read of FalkorDB, before and after its expired versions
are gone (`bench.asof_graph`). Starts what it needs; without the public data the first part is left out.
"""

import argparse
import asyncio
import math
import random
import statistics
import timeit
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import TypeAlias

from bench.asof_graph import measure
from bench.machine import machine
from bench.temporal_data import TEMPORAL, Answers, Collection, Fact, always_latest, core, overwriting, read_collections
from twiceshy.core.temporal import FOREVER, Observation, Version, answer, believed

GOALS = {"situatedqa": 0.94, "yago15k": 0.99}
VERSIONS = 10
ANSWER_US_MAX = 5.0
ANSWERS_TIMED = 20_000
HISTORIES = (1_000, 10_000, 100_000)
REPEATS = 5

System: TypeAlias = Callable[[Sequence[Fact]], Answers]


def arrivals(collection: Collection) -> dict[str, list[Fact]]:
    """The facts in the order in which they are filed, which is that of their starts, and in no order."""
    filed = list(collection.facts)
    return {"as filed": filed, "shuffled": random.Random(1).sample(filed, len(filed))}


def accuracy(collection: Collection) -> None:
    systems: dict[str, System] = {
        "believed": partial(core, many_valued=collection.many_valued),
        "always the latest": always_latest,
        "overwritten in place": overwriting,
    }
    questions, kinds = collection.questions, Counter(question.kind for question in collection.questions)
    places = len({fact.place for fact in collection.facts})
    print(f"{collection.name}: {len(questions)} questions on {places} places, {len(collection.facts)} facts", end="")
    print(f" (goal: {GOALS[collection.name]:.2f} of believed)")
    heads = {kind: f"{kind} ({count})" for kind, count in kinds.items()}
    print(f"  {'':34}{'right':>6} {'share':>6}   {'   '.join(heads.values())}")
    for order, facts in arrivals(collection).items():
        for name, system in systems.items():
            answers = system(facts)
            right = [question for question in questions if collection.right(question, answers(question))]
            of_kind = Counter(question.kind for question in right)
            shares = "   ".join(f"{of_kind[kind] / kinds[kind]:{len(head)}.3f}" for kind, head in heads.items())
            print(f"  {name + ', ' + order:34}{len(right):6} {len(right) / len(questions):6.3f}   {shares}")
    misses(collection, systems["believed"](collection.facts))


def misses(collection: Collection, answers: Answers) -> None:
    wrong = [q for q in collection.questions if not collection.right(q, answers(q))]
    why = Counter((collection.miss(question, answers(question)), question.kind) for question in wrong)
    for (reason, kind), count in sorted(why.items()):
        print(f"    missed by believed: {count:3} of {kind}, {reason}")


def versions_of_a_slot() -> tuple[Version, ...]:
    return tuple(
        Version(
            slot="service:payments/pool_size",
            object=f"{number}",
            t_valid=number * 100,
            t_invalid=FOREVER if number == VERSIONS - 1 else number * 100 + 100,
            t_created=number * 100 + 5,
            founder=f"pagerduty/{number}",
            event_id=f"{number}",
        )
        for number in range(VERSIONS)
    )


def core_answers() -> None:
    versions = versions_of_a_slot()
    taken = []
    for event_time in range(50, VERSIONS * 100, 100):
        ask = partial(answer, versions, event_time, FOREVER - 1)
        seconds = min(timeit.repeat(ask, timer=process_time, number=ANSWERS_TIMED, repeat=REPEATS))
        taken.append(seconds / ANSWERS_TIMED * 1e6)
    print(f"an as-of over the {VERSIONS} versions of a slot, best of {REPEATS} x {ANSWERS_TIMED}:", end=" ")
    print(f"mean {statistics.mean(taken):.2f} µs, of the last of them {max(taken):.2f} µs (goal: {ANSWER_US_MAX:g} µs)")


def history(size: int) -> list[Observation]:
    """Of a slot, in no order: a third open, the others with an end."""
    chance = random.Random(size)
    said = []
    for number in range(size):
        start = chance.randrange(size * 10)
        said.append(
            Observation(
                slot="service:payments/pool_size",
                object=f"{chance.randrange(size)}",
                holds=chance.random() < 0.9,
                valid_from=start,
                valid_to=FOREVER if chance.random() < 1 / 3 else start + chance.randrange(1, 1_000),
                incident=f"pagerduty/{number}",
                revised_at=number,
                event_id=f"{number:08}",
                trust=0.3,
                confidence=1.0,
                t_created=number,
            )
        )
    return said


def core_belief() -> None:
    print(f"belief over a history, best of {REPEATS}")
    before: tuple[int, float] | None = None
    for size in HISTORIES:
        said = history(size)
        taken = min(timeit.repeat(partial(believed, said), timer=process_time, number=1, repeat=REPEATS))
        print(f"  {size:7,} observations {taken * 1e3:8.2f} ms, {taken / size * 1e6:5.2f} µs each", end="")
        if before:
            times = size / before[0]
            log_times = times * math.log(size) / math.log(before[0])
            print(f": {taken / before[1]:5.1f} times the time (n log n: {log_times:.1f}, n²: {times**2:.0f})", end="")
        print()
        before = size, taken


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=TEMPORAL)
    parser.add_argument("--things", type=int, default=10_000)
    parser.add_argument("--skip-graph", action="store_true")
    arguments = parser.parse_args()
    print(machine())
    if arguments.data.exists():
        for collection in read_collections(arguments.data):
            accuracy(collection)
    else:
        print("The public questions as of a time are not on this machine, so no share of right answers.")
    core_answers()
    core_belief()
    if not arguments.skip_graph:
        await measure(arguments.things)


if __name__ == "__main__":
    asyncio.run(main())
