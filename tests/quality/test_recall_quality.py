"""How well recall finds: by title, in an on-call's words, and incidents of the same cause that came before.

The public post-mortems lie beside the checkout of a developer, not in it. Labels of causes never reach memory.
"""

import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.memory import Memory, memory, read_incidents
from tests.requirements import skip_or_fail
from twiceshy.contracts import EXAMPLE_INCIDENTS
from twiceshy.core.lexical import query_weights
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stores.points import Scope, Search

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "incidents"

DEMO: list[tuple[str, list[str], set[str]]] = [
    (
        "every page is a 502 and cpu is pegged on all our edge boxes since somebody shipped a new filter pattern, "
        "what was it last time?",
        [],
        {"cloudflare/2019-07-02"},
    ),
    (
        "consul looks sick, writes are slow and nothing can find anything else any more",
        [],
        {"roblox/2021-10-28", "slack/2022-02-22"},
    ),
    (
        "somebody deleted production data by mistake and the backups we counted on cannot be restored",
        [],
        {"gitlab/2017-01-31", "atlassian/2022-04-05"},
    ),
    (
        "our prefixes vanished after a router policy edit and I can't reach the boxes to undo it",
        ["service:cloudflare"],
        {"cloudflare/2022-06-21", "cloudflare/2020-07-17"},
    ),
    (
        "the building in Portland has gone dark, has that happened before and did the dashboard survive it?",
        [],
        {"cloudflare/2024-03-26", "cloudflare/2023-11-02"},
    ),
]

KNOWN = [
    "mysql failover promoted a stale replica",
    "an expired tls certificate broke sign in for everyone",
    "somebody typed the wrong command and removed too many servers",
    "a new kernel driver update crashes windows hosts at boot",
    "node labels changed after the kubernetes upgrade and networking died",
    "the quota system thinks that usage is zero",
    "customers' sites were deleted by a script",
    "memcached is cold and the database melts",
    "systemd upgrade removed the routes",
    "redis cluster did not come back after a reboot",
    "bgp withdrew our prefixes",
    "nobody can log in",
]

EVERYDAY = [
    "the printer on the third floor jams when it prints double-sided",
    "the vending machine by the lifts swallowed my coins",
    "my cat refuses to eat the new kibble",
    "please book me a flight to Lisbon next Tuesday",
    "how do I bake sourdough bread without a dutch oven",
    "the plumber fixed the kitchen tap",
    "who won the football match last night",
    "a pigeon flew into the lobby",
    "which bus goes to the city museum",
    "the goalkeeper missed the penalty",
]


@pytest.fixture(scope="module")
async def examples() -> AsyncIterator[Memory]:
    async with memory() as examples:
        await examples.remember(*read_incidents(EXAMPLE_INCIDENTS))
        yield examples


def public_incidents() -> Sequence[IncidentConcluded]:
    if not DATA.is_dir():
        skip_or_fail("the public post-mortems are not on this machine")
    return read_incidents(DATA / "events.jsonl")


@pytest.fixture(scope="module")
async def public() -> AsyncIterator[Memory]:
    incidents = public_incidents()
    async with memory() as public:
        await public.remember(*incidents)
        yield public


@pytest.mark.parametrize(("question", "entities", "expected"), DEMO)
async def test_an_oncalls_question_finds_the_incident(
    examples: Memory, question: str, entities: list[str], expected: set[str]
) -> None:
    reply = await examples.ask(question, tenant="demo", entities=entities)
    assert not reply.novel
    assert expected & {episode.fingerprint for episode in reply.results[:3]}


@pytest.mark.parametrize("question", KNOWN)
async def test_a_question_about_an_incident_is_not_novel(examples: Memory, question: str) -> None:
    assert not (await examples.ask(question, tenant="demo")).novel


@pytest.mark.parametrize("question", EVERYDAY)
async def test_an_everyday_question_is_novel(examples: Memory, question: str) -> None:
    assert (await examples.ask(question, tenant="demo")).novel


