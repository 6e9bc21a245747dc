"""CloudEvents on the wire: an event in structured mode is remembered, and its trace is found on every hop."""

from collections.abc import AsyncIterator

import orjson
import pytest
from aiokafka import ConsumerRecord, TopicPartition

from tests.incidents import incident
from tests.records import structured
from tests.rig import SOURCE, Publisher, Rig
from twiceshy import IncidentPublisher, OutcomeFollower, RecallClient
from twiceshy.core.ids import event_id
from twiceshy.stream.admin import end_offsets, reader
from twiceshy.stream.codec import encode
from twiceshy.stream.records import Output
from twiceshy.stream.topics import TOPICS, Topic

SECONDS_MAX = 60.0
INPUT = TOPICS.incidents_concluded
HOPS = (
    TOPICS.memory_log,
    TOPICS.memory_recorded,
    TOPICS.memory_reflected,
    TOPICS.memory_consolidated,
    TOPICS.incidents_outcomes,
)


@pytest.fixture(scope="module", name="rig")
async def _rig() -> AsyncIterator[Rig]:
    async with Rig("tansu") as rig:
        await rig.start_workers("chain", "recall")
        yield rig


def trace(number: int) -> str:
    return f"00-{number:032x}-b7ad6b7169203331-01"


async def everything(rig: Rig, topic: Topic) -> list[ConsumerRecord]:
    """All records of a topic."""
    found: list[ConsumerRecord] = []
    async with reader(rig.settings) as consumer:
        for number, end in (await end_offsets(consumer, topic)).items():
            partition = TopicPartition(topic.name, number)
            consumer.assign([partition])
            await consumer.seek_to_beginning(partition)
            while await consumer.position(partition) < end:
                found += (await consumer.getmany(partition, timeout_ms=200)).get(partition, [])
    return found


async def carrying(rig: Rig, topic: Topic, traceparent: str) -> list[ConsumerRecord]:
    """The records of a topic that carry a trace."""
    return [r for r in await everything(rig, topic) if ("traceparent", traceparent.encode()) in r.headers]


async def publish_raw(publisher: Publisher, value: bytes) -> None:
    headers = (("content-type", b"application/cloudevents+json; charset=utf-8"),)
    await publisher.send_raw([Output(INPUT.name, b"key", value, headers, 0)])


async def test_structured_event_is_remembered_and_every_hop_carries_its_trace(rig: Rig) -> None:
    said = incident(1)
    envelope = structured(said, source=SOURCE, traceparent=trace(1), tracestate="rojo=1")
    async with Publisher(rig.settings) as publisher:
        await publish_raw(publisher, envelope.value or b"")
        publisher.sent.add(event_id(said.tenant, SOURCE, "1", encode(said)))
        await publisher.until_all(SECONDS_MAX)
        [outcome] = [told for told in publisher.outcomes if told.event_id in publisher.sent]
    assert (outcome.outcome, outcome.fingerprint, outcome.current) == ("remembered", said.fingerprint, True)
    for topic in HOPS:
        [hop] = await carrying(rig, topic, trace(1))
        assert ("tracestate", b"rojo=1") in hop.headers
        assert ("content-type", b"application/json") in hop.headers
    assert outcome.event_id in {orjson.loads(hop.value)["event_id"] for hop in await everything(rig, HOPS[-1])}


async def test_dead_letter_of_a_structured_event_is_the_original_with_its_trace(rig: Rig) -> None:
    said = incident(2)
    envelope = structured(said, source=SOURCE, specversion="0.3", traceparent=trace(2))
    async with Publisher(rig.settings) as publisher:
        await publish_raw(publisher, envelope.value or b"")
        publisher.sent.add(event_id(said.tenant, SOURCE, "1", encode(said)))
        await publisher.until_all(SECONDS_MAX)
        [outcome] = [told for told in publisher.outcomes if told.event_id in publisher.sent]
    assert (outcome.outcome, outcome.reason) == ("dead_lettered", "unknown_specversion")
    [letter] = await carrying(rig, TOPICS.dead_letters.named(topic=INPUT.name), trace(2))
    assert (letter.key, letter.value) == (b"key", envelope.value)
    assert len(await carrying(rig, TOPICS.incidents_outcomes, trace(2))) == 1


async def test_client_tells_its_trace_and_finds_it_on_what_comes_back(rig: Rig) -> None:
    async with OutcomeFollower(rig.settings) as follower, IncidentPublisher(rig.settings) as publisher:
        published = await publisher.publish(incident(3), traceparent=trace(3))
        untraced = await publisher.publish(incident(4), traceparent="00-1")
        outcomes = await follower.outcomes([published, untraced], SECONDS_MAX)
    assert {told.outcome for told in outcomes.values()} == {"remembered"}
    [told] = await carrying(rig, TOPICS.incidents_outcomes, trace(3))
    assert orjson.loads(told.value)["event_id"] == published
    async with RecallClient(rig.settings) as client:
        reply = await client.recall(tenant="default", query=incident(3).title, deadline_ms=5_000, traceparent=trace(4))
    assert reply.status == "ok"
    assert len(await carrying(rig, TOPICS.recall_requests, trace(4))) == 1
    assert len(await carrying(rig, TOPICS.recall_replies.named(tenant="default"), trace(4))) == 1
