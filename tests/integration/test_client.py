"""The client against a whole stack: publishing, following what became of it, and asking."""

import asyncio
import struct
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from pydantic import ValidationError

from tests.incidents import incident
from tests.memory import read_incidents
from tests.rig import Rig
from twiceshy import IncidentPublisher, MemoryCommands, OutcomeFollower, RecallClient, RecallTimeoutError
from twiceshy.contracts import EXAMPLE_INCIDENTS
from twiceshy.errors import PoisonError, TransientError
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded
from twiceshy.events.recall import RecallReplied, RecallRequested
from twiceshy.settings import Settings
from twiceshy.stream.codec import encode, event_headers
from twiceshy.stream.topics import TOPICS

SECONDS_MAX = 60.0
CHANGED_AT = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
async def settings() -> AsyncIterator[Settings]:
    async with Rig("tansu") as rig:
        await rig.start_workers("chain", "recall")
        async with OutcomeFollower(rig.settings) as follower, IncidentPublisher(rig.settings) as publisher:
            event_ids = await publisher.publish_many(read_incidents(EXAMPLE_INCIDENTS), changed_at=CHANGED_AT)
            outcomes = await follower.outcomes(event_ids, SECONDS_MAX)
        assert {outcome.outcome for outcome in outcomes.values()} == {"remembered"}
        yield rig.settings


@pytest.fixture(scope="module")
async def client(settings: Settings) -> AsyncIterator[RecallClient]:
    async with RecallClient(settings) as client:
        yield client


async def published(settings: Settings, number: int, **options: Any) -> tuple[str, IncidentOutcome]:
    async with OutcomeFollower(settings) as follower, IncidentPublisher(settings) as publisher:
        event_id = await publisher.publish(incident(number), **options)
        return event_id, (await follower.outcomes([event_id], SECONDS_MAX))[event_id]


async def test_recall_finds_what_was_published(client: RecallClient) -> None:
    reply = await client.recall(tenant="demo", query="a WAF rule used up every CPU", deadline_ms=5_000)
    assert reply.status == "ok"
    assert reply.results[0].fingerprint == "cloudflare/2019-07-02"
    assert reply.parts_ms["queue"] >= 0.0


async def test_every_other_question_gets_a_reply_of_its_kind(client: RecallClient) -> None:
    subject, predicate = "service:cloudflare", "waf_regex_cpu_protection"
    history = await client.history("demo", subject, predicate, deadline_ms=5_000)
    value = await client.at("demo", subject, predicate, deadline_ms=5_000)
    assert history.versions[-1].id == value.facts[0].id
    before = await client.at("demo", subject, predicate, as_of="2000-01-01T00:00:00Z", deadline_ms=5_000)
    assert (before.status, before.facts) == ("ok", ())
    entities = await client.entities_of("demo", "public-postmortems", "cloudflare/2019-07-02", deadline_ms=5_000)
    fetched = await client.fetch("demo", [value.facts[0].id, entities.episode_id or "", "nobody"], deadline_ms=5_000)
    assert [item.kind for item in fetched.items] == ["fact", "episode"]
    assert fetched.missing_ids == ("nobody",)
    assert "component:waf" in [entity.key for entity in entities.entities]
    aliases = await client.aliases("demo", deadline_ms=5_000)
    assert (aliases.status, aliases.aliases) == ("ok", ())
    with pytest.raises(ValidationError, match="at most 100 items"):
        await client.fetch("demo", ["x"] * 101)


async def test_recall_reads_what_an_outcome_says_is_written(settings: Settings, client: RecallClient) -> None:
    _, outcome = await published(settings, 1)
    reply = await client.recall(tenant="default", query=incident(1).title, at_least=outcome.known_at, deadline_ms=5_000)
    assert reply.results[0].fingerprint == "test/1"


async def test_same_publication_twice_is_one_event(settings: Settings) -> None:
    first, _ = await published(settings, 2, changed_at=CHANGED_AT)
    again, outcome = await published(settings, 2, changed_at=CHANGED_AT)
    assert again == first
    assert outcome.outcome == "remembered"
    later, outcome = await published(settings, 2, changed_at=CHANGED_AT.replace(day=2))
    assert later != first
    assert outcome.outcome == "reaffirmed"


async def test_backfill_is_remembered_as_well(settings: Settings) -> None:
    _, outcome = await published(settings, 3, backfill=True)
    assert outcome.outcome == "remembered"


async def test_an_event_that_is_too_long_is_refused_before_it_is_sent(settings: Settings) -> None:
    long = incident(4, details="…" * 98_304)
    async with IncidentPublisher(settings) as publisher:
        with pytest.raises(PoisonError, match="too_large"):
            await publisher.publish(long)


async def test_following_an_event_that_nobody_published_ends(settings: Settings) -> None:
    async with OutcomeFollower(settings) as follower:
        with pytest.raises(TimeoutError, match="1 events have no outcome"):
            await follower.outcomes(["nobody"], 0.2)
        assert await follower.next(0.0) == []


