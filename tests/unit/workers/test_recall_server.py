"""The recall worker's side towards Kafka: who gets a reply, where, and what becomes of the rest."""

import asyncio
import struct
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from aiokafka.partitioner import murmur2

from twiceshy.errors import TransientError
from twiceshy.events.quarantine import AuditRecorded
from twiceshy.events.recall import REPLY_OF, ItemsReplied, Question, RecallReplied, RecallRequested, Reply
from twiceshy.settings import Settings
from twiceshy.stream.records import Output
from twiceshy.stream.topics import TOPICS
from workers.recall import ANSWERS_MAX, RecallServer

NOW_MS = 1_800_000_000_000
CORRELATION = b"\x00\xff\x10corr"
PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@dataclass
class FakeOutputs:
    sent: list[Output] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=lambda: {"recall.replies.demo": 6, "recall.replies.demo.agent-7": 3})
    asked: list[str] = field(default_factory=list)
    away: bool = False

    async def send(self, outputs: Sequence[Output]) -> list[int]:
        if self.away:
            raise TransientError("Kafka is away")
        self.sent += outputs
        return [0] * len(outputs)

    async def partitions(self, topic: str) -> int | None:
        self.asked.append(topic)
        return self.topics.get(topic)


@dataclass
class FakeRecall:
    settings: Settings = field(default_factory=lambda: Settings(tenants=("demo", "demo-2")))
    asked: list[tuple[Any, float]] = field(default_factory=list)
    seconds: float = 0.0
    under_way: int = 0
    most_under_way: int = 0
    failure: Exception | None = None

    async def answer(self, request: RecallRequested | Question, *, queued_ms: float) -> Reply:
        self.asked.append((request, queued_ms))
        self.under_way += 1
        self.most_under_way = max(self.under_way, self.most_under_way)
        await asyncio.sleep(self.seconds)
        self.under_way -= 1
        if self.failure:
            raise self.failure
        return REPLY_OF[type(request)](status="ok")


@dataclass
class Served:
    outputs: FakeOutputs = field(default_factory=FakeOutputs)
    recall: FakeRecall = field(default_factory=FakeRecall)
    finished: list[Any] = field(default_factory=list)

    async def serve(self, *events: Any) -> list[Output]:
        recall: Any = self.recall
        outputs: Any = self.outputs
        server = RecallServer(recall, outputs, self.finished.append, clock_ms=lambda: NOW_MS)
        await server.run(_stream(events))
        return self.outputs.sent


async def _stream(events: Sequence[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event


def event(
    body: dict[str, Any] | bytes | None = None,
    *,
    waited_ms: int = 0,
    ce_type: str = "recall.requested.v1",
    **headers: Any,
) -> Any:
    told: dict[str, bytes | None] = {
        "ce_id": b"1",
        "ce_source": b"tests",
        "ce_type": ce_type.encode(),
        "kafka_replyTopic": b"recall.replies.demo",
        "kafka_correlationId": CORRELATION,
        **headers,
    }
    value = body if isinstance(body, bytes) else orjson.dumps(body or {"tenant": "demo", "query": "x"})
    return SimpleNamespace(
        message=SimpleNamespace(
            topic=TOPICS.recall_requests.name,
            partition=0,
            offset=7,
            key=None,
            value=value,
            headers=[(name, header) for name, header in told.items() if header is not None],
            timestamp=(NOW_MS - waited_ms) / 1_000,
            timestamp_type=0,
        )
    )


def enveloped(**changes: Any) -> Any:
    """A request in structured mode."""
    attributes = {"specversion": "1.0", "id": "1", "source": "tests", "type": "recall.requested.v1"}
    asked = event(orjson.dumps({**attributes, "data": {"tenant": "demo", "query": "x"}, **changes}))
    others = [pair for pair in asked.message.headers if not pair[0].startswith("ce_")]
    asked.message.headers = [*others, ("content-type", b"application/cloudevents+json; charset=utf-8")]
    return asked


def header(output: Output, name: str) -> bytes:
    return dict(output.headers)[name]


def replied(output: Output) -> RecallReplied:
    return RecallReplied.model_validate_json(output.value or b"")


async def test_reply_goes_where_the_headers_say_with_the_correlation_id_as_it_came() -> None:
    [reply] = await Served().serve(event(kafka_replyPartition=struct.pack(">i", 4)))
    assert (reply.topic, reply.partition, reply.key) == ("recall.replies.demo", 4, CORRELATION)
    assert header(reply, "kafka_correlationId") == CORRELATION
    assert header(reply, "ce_type") == b"recall.replied.v1"
    assert replied(reply).status == "ok"


async def test_reply_and_refusal_carry_the_trace_of_the_request() -> None:
    trace: dict[str, Any] = {"traceparent": PARENT, "tracestate": b"a=1"}
    for topic in (b"recall.replies.demo", b"recall.replies.stranger"):
        [output] = await Served().serve(event(kafka_replyTopic=topic, **trace))
        assert (header(output, "traceparent"), header(output, "tracestate")) == (PARENT, b"a=1")
    [reply] = await Served().serve(event(traceparent=b"00-ab-cd-01"))
    assert "traceparent" not in dict(reply.headers)


async def test_a_question_in_structured_mode_is_answered() -> None:
    served = Served()
    [reply] = await served.serve(enveloped(traceparent=PARENT.decode()))
    assert [request.query for request, _ in served.recall.asked] == ["x"]
    assert (reply.topic, reply.key) == ("recall.replies.demo", CORRELATION)
    assert header(reply, "traceparent") == PARENT
    assert replied(reply).status == "ok"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": ""}, "Set the attribute source"),
        ({"specversion": "0.3"}, "specversion must be"),
        ({"type": "weather.requested.v1"}, "no event type"),
        ({"data": {"tenant": "demo", "limit": 999}}, "limit"),
    ],
)
async def test_a_bad_envelope_gets_an_error_reply_that_names_the_attribute(changes: dict[str, Any], words: str) -> None:
    [reply] = await Served().serve(enveloped(**changes))
    assert replied(reply).status == "invalid"
    assert words in (replied(reply).detail or "")


