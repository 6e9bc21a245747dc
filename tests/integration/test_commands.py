"""Operators' commands over the whole chain, given by client or command line and followed to what came of them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka import TopicPartition

from tests.cli import twiceshy
from tests.rig import Rig
from twiceshy import IncidentPublisher, MemoryCommands, OutcomeFollower
from twiceshy.core.temporal import FOREVER
from twiceshy.events.chain import EntryLogged
from twiceshy.events.commands import Command, ModeChangeRequested
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import IncidentConcluded, IncidentRef
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded
from twiceshy.stores.connection import connect
from twiceshy.stores.notes import Progress
from twiceshy.stream.admin import partition_ends, reader
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.topics import TOPICS, Topic

SECONDS_MAX = 60.0
DAY = datetime(2026, 3, 1, tzinfo=UTC)
ASKED: dict[str, Any] = {"who": "ada", "why": "It was found so."}


@pytest.fixture(scope="module", name="rig")
async def _rig() -> AsyncIterator[Rig]:
    async with Rig("tansu") as rig:
        await rig.start_workers("chain")
        yield rig


@pytest.fixture(scope="module")
def folder(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rig.runtime(tmp_path_factory.mktemp("runtime"))


def said(
    fingerprint: str, *facts: tuple[str, str], tenant: str = "default", origin: str = "pagerduty", **changes: Any
) -> IncidentConcluded:
    """An incident that says, of each (subject, object), how large a pool was; a later name, a later start."""
    start = DAY + timedelta(days=ord(fingerprint[-1]) - ord("A"))
    claims = [{"subject": subject, "predicate": "pool_size", "object": size, "valid_from": start}
              for subject, size in facts]  # fmt: skip
    body = {"tenant": tenant, "fingerprint": fingerprint, "title": f"It broke ({fingerprint})", "facts": claims}
    return IncidentConcluded.model_validate({**body, "concluded_at": start, "origin": {"name": origin}, **changes})


async def published(rig: Rig, *incidents: IncidentConcluded) -> list[IncidentOutcome]:
    async with OutcomeFollower(rig.settings) as follower, IncidentPublisher(rig.settings) as publisher:
        event_ids = await publisher.publish_many(incidents)
        outcomes = await follower.outcomes(event_ids, SECONDS_MAX)
    return [outcomes[event_id] for event_id in event_ids]


async def remembered(rig: Rig, *incidents: IncidentConcluded) -> None:
    assert {outcome.outcome for outcome in await published(rig, *incidents)} <= {"remembered", "corrected"}


async def given(rig: Rig, give: Callable[[MemoryCommands], Awaitable[str]]) -> IncidentOutcome:
    """What comes of a command."""
    async with OutcomeFollower(rig.settings) as follower, MemoryCommands(rig.settings) as commands:
        event_id = await give(commands)
        return (await follower.outcomes([event_id], SECONDS_MAX))[event_id]


async def nodes(rig: Rig, label: str, tenant: str = "default") -> list[dict[str, Any]]:
    lines = [orjson.loads(line) for line in await rig.export(tenant)]
    return [line["properties"] for line in lines if line.get("node") == label]


async def pools(rig: Rig, *subjects: str) -> list[str | None]:
    """How large the pool of each subject is now."""
    facts = [line for line in map(orjson.loads, await rig.export("default")) if line.get("edge") == "pool_size"]
    stamps = ("t_expired", "t_invalid")
    current = {fact["from"]: fact["to"] for fact in facts
               if {fact["properties"][stamp] for stamp in stamps} == {FOREVER}}  # fmt: skip
    return [current.get(subject) for subject in subjects]


async def test_two_names_are_one_until_that_is_undone(rig: Rig, folder: Path) -> None:
    await remembered(rig, said("alias/A", ("ledger", "10")), said("alias/B", ("ledger-svc", "20")))
    assert await pools(rig, "ledger", "ledger-svc") == ["10", "20"]
    ended = await twiceshy("alias", "ledger", "ledger-svc", folder=folder)
    told = "ledger-svc is another name of ledger from now on: 2 facts made, 2 facts expired.\n"
    assert (ended.code, ended.out.decode(), ended.err) == (0, told, "")
    assert await pools(rig, "ledger", "ledger-svc") == ["20", None]
    ended = await twiceshy("unalias", "ledger", "ledger-svc", "--json", folder=folder)
    assert (ended.code, ended.json["outcome"], ended.json["counts"]["facts_made"]) == (0, "applied", 2)
    assert await pools(rig, "ledger", "ledger-svc") == ["10", "20"]


async def test_command_that_cannot_be_carried_out_says_why(rig: Rig, folder: Path) -> None:
    ended = await twiceshy("unalias", "nobody", "no-one", folder=folder)
    told = "'no-one' is no alias of 'nobody': `twiceshy aliases` lists them.\n"
    assert (ended.code, ended.out, ended.err) == (1, b"", told)
    ended = await twiceshy("unblock", "nobody", "--json", folder=folder)
    assert (ended.code, ended.json["outcome"], ended.json["reason"]) == (1, "rejected", "not_blocked")


async def test_command_that_comes_again_changes_nothing_and_has_the_same_outcome(rig: Rig) -> None:
    await remembered(rig, said("again/A", ("mailer", "10")), said("again/B", ("mailer-svc", "20")))

    async def give(commands: MemoryCommands) -> str:
        return await commands.alias(
            tenant="default", canonical="mailer", alias="mailer-svc", command_id="again", **ASKED
        )

    first = await given(rig, give)
    assert (first.outcome, first.counts) == ("applied", {"facts_made": 2, "facts_expired": 2})
    before = await rig.export("default")
    again = await given(rig, give)
    assert again.model_copy(update={"took_ms": first.took_ms}) == first
    assert await rig.export("default") == before


async def test_incident_that_is_superseded_holds_no_longer(rig: Rig, folder: Path) -> None:
    await remembered(rig, said("old/A", origin="grafana/eu"), said("new/B"))
    at = "2026-04-01T00:00:00Z"
    ended = await twiceshy("supersede", "grafana%2Feu/old/A", "--by", "pagerduty/new/B", "--at", at, folder=folder)
    told = "grafana%2Feu/old/A is superseded by pagerduty/new/B from 2026-04-01 00:00:00 UTC on: 1 episode made.\n"
    assert (ended.code, ended.out.decode(), ended.err) == (0, told, "")
    [held] = [e for e in await nodes(rig, "MemoryEpisode")
              if e["incident_fingerprint"] == "old/A" and e["t_expired"] == FOREVER]  # fmt: skip
    assert held["t_invalid"] == milliseconds(datetime.fromisoformat(at))
    ended = await twiceshy("supersede", "grafana/eu/old/A", "--by", "pagerduty/new/B", folder=folder)
    assert (ended.code, ended.err) == (1, "Memory has no incident grafana/eu/old/A: correct its name.\n")


async def test_dry_run_of_a_purge_says_what_the_purge_then_does(rig: Rig, folder: Path) -> None:
    await remembered(
        rig,
        said("true/A", ("gateway", "10"), ("search", "10")),
        said("hoax/B", ("gateway", "99"), origin="hoaxer"),
        said("hoax/C", ("catalogue", "99"), origin="hoaxer"),
    )
    before = await rig.export("default")
    rehearse = ("invalidate-by-origin", "hoaxer", "--dry-run")
    shown = await twiceshy(*rehearse, folder=folder)
    preview = (await twiceshy(*rehearse, "--json", folder=folder)).json
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.decode().splitlines() == [
        "This would be done: 2 incidents, 2 observations, 1 fact made, 3 facts expired.",
        "Nothing would be left of:",
        "  hoaxer/hoax/C  It broke (hoax/C)",
        "  hoaxer/hoax/B  It broke (hoax/B)",
        "Facts would change:",
        "  catalogue pool_size: now 99, then nothing",
        "  gateway pool_size: now 99, then 10",
        "Nothing was changed: leave out --dry-run to do it.",
    ]
    assert [(fact["subject"], fact["now"], fact["then"]) for fact in preview["facts"]] == [
        ("catalogue", "99", None),
        ("gateway", "99", "10"),
    ]
    assert await rig.export("default") == before
    ended = await twiceshy("invalidate-by-origin", "hoaxer", "--why", "It is one.", "--json", folder=folder)
    assert (ended.code, ended.json["outcome"], ended.json["counts"]) == (0, "applied", preview["counts"])
    assert await pools(rig, "gateway", "search", "catalogue") == ["10", "10", None]
    shown = await twiceshy(*rehearse, folder=folder)
    assert shown.out.decode().splitlines()[0] == "Nothing that is in memory would change."


async def test_revision_that_is_purged_gives_way_to_the_one_before(rig: Rig, folder: Path) -> None:
    await remembered(rig, said("turned/A", ("checkout", "10"), origin="turncoat"))
    since = datetime.now(UTC)
    await remembered(rig, said("turned/A", ("checkout", "99"), origin="turncoat", title="It never broke"))
    rehearse = ("invalidate-by-origin", "turncoat", "--since", since.isoformat(), "--dry-run", "--json")
    preview = (await twiceshy(*rehearse, folder=folder)).json
    assert preview["changed"] == [{"origin": "turncoat", "fingerprint": "turned/A", "title": "It never broke"}]
    assert (preview["forgotten"], preview["counts"]["incidents"]) == ([], 1)
    outcome = await given(
        rig, lambda to: to.invalidate_by_origin(tenant="default", origin="turncoat", since=since, **ASKED)
    )
    assert (outcome.outcome, outcome.counts) == ("applied", preview["counts"])
    assert await pools(rig, "checkout") == ["10"]


async def test_origin_that_is_blocked_is_turned_away_until_it_is_unblocked(rig: Rig, folder: Path) -> None:
    await remembered(rig, said("loud/A", origin="shouter"))
    ended = await twiceshy("invalidate-by-origin", "shouter", "--block", "--why", "It shouts.", folder=folder)
    told = "What shouter said is taken away, and its incidents are turned away until `twiceshy unblock`: 1 incident."
    assert (ended.code, ended.out.decode(), ended.err) == (0, f"{told}\n", "")
    [refused] = await published(rig, said("loud/B", origin="shouter"))
    assert (refused.outcome, refused.reason) == ("rejected", "origin_blocked")
    ended = await twiceshy("unblock", "shouter", folder=folder)
    assert (ended.code, ended.out, ended.err) == (0, b"Incidents of shouter are taken again.\n", "")
    await remembered(rig, said("loud/C", origin="shouter"))


async def test_mistake_that_was_mended_is_resolved_once(rig: Rig, folder: Path) -> None:
    statement = "Nothing alerted on the pool."
    await remembered(rig, said("mended/A", mistakes=[{"category": "missing-alert", "statement": statement}]))
    [mistake] = [one for one in await nodes(rig, "MemoryMistake") if one["statement"] == statement]
    ended = await twiceshy("resolve", mistake["version_id"], folder=folder)
    assert (ended.code, ended.out.decode(), ended.err) == (0, f"Mistake {mistake['version_id']} is resolved.\n", "")
    ended = await twiceshy("resolve", mistake["version_id"], folder=folder)
    assert ended.code == 1
    assert ended.err.startswith(f"Memory has no open mistake {mistake['version_id']}: ")


async def test_compaction_drops_what_its_dry_run_says(rig: Rig, folder: Path) -> None:
    for title in ("first", "second", "third"):
        await remembered(rig, said("compacted/A", tenant="demo", title=title))
    before = datetime.now(UTC).isoformat()
    compact = ("compact", "--before", before, "--tenant", "demo")
    exported = await rig.export("demo")
    shown = await twiceshy(*compact, "--dry-run", folder=folder)
    assert shown.out.startswith(b"This would be done: 2 episodes")
    preview = (await twiceshy(*compact, "--dry-run", "--json", folder=folder)).json
    assert await rig.export("demo") == exported
    ended = await twiceshy(*compact, "--why", "To save room.", "--json", folder=folder)
    assert (ended.code, ended.json["outcome"], ended.json["counts"]) == (0, "applied", preview["versions"])
    [episode] = await nodes(rig, "MemoryEpisode", "demo")
    assert orjson.loads(episode["body"])["title"] == "third"
    again = (await twiceshy(*compact, "--dry-run", "--json", folder=folder)).json
    assert sum(again["versions"].values()) == 0


async def test_every_command_of_the_client_is_logged_as_it_was_given(rig: Rig) -> None:
    told: dict[str, Any] = {"tenant": "public", **ASKED}
    one, other = (IncidentRef(origin="pagerduty", fingerprint=name) for name in "AB")
    async with OutcomeFollower(rig.settings) as follower, MemoryCommands(rig.settings) as to:
        event_ids = [
            await to.alias(canonical="payments", alias="payments-svc", **told),
            await to.unalias(canonical="payments", alias="payments-svc", **told),
            await to.supersede(incident=one, by=other, at=DAY, **told),
            await to.invalidate_by_origin(origin="hoaxer", since=DAY, block=True, **told),
            await to.unblock(origin="hoaxer", **told),
            await to.compact(before=DAY, **told),
            await to.resolve(mistake_id="no-such-id", **told),
            await to.switch(generation="no-such-one", **told),
        ]
        outcomes = await follower.outcomes(event_ids, SECONDS_MAX)
    assert [outcomes[event_id].outcome for event_id in event_ids] == [
        "applied", "applied", "rejected", "applied", "applied", "applied", "rejected", "rejected"
    ]  # fmt: skip
    entries = [EntryLogged.model_validate_json(value) for value in await values(rig, TOPICS.memory_log, "public")]
    logged = [entry for entry in entries if entry.event_id in event_ids]
    assert [entry.event_id for entry in logged] == event_ids
    assert [entry.command.model_dump(exclude=set(told)) for entry in logged if entry.command] == [
        {"kind": "alias", "canonical": "payments", "alias": "payments-svc"},
        {"kind": "unalias", "canonical": "payments", "alias": "payments-svc"},
        {"kind": "supersede", "incident": one.model_dump(), "by": other.model_dump(), "at": DAY},
        {"kind": "origin-invalidation", "origin": "hoaxer", "since": DAY, "block": True},
        {"kind": "unblock", "origin": "hoaxer"},
        {"kind": "compaction", "before": DAY},
        {"kind": "mistake-resolution", "id": "no-such-id"},
        {"kind": "switch", "generation": "no-such-one"},
    ]
    assert {(entry.command.who, entry.command.why) for entry in logged if entry.command} == {tuple(ASKED.values())}
    audits = [AuditRecorded.model_validate_json(value) for value in await values(rig, TOPICS.audit, "public")]
    assert [(audit.kind, audit.subject_id, audit.detail) for audit in audits if audit.tenant == "public"] == [
        ("origin_purge", event_ids[3], {"origin": "hoaxer", "who": "ada", "block": "yes"}),
        ("compaction", event_ids[5], {"before": DAY.isoformat(), "who": "ada"}),
    ]


async def values(rig: Rig, topic: Topic, tenant: str) -> list[bytes]:
    """What a tenant's partition of a topic holds."""
    partition = TopicPartition(topic.name, tenant_partition(tenant, topic))
    async with reader(rig.settings) as consumer:
        end = (await partition_ends(consumer, [partition]))[partition]
        consumer.assign([partition])
        consumer.seek(partition, 0)
        found: list[bytes] = []
        while len(found) < end:
            records = (await consumer.getmany(timeout_ms=1_000)).get(partition, ())
            found += [record.value for record in records]
    return found


async def test_command_that_guard_refuses_is_told_with_its_reason(rig: Rig) -> None:
    refused: list[tuple[Command, str]] = [
        (ModeChangeRequested(tenant="default", mode="shadow", **ASKED), "unsupported"),
        (ModeChangeRequested(tenant="stranger", mode="shadow", **ASKED), "unsupported"),
    ]
    for command, reason in refused:
        outcome = await given(rig, lambda to, command=command: to.give(command))  # type: ignore[misc]
        assert (outcome.outcome, outcome.reason) == ("dead_lettered", reason)
    outcome = await given(rig, lambda to: to.unblock(tenant="stranger", origin="x", **ASKED))
    assert (outcome.outcome, outcome.reason, outcome.tenant) == ("dead_lettered", "unknown_tenant", None)


async def test_commands_that_were_read_are_noted_so_that_a_stop_waits_for_them(rig: Rig) -> None:
    await given(rig, lambda to: to.unblock(tenant="public", origin="x", **ASKED))
    redis = connect(rig.settings.falkordb)
    try:
        assert await Progress(redis, "inputs").of(TOPICS.memory_commands.name)
    finally:
        await redis.aclose()