async def test_many_questions_at_once_get_each_their_own_reply(client: RecallClient) -> None:
    incidents = read_incidents(EXAMPLE_INCIDENTS)
    replies = await asyncio.gather(
        *(client.recall(tenant="demo", query=told.title, deadline_ms=30_000, limit=1) for told in incidents)
    )
    assert [reply.results[0].fingerprint for reply in replies] == [told.fingerprint for told in incidents]
    assert client.dropped == 0


async def test_an_invalid_question_gets_a_reply(client: RecallClient) -> None:
    reply = await client.recall(tenant="demo", query=" ", deadline_ms=5_000)
    assert (reply.status, reply.results) == ("invalid", ())


async def test_a_tenant_without_a_topic_is_told(client: RecallClient) -> None:
    with pytest.raises(TransientError, match="There is no topic"):
        await client.recall(tenant="stranger", query="x")


async def test_a_broker_that_is_away_is_told() -> None:
    nowhere = Settings(kafka="127.0.0.1:1")
    for context in (
        RecallClient(nowhere), IncidentPublisher(nowhere), MemoryCommands(nowhere), OutcomeFollower(nowhere)
    ):  # fmt: skip
        with pytest.raises(TransientError, match="does not answer"):
            await context.__aenter__()


async def test_a_reply_that_nobody_waits_for_is_dropped_and_counted(settings: Settings) -> None:
    async with RecallClient(settings) as client, AIOKafkaProducer(bootstrap_servers=settings.kafka) as producer:
        await client.recall(tenant="demo", query="redis", deadline_ms=5_000)
        for partition in range(TOPICS.recall_replies.partitions):
            stray = [("kafka_correlationId", b"nobody")]
            await producer.send_and_wait("recall.replies.demo", b"{}", partition=partition, headers=stray)
        async with asyncio.timeout(SECONDS_MAX):
            while client.dropped < 1:
                await asyncio.sleep(0.01)
        reply = await client.recall(tenant="demo", query="redis", deadline_ms=5_000)
        assert (reply.status, client.dropped) == ("ok", 1)


async def test_without_a_worker_the_client_says_what_to_look_at() -> None:
    async with Rig("tansu") as rig, RecallClient(rig.settings) as client:
        with pytest.raises(RecallTimeoutError, match="See whether the worker recall runs"):
            await client.recall(tenant="demo", query="x", deadline_ms=1)


async def test_another_kafka_client_can_ask(settings: Settings) -> None:
    """The contract is Kafka's headers: this caller names no partition, and its correlation id is no text."""
    correlation_id = b"\x00\xff" + uuid.uuid4().bytes
    request = RecallRequested(tenant="demo", query="redis did not come back after a reboot", deadline_ms=5_000)
    headers = dict(event_headers(RecallRequested, event_id="1", source="other"))
    headers |= {"kafka_replyTopic": b"recall.replies.demo", "kafka_correlationId": correlation_id}
    record = await _exchange(
        settings,
        "recall.replies.demo",
        encode(request),
        headers,
        lambda record: dict(record.headers).get("kafka_correlationId") == correlation_id,
    )
    assert RecallReplied.model_validate_json(record.value).results[0].fingerprint == "github/2016-01-28"


async def test_a_reply_topic_of_another_tenant_is_refused_and_on_record(settings: Settings) -> None:
    request = RecallRequested(tenant="demo", query="redis", deadline_ms=5_000)
    headers = dict(event_headers(RecallRequested, event_id="1", source="other"))
    headers |= {
        "kafka_replyTopic": b"recall.replies.public",
        "kafka_replyPartition": struct.pack(">i", 0),
        "kafka_correlationId": b"1",
    }
    record = await _exchange(settings, TOPICS.audit.name, encode(request), headers, lambda _: True)
    audit = AuditRecorded.model_validate_json(record.value)
    assert (audit.kind, audit.tenant, audit.detail["reason"]) == ("refused_reply_topic", "public", "other_tenant")


async def _exchange(
    settings: Settings, topic: str, body: bytes, headers: dict[str, bytes], wanted: Callable[[Any], bool]
) -> Any:
    """Sends a request and returns the first record of ``topic`` after it that is the one ``wanted``."""
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka, fetch_max_wait_ms=settings.fetch_wait_ms)
    async with consumer, AIOKafkaProducer(bootstrap_servers=settings.kafka) as producer:
        partitions = [TopicPartition(topic, number) for number in range(TOPICS.recall_replies.partitions)]
        consumer.assign(partitions)
        await consumer.seek_to_end(*partitions)
        for partition in partitions:
            await consumer.position(partition)
        await producer.send_and_wait(TOPICS.recall_requests.name, body, headers=list(headers.items()))
        async with asyncio.timeout(SECONDS_MAX):
            while not wanted(record := await consumer.getone()):
                pass
            return record