@pytest.mark.parametrize("changes", [{}, {"source": ""}])
async def test_a_question_about_another_tenant_is_refused_in_structured_mode(changes: dict[str, Any]) -> None:
    [output] = await Served().serve(enveloped(data={"tenant": "demo-2", "query": "x"}, **changes))
    assert output.topic == TOPICS.audit.name
    assert AuditRecorded.model_validate_json(output.value or b"").detail["reason"] == "other_tenant"


async def test_without_a_partition_the_correlation_id_chooses_one() -> None:
    [reply] = await Served().serve(event())
    assert reply.partition == (murmur2(CORRELATION) & 0x7FFFFFFF) % 6


async def test_a_topic_below_the_tenants_is_as_good() -> None:
    [reply] = await Served().serve(event(kafka_replyTopic=b"recall.replies.demo.agent-7"))
    assert reply.topic == "recall.replies.demo.agent-7"


async def test_last_header_of_a_name_counts() -> None:
    doubled = event()
    doubled.message.headers.insert(0, ("kafka_correlationId", b"first"))
    [reply] = await Served().serve(doubled)
    assert header(reply, "kafka_correlationId") == CORRELATION


@pytest.mark.parametrize(
    ("topic", "tenant", "reason"),
    [
        (b"memory.log.v1", None, "no_reply_topic"),
        (b"recall.replies.stranger", None, "no_reply_topic"),
        (b"recall.replies.demo-3", None, "no_reply_topic"),
        (b"recall.replies.demo/../x", None, "no_reply_topic"),
        (b"\xff\xfe", None, "no_reply_topic"),
        (b"recall.replies.demo.missing", "demo", "missing"),
        (b"recall.replies.demo-2", "demo-2", "missing"),
    ],
)
async def test_no_reply_goes_elsewhere_and_that_is_on_record(topic: bytes, tenant: str | None, reason: str) -> None:
    served = Served()
    [output] = await served.serve(event(kafka_replyTopic=topic))
    assert output.topic == TOPICS.audit.name
    audit = AuditRecorded.model_validate_json(output.value or b"")
    assert (audit.kind, audit.tenant, audit.detail["reason"]) == ("refused_reply_topic", tenant, reason)
    assert served.recall.asked == []


@pytest.mark.parametrize("body", [{"tenant": "demo-2", "query": "x"}, {"tenant": "demo-2", "query": 7}])
async def test_a_question_about_another_tenant_is_refused(body: dict[str, Any]) -> None:
    served = Served()
    [output] = await served.serve(event(body))
    assert output.topic == TOPICS.audit.name
    assert AuditRecorded.model_validate_json(output.value or b"").detail["reason"] == "other_tenant"
    assert served.recall.asked == []


@pytest.mark.parametrize("partition", [b"", b"\x01", struct.pack(">i", -1), struct.pack(">i", 6)])
async def test_a_partition_that_is_not_there_is_refused(partition: bytes) -> None:
    [output] = await Served().serve(event(kafka_replyPartition=partition))
    assert AuditRecorded.model_validate_json(output.value or b"").detail["reason"] == "no_such_partition"


@pytest.mark.parametrize("missing", ["kafka_replyTopic", "kafka_correlationId"])
async def test_without_a_way_back_nothing_is_said(missing: str) -> None:
    served = Served()
    without: dict[str, Any] = {missing: None}
    assert await served.serve(event(**without)) == []
    assert len(served.finished) == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "JSON"),
        (b"", "JSON"),
        ({"tenant": "demo", "limit": 999}, "limit"),
        ({"tenant": "demo", "query": "x", "surprise": 1}, "surprise"),
        ({"query": "x"}, "tenant"),
    ],
)
async def test_a_bad_body_gets_an_error_reply_that_names_the_field(body: Any, words: str) -> None:
    [reply] = await Served().serve(event(body))
    assert replied(reply).status == "invalid"
    assert words in (replied(reply).detail or "")


