"""What is in quarantine outlives what can happen to it: guard's death, its own loss, and that nobody looks."""

import asyncio
from collections.abc import Callable

from aiokafka import TopicPartition

from tests.incidents import incident
from tests.records import HIDDEN
from tests.rig import Publisher, Rig
from twiceshy import OutcomeFollower, QuarantineDecisions
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import IncidentQuarantined, QuarantineGroup, QuarantineState
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph
from twiceshy.stores.quarantine import GRAPH_NAME, Quarantine
from twiceshy.stream.admin import create_topics, reader
from twiceshy.stream.topics import TOPICS

TTL_SECONDS = 8.0
SECONDS_MAX = 90.0


def suspicious(number: int, name: str = "mailer") -> IncidentConcluded:
    return incident(
        number,
        fingerprint=f"{name}/{number}",
        title=f"The {name} stood still",
        summary=HIDDEN,
        origin={"name": "pagerduty"},
        entities=[],
    )


async def items(rig: Rig) -> list[IncidentQuarantined]:
    async with rig.stores() as stores:
        return await Quarantine(stores.redis).items("default")


async def until(rig: Rig, so: Callable[[list[IncidentQuarantined]], bool]) -> list[IncidentQuarantined]:
    async with rig.stores() as stores, asyncio.timeout(SECONDS_MAX):
        while not so(found := await Quarantine(stores.redis).items("default")):
            await asyncio.sleep(0.2)
    return found


async def told(publisher: Publisher, outcome: str, event_ids: set[str]) -> None:
    """Returns when each of the events has the outcome."""
    async with asyncio.timeout(SECONDS_MAX):
        while not event_ids <= {one.event_id for one in publisher.outcomes if one.outcome == outcome}:
            await publisher.poll()


async def newest_told(rig: Rig) -> dict[str, IncidentQuarantined]:
    """The last that the topic has of each item."""
    found: dict[str, IncidentQuarantined] = {}
    topic = TOPICS.incidents_quarantined
    async with reader(rig.settings) as consumer:
        partitions = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        while batches := await consumer.getmany(timeout_ms=1_000):
            for records in batches.values():
                for record in records:
                    item = IncidentQuarantined.model_validate_json(record.value)
                    found[item.item_id] = item
    return found


async def test_time_to_live_ends_while_no_guard_runs_and_is_told_by_the_next_one() -> None:
    async with Rig("tansu", quarantine_hours=TTL_SECONDS / 3_600) as rig:
        await rig.start_workers("chain")
        async with Publisher(rig.settings) as publisher:
            await publisher.send([suspicious(number) for number in range(5)])
            await publisher.until_all()
            await rig.kill("chain")
            assert {one.state for one in await items(rig)} == {QuarantineState.PENDING}
            await asyncio.sleep(TTL_SECONDS)
            await rig.workers["chain"].start()
            expired = await until(rig, lambda found: {one.state for one in found} == {QuarantineState.EXPIRED})
            await told(publisher, "rejected", publisher.sent)
        assert {o.reason for o in publisher.outcomes if o.outcome == "rejected"} == {"quarantine_expired"}
        assert await newest_told(rig) == {one.item_id: one for one in expired}


async def decide(rig: Rig, decision: str) -> str:
    group = QuarantineGroup(origin="pagerduty", subject="the mailer stood still")
    async with QuarantineDecisions(rig.settings) as decisions:
        give = decisions.approve if decision == "approve" else decisions.deny
        return await give(tenant="default", group=group, who="ada", why="It was looked at.")


async def test_guard_that_is_killed_while_it_carries_out_a_decision_lets_each_item_in_once() -> None:
    count = 200
    async with Rig("tansu") as rig:
        await rig.start_workers("chain")
        async with Publisher(rig.settings) as publisher:
            await publisher.send([suspicious(number) for number in range(count)])
            await publisher.until_all()
            held = publisher.sent
            decision_id = await decide(rig, "approve")
            await until(rig, lambda found: any(one.state is QuarantineState.RELEASED for one in found))
            await rig.kill("chain")
            await rig.workers["chain"].start()
            await told(publisher, "applied", {decision_id})
            await told(publisher, "remembered", held)
            [outcome] = {o.model_dump_json() for o in publisher.outcomes if o.event_id == decision_id}
        assert IncidentOutcome.model_validate_json(outcome).counts == {"items_released": count}
        # That it was held is told again where its event came again.
        assert {o.outcome for o in publisher.outcomes} == {"quarantined", "applied", "remembered"}
        released = await items(rig)
        assert [len(one.decisions) for one in released] == [1] * count
        assert await newest_told(rig) == {one.item_id: one for one in released}
        exported = b"\n".join(await rig.export("default"))
        assert exported.count(b'"node":"MemoryEpisode"') == count


async def test_quarantine_that_is_lost_is_put_back_from_its_topic_with_what_was_decided() -> None:
    async with Rig("tansu") as rig:
        await rig.start_workers("chain")
        async with Publisher(rig.settings) as publisher:
            await publisher.send([suspicious(number) for number in range(10)])
            await publisher.send([suspicious(number, "ledger") for number in range(10)])
            await publisher.until_all()
        async with OutcomeFollower(rig.settings) as follower:
            denied = await decide(rig, "deny")
            assert (await follower.outcomes([denied], SECONDS_MAX))[denied].counts == {"items_denied": 10}
        before = await items(rig)
        assert await newest_told(rig) == {one.item_id: one for one in before}
        # Under a guard that runs.
        async with rig.stores() as stores:
            await stores.redis.delete(GRAPH_NAME)
            await until(rig, lambda found: found == before)
            made = await Graph(stores.redis, GRAPH_NAME).read(cypher.LIST_INDEXES)
            assert {(label, field) for label, fields, _ in made for field in fields} == set(cypher.QUARANTINE_INDEXES)
        await rig.kill("chain")
        async with rig.stores() as stores:
            await stores.redis.delete(GRAPH_NAME)
        assert await items(rig) == []
        await rig.workers["chain"].start()
        assert await items(rig) == before
        # A broker that keeps its topics in memory has them back from files.
        await rig.kill("chain")
        await rig.kill("broker")
        async with rig.stores() as stores:
            await stores.redis.delete(GRAPH_NAME)
        await rig.parts["broker"].start()
        await create_topics(rig.settings)
        await rig.workers["chain"].start()
        assert await items(rig) == before