async def test_every_incident_is_found_by_its_title(public: Memory) -> None:
    incidents = public_incidents()
    sharing = Counter(incident.title for incident in incidents)
    places: dict[str, dict[str, int]] = {}
    for title in sharing:
        reply = await public.ask(title, tenant="public", limit=50, include=["episodes"])
        places[title] = {episode.fingerprint: episode.rank for episode in reply.results}
    late = {
        incident.fingerprint: place
        for incident in incidents
        if (place := places[incident.title].get(incident.fingerprint, 99)) > sharing[incident.title] + 2
    }
    assert late == {}


async def test_earlier_incidents_of_the_same_cause_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    labelled = [incident for incident in public_incidents() if incident.origin.name == "issre22"]
    known = {incident.origin.event_id for incident in labelled}
    pairs = [orjson.loads(line) for line in (DATA / "pairs.jsonl").read_bytes().splitlines()]
    asked = [pair for pair in pairs if pair["kind"] == "same_cause_asof" and pair["qid"] in known]
    async with memory() as earlier:
        await earlier.remember(*labelled)
        figures = {
            "bm25": await _figures(asked, lambda pair: _lexical(earlier, pair)),
            "semantic": await _figures(asked, lambda pair: _semantic(earlier, pair)),
            "fused": await _figures(asked, lambda pair: _fused(earlier, pair)),
        }
    with capsys.disabled():
        for name, (precision, gain) in figures.items():
            print(f"\n{name}: P@5 {precision:.3f}, nDCG@10 {gain:.3f} over {len(asked)} questions", end="")  # noqa: T201
    assert figures["fused"][0] > 0.21
    assert figures["fused"][1] > 0.27
    assert figures["fused"][1] > figures["semantic"][1]


async def _figures(asked: list[Any], search: Callable[[Any], Any]) -> tuple[float, float]:
    """Mean P@5 and nDCG@10."""
    precisions, gains = [], []
    for pair in asked:
        order, gold = await search(pair), set(pair["gold"])
        precisions.append(sum(found in gold for found in order[:5]) / 5)
        gains.append(_gain(order, gold))
    return sum(precisions) / len(asked), sum(gains) / len(asked)


def _gain(order: Sequence[str], gold: set[str]) -> float:
    """Normalised discounted cumulative gain of the first ten, every relevant one worth the same."""
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
    return sum(1 / math.log2(place + 2) for place, found in enumerate(order[:10]) if found in gold) / ideal


def _before(pair: Any) -> datetime:
    return datetime.fromisoformat(pair["as_of"]).replace(tzinfo=UTC) - timedelta(milliseconds=1)


async def _fused(earlier: Memory, pair: Any) -> list[str]:
    reply = await earlier.ask(
        pair["query_strict"], tenant="public", limit=10, as_of=_before(pair), include=["episodes"]
    )
    return [episode.fingerprint for episode in reply.results]


async def _lexical(earlier: Memory, pair: Any) -> list[str]:
    return await _searched(earlier, pair, Search("episode", query_weights(pair["query_strict"]), 10))


async def _semantic(earlier: Memory, pair: Any) -> list[str]:
    [embedded] = await earlier.stores.embeddings.embed([pair["query_strict"]])
    assert embedded.vector is not None
    return await _searched(earlier, pair, Search("episode", embedded.vector, 10))


async def _searched(earlier: Memory, pair: Any, search: Search) -> list[str]:
    scope = Scope("public", "g1", milliseconds(_before(pair)), milliseconds(datetime(2999, 1, 1, tzinfo=UTC)))
    [hits] = await earlier.stores.vectors.search(scope, [search])
    payloads = await earlier.stores.vectors.payloads("g1", [hit.version_id for hit in hits])
    return [orjson.loads(payloads[hit.version_id]["body"])["fingerprint"] for hit in hits]
