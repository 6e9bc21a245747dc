"""Nothing of the future, and nothing that was purged, is in an answer about the past: in no way of finding."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.memory import Memory, memory
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.recall import ValueReplied, ValueRequested
from workers.recall_questions import Questions
from workers.recall_standing import Grounds

MOMENT = datetime(2026, 6, 1, tzinfo=UTC)
FACTS = 400
FACTS_EACH = 50
NEARER = 2_500
QUERY = "kiln controller overheats because the thermocouple was swapped"


@pytest.fixture(scope="module")
async def full() -> AsyncIterator[Memory]:
    async with memory() as started:
        yield started


async def test_as_of_a_moment_returns_none_of_the_facts_of_its_future(full: Memory) -> None:
    starts = [MOMENT + timedelta(days=number + 1 if number % 2 else -number - 1) for number in range(FACTS)]
    told = [
        {"subject": f"service:kiln-{number}", "predicate": "owner", "object": f"team-{number}", "valid_from": start}
        for number, start in enumerate(starts)
    ]
    for first in range(0, FACTS, FACTS_EACH):
        await full.remember(_incident(f"facts/{first}", "A review of owners", facts=told[first : first + FACTS_EACH]))
    questions = Questions(full.settings, Grounds(full.graphs), lambda: 0)

    leaked, lacking = [], []
    for number, start in enumerate(starts):
        asked = ValueRequested(
            tenant="default", subject=f"service:kiln-{number}", predicate="owner", as_of=MOMENT, deadline_ms=20_000
        )
        reply = await questions.answer(asked)
        assert isinstance(reply, ValueReplied)
        assert reply.status == "ok", reply.detail
        if start > MOMENT and reply.facts:
            leaked.append(number)
        if start <= MOMENT and [f"team-{number}"] != [fact.object for fact in reply.facts]:
            lacking.append(number)
    assert not leaked
    assert not lacking


async def test_no_leg_is_crowded_out_by_what_was_purged_or_is_of_the_future(full: Memory) -> None:
    right = _incident(
        "right",
        "Controller of a kiln overheats",
        tenant="demo",
        summary="The thermocouple was swapped with another one.",
        entities=[{"type": "machine", "ref": "kiln-controller", "role": "affected"}],
        started_at=MOMENT - timedelta(days=30),
        concluded_at=MOMENT - timedelta(days=29),
    )
    await full.remember(right)
    await full.remember(*(_near(f"lie/{number}", MOMENT - timedelta(hours=number), "liar") for number in range(NEARER)))
    later = MOMENT + timedelta(days=10)
    await full.remember(
        *(_near(f"later/{number}", later + timedelta(hours=number), "tool") for number in range(NEARER))
    )
    purged = await full.command("origin-invalidation", tenant="demo", origin="liar")
    assert purged.outcome == "applied"

    reply = await full.ask(
        QUERY, tenant="demo", entities=["machine:kiln-controller"], as_of=MOMENT, deadline_ms=30_000, limit=10
    )

    assert not reply.partial, reply.detail
    assert [found.fingerprint for found in reply.results] == ["right"]
    why = reply.results[0].why
    assert (why.semantic, why.lexical, why.graph) == (0, 0, 0)
    assert {name: leg.hits for name, leg in reply.legs.items()} == {"semantic": 1, "lexical": 1, "graph": 1}

    before_the_purge = purged.known_at
    assert before_the_purge is not None
    known_at = before_the_purge - timedelta(milliseconds=1)
    back_then = await full.ask(QUERY, tenant="demo", as_of=MOMENT, known_at=known_at, deadline_ms=30_000, limit=10)
    assert [found.fingerprint for found in back_then.results] == ["right"]
    assert back_then.withheld == ("origin_purge",)


def _near(fingerprint: str, at: datetime, origin: str) -> IncidentConcluded:
    return _incident(
        fingerprint,
        QUERY,
        tenant="demo",
        origin={"name": origin},
        entities=[{"type": "machine", "ref": "kiln-controller", "role": "affected"}],
        started_at=at - timedelta(minutes=30),
        concluded_at=at,
    )


def _incident(fingerprint: str, title: str, **told: Any) -> IncidentConcluded:
    body = {
        "tenant": "default",
        "fingerprint": fingerprint,
        "title": title,
        "concluded_at": MOMENT - timedelta(days=60),
        "origin": {"name": "pagerduty"},
        **told,
    }
    return IncidentConcluded.model_validate(body)
