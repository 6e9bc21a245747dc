"""What a producer without a credential cannot do, over the whole chain, and what one with a credential can."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pytest
from aiokafka import TopicPartition

from tests.records import HIDDEN
from tests.rig import Rig
from twiceshy.client import IncidentPublisher, MemoryCommands, OutcomeFollower, QuarantineDecisions, RecallClient
from twiceshy.client.replay import Began, Pace, Replay
from twiceshy.core.ids import derive, event_id
from twiceshy.events.common import Event
from twiceshy.events.incident import IncidentConcluded, IncidentRef
from twiceshy.events.items import Episode
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded, QuarantineDecided, QuarantineState
from twiceshy.settings import Settings
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.admin import reader
from twiceshy.stream.codec import encode, event_headers
from twiceshy.stream.outputs import Outputs, tenant_partition
from twiceshy.stream.records import Output
from twiceshy.stream.replaying import Selection, Span, Why, parse_bound
from twiceshy.stream.signing import Signer
from twiceshy.stream.topics import TOPICS, Topic

SECONDS_MAX = 60.0
DEADLINE_MS = 20_000
DAY = datetime(2026, 3, 1, tzinfo=UTC)
POOL = ("service:checkout", "pool_size")


class Speaking:
    """Publishes with one credential, or with none, and follows what becomes of it."""

    def __init__(self, settings: Settings, credential: str | None = None) -> None:
        told = settings.model_copy(update={"credential": credential})
        self._exit = AsyncExitStack()
        self._outputs = Outputs(told.model_copy(update={"journal": None}), "speaking")
        self._signer = Signer(told)
        self._publisher, self._commands = IncidentPublisher(told), MemoryCommands(told)
        self._decisions = QuarantineDecisions(told)
        self._follower, self.memory = OutcomeFollower(told), RecallClient(told)

    async def __aenter__(self) -> Self:
        for part in (self._publisher, self._commands, self._decisions, self._follower, self.memory):
            await self._exit.enter_async_context(part)
        await self._outputs.start()
        self._exit.push_async_callback(self._outputs.stop)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exit.aclose()

    async def publish(self, origin: str, fingerprint: str, *, tenant: str = "default", **said: Any) -> IncidentOutcome:
        body = {"title": f"The pool of checkout ran out ({fingerprint})", "concluded_at": DAY, **said}
        incident = IncidentConcluded.model_validate(
            {"tenant": tenant, "origin": {"name": origin}, "fingerprint": fingerprint, **body}
        )
        return await self._outcome(await self._publisher.publish(incident))

    async def supersede(self, tenant: str, incident: IncidentRef, by: IncidentRef) -> IncidentOutcome:
        asked: dict[str, Any] = {"who": "mallory", "why": "Because."}
        given = await self._commands.supersede(tenant=tenant, incident=incident, by=by, at=DAY, **asked)
        return await self._outcome(given)

    async def decide(self, decided: QuarantineDecided) -> IncidentOutcome:
        return await self._outcome(await self._decisions.give(decided))

    async def send(self, topic: Topic, event: Event, tenant: str) -> IncidentOutcome:
        """An event of any kind, as any Kafka client may send it."""
        body = encode(event)
        headers = event_headers(type(event), event_id="1", source="speaking")
        signed = self._signer.signed(headers, body)
        await self._outputs.send([Output(topic.name, b"", body, signed, tenant_partition(tenant, topic))])
        return await self._outcome(event_id(tenant, "speaking", "1", body, signed=self._signer.signs))

    async def recalled(self, query: str, **asked: Any) -> dict[tuple[str | None, str], Episode]:
        """Episodes by origin and fingerprint."""
        asked = {"tenant": "default", "deadline_ms": DEADLINE_MS, "limit": 20, **asked}
        reply = await self.memory.recall(query=query, **asked)
        assert (reply.status, reply.partial) == ("ok", False), reply
        return {(episode.origin, episode.fingerprint): episode for episode in reply.results}

    async def _outcome(self, identity: str) -> IncidentOutcome:
        return (await self._follower.outcomes([identity], SECONDS_MAX))[identity]


@pytest.fixture(scope="module", name="rig")
async def _rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    keys = tmp_path_factory.mktemp("keys")
    for name in ("curators", "reviewers"):
        (keys / name).write_text(name * 8)
    curators = {"secret": f"file:{keys / 'curators'}", "tenants": ["default", "payments"], "origins": ["curated"]}
    reviewers = {"secret": f"file:{keys / 'reviewers'}", "tenants": "*", "commands": "*"}
    async with Rig(
        "tansu",
        tenants=("default", "payments", "demo"),
        origins={"curated": {"trust": 0.9}, "boastful": {"trust": 1.0}},
        credentials={"curators": curators, "reviewers": reviewers},
        unsigned=["default"],
    ) as rig:
        await rig.start_workers("chain", "recall")
        yield rig


@pytest.fixture(scope="module", name="anybody")
async def _anybody(rig: Rig) -> AsyncIterator[Speaking]:
    async with Speaking(rig.settings) as anybody:
        yield anybody


@pytest.fixture(scope="module", name="curators")
async def _curators(rig: Rig) -> AsyncIterator[Speaking]:
    async with Speaking(rig.settings, "curators") as curators:
        yield curators


@pytest.fixture(scope="module", name="reviewers")
async def _reviewers(rig: Rig) -> AsyncIterator[Speaking]:
    async with Speaking(rig.settings, "reviewers") as reviewers:
        yield reviewers


async def audited(rig: Rig, event_id: str) -> list[AuditRecorded]:
    """What security is told of an event."""
    async with reader(rig.settings) as consumer:
        partitions = [TopicPartition(TOPICS.audit.name, number) for number in range(TOPICS.audit.partitions)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        found: list[AuditRecorded] = []
        while batches := await consumer.getmany(timeout_ms=2_000):
            told = [AuditRecorded.model_validate_json(one.value) for ones in batches.values() for one in ones]
            found += [audit for audit in told if audit.subject_id == event_id]
        return found


async def test_without_a_credential_nobody_is_trusted_above_three_tenths_under_any_name(
    anybody: Speaking, curators: Speaking
) -> None:
    for name in ("curated", "Curated", "boastful", "newcomer"):
        assert (await anybody.publish(name, "trust/unsigned")).outcome == "remembered"
    # Its own name, which nobody else has.
    assert (await anybody.publish("unsigned/curated", "trust/unsigned")).outcome == "reaffirmed"
    assert (await curators.publish("curated", "trust/signed")).outcome == "remembered"
    found = await anybody.recalled("the pool of checkout ran out trust")
    trust = {key: episode.trust for key, episode in found.items() if key[1].startswith("trust/")}
    assert trust == {
        ("unsigned/curated", "trust/unsigned"): 0.3,
        ("unsigned/Curated", "trust/unsigned"): 0.3,
        ("unsigned/boastful", "trust/unsigned"): 0.3,
        ("newcomer", "trust/unsigned"): 0.3,
        ("curated", "trust/signed"): 0.9,
    }


async def test_signed_event_is_remembered_though_a_stranger_has_sent_its_copy_first(
    anybody: Speaking, curators: Speaking
) -> None:
    for speaking in (anybody, curators):
        assert (await speaking.publish("curated", "copied")).outcome == "remembered"
    found = await anybody.recalled("the pool of checkout ran out copied")
    trust = {key: episode.trust for key, episode in found.items() if key[1] == "copied"}
    assert trust == {("unsigned/curated", "copied"): 0.3, ("curated", "copied"): 0.9}


@pytest.mark.parametrize("tenant", ["payments", "demo"])
async def test_without_a_credential_nobody_writes_into_another_tenant(rig: Rig, anybody: Speaking, tenant: str) -> None:
    outcome = await anybody.publish("newcomer", "other tenant", tenant=tenant)
    assert (outcome.outcome, outcome.reason) == ("dead_lettered", "not_allowed")
    assert (outcome.detail or "").startswith(f"Tenant '{tenant}' takes signed events alone.")
    [audit] = await audited(rig, outcome.event_id)
    assert (audit.kind, audit.tenant, audit.detail["reason"]) == ("refused", tenant, "not_allowed")
    assert await anybody.recalled("the pool of checkout ran out", tenant=tenant) == {}


async def test_credential_for_one_tenant_is_none_for_another(curators: Speaking) -> None:
    assert (await curators.publish("curated", "own tenant", tenant="payments")).outcome == "remembered"
    for tenant, origin in (("demo", "curated"), ("payments", "boastful")):
        outcome = await curators.publish(origin, "other", tenant=tenant)
        assert (outcome.outcome, outcome.reason) == ("dead_lettered", "not_allowed")


async def test_without_a_credential_nobody_commands(anybody: Speaking, curators: Speaking, reviewers: Speaking) -> None:
    await curators.publish("curated", "commanded/old")
    await curators.publish("curated", "commanded/new")
    old, new = (IncidentRef(origin="curated", fingerprint=f"commanded/{name}") for name in ("old", "new"))
    for speaking in (anybody, curators):
        outcome = await speaking.supersede("default", old, by=new)
        assert (outcome.outcome, outcome.reason) == ("dead_lettered", "not_allowed")
    found = await anybody.recalled("checkout pool commanded")
    assert found["curated", "commanded/old"].superseded_by == ()
    assert (await reviewers.supersede("default", old, by=new)).outcome == "applied"


async def test_without_a_credential_nobody_decides_on_what_is_held(
    rig: Rig, anybody: Speaking, reviewers: Speaking
) -> None:
    held = await anybody.publish("newcomer", "decided", summary=HIDDEN)
    assert held.outcome == "quarantined"
    decided = QuarantineDecided(
        tenant="default",
        items=(derive("quarantined", held.event_id),),
        decision="deny",
        who="mallory",
        why="I say so.",
    )
    async with rig.stores() as stores:
        quarantine = Quarantine(stores.redis)

        async def state() -> QuarantineState:
            [item] = [item for item in await quarantine.items("default") if item.event_id == held.event_id]
            return item.state

        outcome = await anybody.send(TOPICS.quarantine_decisions, decided, "default")
        assert (outcome.outcome, outcome.reason) == ("dead_lettered", "not_allowed")
        assert await state() is QuarantineState.PENDING
        again = decided.model_copy(update={"why": "It is an attack."})
        assert (await reviewers.send(TOPICS.quarantine_decisions, again, "default")).outcome == "applied"
        assert await state() is QuarantineState.REJECTED
        assert (await reviewers.decide(decided.model_copy(update={"decision": "reopen"}))).outcome == "applied"
        assert await state() is QuarantineState.PENDING


def pool(size: str, *, days: int, **said: Any) -> dict[str, Any]:
    fact = {"subject": POOL[0], "predicate": POOL[1], "object": size, "valid_from": DAY + timedelta(days=days), **said}
    return {"facts": [fact]}


async def test_without_a_credential_nobody_displaces_a_curated_fact_unseen(
    anybody: Speaking, curators: Speaking
) -> None:
    await curators.publish("curated", "fact", **pool("20", days=1))
    [before] = (await anybody.memory.at("default", *POOL, deadline_ms=DEADLINE_MS)).facts
    assert (before.object, before.trust, before.contested) == ("20", 0.9, False)

    # A revision in the name of who said it takes nothing back: it is filed under another name.
    assert (await anybody.publish("curated", "fact", title="The pool of checkout is well")).outcome == "remembered"
    [unmoved] = (await anybody.memory.at("default", *POOL, deadline_ms=DEADLINE_MS)).facts
    assert (unmoved.id, unmoved.object, unmoved.contested) == (before.id, "20", False)

    # A later start wins, and is shown as contested by what is trusted more.
    await anybody.publish("newcomer", "lie", **pool("9999", days=2))
    [lied] = (await anybody.memory.at("default", *POOL, deadline_ms=DEADLINE_MS)).facts
    assert (lied.object, lied.trust, lied.contested) == ("9999", 0.3, True)
    assert [(claim.object, claim.origin, claim.trust) for claim in lied.contested_by] == [("20", "curated", 0.9)]
    recalled = await anybody.memory.recall(
        tenant="default", query="pool of checkout", entities=[POOL[0]], include=["facts"], deadline_ms=DEADLINE_MS
    )
    [shown] = [fact for fact in recalled.facts if (fact.subject, fact.predicate) == POOL]
    assert (shown.object, [claim.object for claim in shown.contested_by]) == ("9999", ["20"])

    # So is that nothing holds any more.
    await anybody.publish("newcomer", "denial", **pool("9999", days=3, holds=False))
    denied = await anybody.memory.at("default", *POOL, deadline_ms=DEADLINE_MS)
    assert (denied.facts, [claim.object for claim in denied.contested_by]) == ((), ["20"])


async def test_without_a_credential_nobody_supersedes_a_curated_incident_unseen(
    anybody: Speaking, curators: Speaking
) -> None:
    await curators.publish("curated", "superseded")
    await anybody.publish("newcomer", "successor", supersedes=[{"origin": "curated", "fingerprint": "superseded"}])
    episode = (await anybody.recalled("the pool of checkout superseded"))["curated", "superseded"]
    assert (episode.contested, episode.t_invalid) == (True, None)
    assert [(one.origin, one.contested) for one in episode.superseded_by] == [("newcomer", True)]


class Unwatched:
    def began(self, began: Began) -> None: ...
    def advanced(self, left: int) -> None: ...


@pytest.mark.parametrize(
    ("topic", "credential", "outcomes", "passed_over"),
    [
        (TOPICS.incidents_concluded, None, {"remembered": 1}, {}),
        (TOPICS.memory_log, "curators", {"remembered": 1}, {}),
        (TOPICS.memory_log, None, {}, {Why.UNSIGNED: 1}),
    ],
)
async def test_signature_outlives_a_replay_of_what_was_published_and_one_of_the_log_is_signed_by_whoever_replays(
    rig: Rig,
    curators: Speaking,
    tmp_path: Path,
    topic: Topic,
    credential: str | None,
    outcomes: dict[str, int],
    passed_over: dict[Why, int],
) -> None:
    begin = datetime.now(UTC)
    fingerprint = f"replayed/{topic.name}/{credential}"
    assert (await curators.publish("curated", fingerprint, tenant="payments")).outcome == "remembered"
    settings = rig.settings.model_copy(update={"credential": credential})
    selection = Selection(Span(parse_bound(begin.isoformat())), tenant="payments")
    replay = Replay(settings, topic.name, selection, state=tmp_path / "state.json")
    report = await replay.run(Pace(follow=True, patience_seconds=SECONDS_MAX), Unwatched())
    assert (dict(report.tally.outcomes), dict(report.tally.passed_over)) == (outcomes, passed_over)
