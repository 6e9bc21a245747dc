"""What is in quarantine is nowhere else: no read of any kind can see it, nor what it would do to what can be seen."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.guards import guard, held
from tests.held import about, carried_out, deciding, decision
from tests.incidents import incident
from tests.memory import Memory, memory
from tests.records import HIDDEN, Clock, record
from twiceshy.core.ids import derive
from twiceshy.events.chain import EntryLogged, LogPosition
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.quarantine import IncidentQuarantined
from twiceshy.events.recall import (
    AliasesRequested,
    EntitiesRequested,
    HistoryRequested,
    ItemsRequested,
    ValueRequested,
)
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.topics import TOPICS
from workers.export import export_lines
from workers.graph import Logged

TENANT = "default"
HELD = 1_000
BATCH = 100
HONEST = 12
WORD = "poisonberry"
"""What every poisoned incident says in every field. What is asked is never this."""
MARKS = (WORD, "planted")
# How long it took, when it was asked, and what was asked.
NOT_SAID = {"took_ms", "parts_ms", "legs", "as_of", "known_at", "unknown_entities", "missing_ids", "detail"}


def honest(number: int) -> IncidentConcluded:
    mistakes = [{"category": "runbook-gap", "statement": f"Nobody knew where the runbook is ({number})."}]
    return incident(number, TENANT, fingerprint=f"honest/{number}", mistakes=mistakes)


def poison(number: int) -> IncidentConcluded:
    """It says what it can to be found, to become a rule, and to change what honest incidents say."""
    said = honest(number % HONEST)
    thing = {"type": "service", "ref": f"planted-{number}", "role": "cause"}
    target = {"origin": said.origin.name, "fingerprint": said.fingerprint}
    changes: dict[str, Any] = {
        "fingerprint": f"planted/{number}",
        "title": f"{WORD} {said.title}",
        "summary": f"{said.summary} {WORD}{HIDDEN}",
        "resolution": f"{said.resolution} {WORD}",
        "details": f"{WORD} again",
        "fault_signature": f"{WORD}.Error: too many connections",
        "origin": {"name": said.origin.name},
        "entities": [*(entity.model_dump() for entity in said.entities), thing],
        "facts": [
            {
                "subject": fact.subject,
                "predicate": fact.predicate,
                "object": WORD,
                "valid_from": said.concluded_at + timedelta(days=1 + number % 9),
            }
            for fact in said.facts
        ],
        "mistakes": [{"category": "missing-alert", "statement": f"{WORD} alerts nobody."}],
        "steps": [f"run {WORD}"],
        "supersedes": [target],
        "derived_from": [target],
        "code_refs": [{"repo": WORD, "path": f"{WORD}.py"}],
        "labels": {WORD: WORD},
        "links": [f"https://example.org/{WORD}"],
    }
    return IncidentConcluded.model_validate({**said.model_dump(), **changes})


@pytest.fixture(scope="module", name="stores")
async def _stores() -> AsyncIterator[Memory]:
    async with memory() as running:
        await Quarantine(running.stores.redis).prepare()
        await running.remember(*(honest(number) for number in range(HONEST)))
        yield running


async def everything_seen(stores: Memory, ids: Sequence[str]) -> dict[str, str]:
    """What each way of reading answers, without how long it took and what was asked."""
    asked_about = [poison(number) for number in range(3)]
    every = ("episodes", "lessons", "playbooks", "rules", "mistakes", "facts", "superseded")
    recalls: dict[str, dict[str, Any]] = {
        "words": {"query": "checkout search ledger times out"},
        "the same words": {"query": asked_about[0].title.replace(WORD, "")},
        "an entity": {"entities": ["service:checkout", "service:search", "service:ledger"]},
        "its own entity": {"query": "times out", "entities": ["service:planted-1", "service:planted-2"]},
        "a fault": {"fault_signature": "Error: too many connections"},
        "all of it": {"query": "rolled back", "entities": ["service:checkout"], "fault_signature": "Error: too many"},
    }
    seen: dict[str, Any] = {}
    for name, asked in recalls.items():
        for limit in (5, 50):
            reply = await stores.ask(tenant=TENANT, include=every, limit=limit, **asked)
            assert (reply.status, reply.partial) == ("ok", False)
            assert {leg.status for leg in reply.legs.values()} <= {"ok", "skipped"}
            seen[f"recall by {name} ({limit})"] = reply.model_dump(mode="json", exclude=NOT_SAID)
    questions = {
        "history": HistoryRequested(tenant=TENANT, subject="checkout", predicate="pool_size"),
        "at": ValueRequested(tenant=TENANT, subject="checkout", predicate="pool_size"),
        "aliases": AliasesRequested(tenant=TENANT),
        "fetch": ItemsRequested(tenant=TENANT, ids=tuple(ids)),
        **{
            f"entities-of the {number}th": EntitiesRequested(
                tenant=TENANT, origin=said.origin.name, fingerprint=said.fingerprint
            )
            for number, said in enumerate(asked_about)
        },
    }
    for name, question in questions.items():
        reply = await stores.put(question)
        seen[name] = reply.model_dump(mode="json", exclude=NOT_SAID)
    graph = stores.graphs.of(TENANT)
    seen["export"] = [line.decode() for line in await export_lines(graph, stores.stores.vectors, TENANT, "g1")]
    return {name: str(answer) for name, answer in seen.items()}


async def fold(stores: Memory, entries: list[EntryLogged]) -> None:
    first = 10_000 + len(stores.log)
    logged = [Logged(entry, LogPosition(partition=0, offset=first + n, key=str(n))) for n, entry in enumerate(entries)]
    await stores.stages.fold(logged)


async def test_nothing_that_is_held_can_be_read_in_any_way_and_all_that_is_let_in_can(stores: Memory) -> None:
    clock = Clock()
    stage = guard(stores, clock, TENANT)
    coming = [stage.decode(record(poison(number))) for number in range(HELD)]
    ids = [part for one in coming[:50] for part in (one.event_id, derive("quarantined", one.event_id))]
    before = await everything_seen(stores, ids)
    planted: list[IncidentQuarantined] = []
    for start in range(0, HELD, BATCH):
        planted += [held(outputs) for outputs in await stage.handle(coming[start : start + BATCH])]
    assert len(await Quarantine(stores.stores.redis).items(TENANT)) == HELD
    after = await everything_seen(stores, ids)
    assert {name for name, answer in after.items() if any(mark in answer for mark in MARKS)} == set()
    assert after == before
    # The same eyes see what was let in: three of them, which are enough for a rule.
    outputs = await carried_out(deciding(stores, clock, TENANT), decision(about(TENANT, "approve", *planted[:3])))
    entries = [EntryLogged.model_validate_json(o.value or b"") for o in outputs if o.topic == TOPICS.memory_log.name]
    await fold(stores, entries)
    found = await stores.ask("times out", tenant=TENANT, entities=["service:planted-1"])
    ids = [one.id for one in (*found.results, *found.lessons, *found.playbooks, *found.rules, *found.mistakes)]
    seen = await everything_seen(stores, ids)
    assert {name for name, answer in seen.items() if not any(mark in answer for mark in MARKS)} == {"aliases"}
    assert WORD in str(found.rules)
