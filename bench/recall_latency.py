"""Milliseconds from a question to its reply, at the caller, over 694 public post-mortems; and where they go.

    twiceshy up                                   in another terminal
    python -m bench.recall_latency [--questions 500] [--tenant public]

Asks the running stack, one question after the other. Publishes the post-mortems first, as backfill, when the
tenant does not have them. They lie beside a developer's checkout: without them there is nothing to measure.
"""

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.machine import machine
from tests.memory import read_incidents
from twiceshy import IncidentPublisher, OutcomeFollower, RecallClient
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.recall import RecallReplied
from twiceshy.settings import Settings

EVENTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "incidents" / "events.jsonl"
GOAL_MS = 25.0
DEADLINE_MS = 10_000
QUESTION_CHARS_MAX = 300
WARM_QUESTIONS = 30
FOLLOW_SECONDS_MAX = 600.0
PARTS = ("queue", "watermark", "embedding", "semantic", "lexical", "graph", "fusion", "hydrate")
"""The legs run side by side; the semantic one begins when the question is embedded."""


def questions(incidents: Sequence[IncidentConcluded], count: int) -> list[str]:
    """Different questions: the first sentence that an incident says of itself, else its title."""
    told = ((incident.summary or incident.title).split(". ")[0][:QUESTION_CHARS_MAX] for incident in incidents)
    titles = (incident.title for incident in incidents)
    different = list(dict.fromkeys(text.strip() for text in (*told, *titles) if text.strip()))
    return random.Random(1).sample(different, min(count, len(different)))


async def load(settings: Settings, client: RecallClient, tenant: str, incidents: Sequence[IncidentConcluded]) -> None:
    """Publishes the incidents and waits until all can be recalled, unless the tenant has them."""
    probe = incidents[0]
    reply = await client.recall(tenant=tenant, query=probe.title, deadline_ms=DEADLINE_MS)
    if probe.fingerprint in [episode.fingerprint for episode in reply.results]:
        return
    print(f"publishing {len(incidents)} incidents to {tenant} …", flush=True)
    async with OutcomeFollower(settings) as follower, IncidentPublisher(settings) as publisher:
        of_tenant = [incident.model_copy(update={"tenant": tenant}) for incident in incidents]
        event_ids = await publisher.publish_many(of_tenant, backfill=True)
        await follower.outcomes(event_ids, FOLLOW_SECONDS_MAX)


def quantiles(milliseconds: Sequence[float]) -> str:
    cuts = statistics.quantiles(milliseconds, n=100, method="inclusive")
    return f"median {cuts[49]:7.2f}   p95 {cuts[94]:7.2f}   p99 {cuts[98]:7.2f}   most {max(milliseconds):7.2f}"


def report(asked: Sequence[tuple[float, RecallReplied]]) -> None:
    whole = [(took, reply) for took, reply in asked if reply.status == "ok" and not reply.partial]
    results = statistics.mean(len(reply.results) for _, reply in whole)
    size = statistics.median(len(reply.model_dump_json(exclude_defaults=True)) for _, reply in whole)
    print(f"{len(asked)} questions, {len(asked) - len(whole)} of them partial or not answered; ", end="")
    print(f"{results:.1f} results and {size / 1_000:.0f} kB a reply")
    print(f"  {'at the caller':16} {quantiles([took for took, _ in whole])}   (goal: median {GOAL_MS:g})")
    print(f"  {'in the worker':16} {quantiles([reply.took_ms for _, reply in whole])}")
    for part in PARTS:
        print(f"    {part:14} {quantiles([reply.parts_ms.get(part, 0.0) for _, reply in whole])}")
    print(f"  {'on the way':16} {quantiles([took - reply.took_ms for took, reply in whole])}")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--tenant", default="public")
    arguments = parser.parse_args()
    if not EVENTS.exists():
        sys.exit("The public post-mortems are not on this machine, so there is nothing to measure with.")
    settings, incidents = Settings(), read_incidents(EVENTS)
    asked: list[tuple[float, RecallReplied]] = []
    async with RecallClient(settings) as client:
        await load(settings, client, arguments.tenant, incidents)
        for number, question in enumerate(questions(incidents, arguments.questions + WARM_QUESTIONS)):
            started = time.perf_counter()
            reply = await client.recall(tenant=arguments.tenant, query=question, deadline_ms=DEADLINE_MS)
            if number >= WARM_QUESTIONS:
                asked.append(((time.perf_counter() - started) * 1_000, reply))
    print(f"{len(incidents)} incidents in the tenant {arguments.tenant}; {settings.embeddings_model}; {machine()}")
    report(asked)


if __name__ == "__main__":
    asyncio.run(main())