async def test_a_tombstone_gets_an_error_reply() -> None:
    tombstone = event()
    tombstone.message.value = None
    [reply] = await Served().serve(tombstone)
    assert replied(reply).status == "invalid"


async def test_an_unknown_type_gets_an_error_reply() -> None:
    for ce_type, words in (("incident.concluded.v1", "no question"), ("weather.requested.v1", "no event type")):
        [reply] = await Served().serve(event(ce_type=ce_type))
        assert words in (replied(reply).detail or "")
    [reply] = await Served().serve(event(ce_id=None))
    assert "ce_id" in (replied(reply).detail or "")


QUESTIONS: dict[str, dict[str, Any]] = {
    "history": {"subject": "service:payments", "predicate": "owner"},
    "value": {"subject": "service:payments", "predicate": "owner", "known_at": "2026-05-01T00:00:00Z"},
    "entities": {"origin": "pagerduty", "fingerprint": "PD-1/2026"},
    "items": {"ids": ["1", "2"]},
    "aliases": {},
}


@pytest.mark.parametrize("name", QUESTIONS)
async def test_every_question_gets_its_own_reply(name: str) -> None:
    served = Served()
    [reply] = await served.serve(event({"tenant": "demo", **QUESTIONS[name]}, ce_type=f"{name}.requested.v1"))
    assert header(reply, "ce_type") == f"{name}.replied.v1".encode()
    assert type(served.recall.asked[0][0]).__name__.lower().startswith(name)


@pytest.mark.parametrize(
    ("failure", "status"), [(None, "expired"), (RuntimeError("a bug"), "unavailable"), (None, "invalid")]
)
async def test_an_error_is_a_reply_of_the_questions_own_kind(failure: Exception | None, status: str) -> None:
    served = Served(recall=FakeRecall(failure=failure))
    body: dict[str, Any] = {"tenant": "demo", **QUESTIONS["items"], "deadline_ms": 100}
    if status == "invalid":
        body["ids"] = ["1"] * 101
    waited_ms = 200 if status == "expired" else 0
    [reply] = await served.serve(event(body, ce_type="items.requested.v1", waited_ms=waited_ms))
    told = ItemsReplied.model_validate_json(reply.value or b"")
    assert told.status == status
    assert status != "invalid" or "ids: Tuple should have at most 100 items" in (told.detail or "")


async def test_time_in_the_queue_counts_and_an_expired_request_is_skipped() -> None:
    served = Served()
    body = {"tenant": "demo", "query": "x", "deadline_ms": 300}
    [late] = await served.serve(event(body, waited_ms=301))
    assert replied(late).status == "expired"
    assert served.recall.asked == []
    await served.serve(event(body, waited_ms=40))
    assert [queued for _, queued in served.recall.asked] == [40.0]


async def test_a_clock_that_is_ahead_does_not_give_more_time() -> None:
    served = Served()
    await served.serve(event(waited_ms=-5_000))
    assert [queued for _, queued in served.recall.asked] == [0.0]


async def test_requests_are_acknowledged_on_receipt_and_answered_side_by_side() -> None:
    served = Served(recall=FakeRecall(seconds=0.05))
    events = [event() for _ in range(3 * ANSWERS_MAX)]
    started = asyncio.get_running_loop().time()
    sent = await served.serve(*events)
    assert asyncio.get_running_loop().time() - started < 1.0
    assert served.finished == events
    assert len(sent) == len(events)
    assert served.recall.most_under_way == ANSWERS_MAX


async def test_a_failure_stays_with_its_request() -> None:
    served = Served(recall=FakeRecall(failure=RuntimeError("a bug")))
    replies = await served.serve(event(), event())
    assert [replied(reply).status for reply in replies] == ["unavailable", "unavailable"]
    assert len(served.finished) == 2


async def test_a_broker_that_is_away_loses_replies_and_no_more() -> None:
    served = Served(outputs=FakeOutputs(away=True))
    assert await served.serve(event(), event(kafka_replyTopic=b"memory.log.v1")) == []
    assert len(served.finished) == 2


async def test_whether_a_topic_exists_is_asked_once_in_a_while() -> None:
    served = Served()
    await served.serve(*(event() for _ in range(5)))
    assert served.outputs.asked == ["recall.replies.demo"]


async def test_stop_lets_answers_finish_and_takes_no_more() -> None:
    served = Served(recall=FakeRecall(seconds=0.1))
    recall: Any = served.recall
    outputs: Any = served.outputs
    server = RecallServer(recall, outputs, served.finished.append, clock_ms=lambda: NOW_MS)

    async def endless() -> AsyncIterator[Any]:
        yield event()
        await asyncio.sleep(60)
        yield event()

    running = asyncio.create_task(server.run(endless()))
    await asyncio.sleep(0.02)
    server.stop()
    await asyncio.wait_for(running, 5)
    assert len(served.outputs.sent) == 1
