"""The node of Apache Kafka that other tests rest on."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.kafka import KafkaServer, MissingRequirement
from tests.requirements import skip_or_fail

CALL_SECONDS_MAX = 30.0
TOPIC = "kept.v1"


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaServer]:
    try:
        server = KafkaServer()
    except MissingRequirement as lack:
        skip_or_fail(str(lack))
    server.start()
    yield server
    server.stop()


def test_kafka_keeps_what_it_acknowledged_when_it_is_killed(kafka: KafkaServer) -> None:
    _create(kafka, TOPIC)
    sent = [f"record {number}".encode() for number in range(100)]
    _produce(kafka, TOPIC, sent)
    kafka.kill9()
    kafka.restart()
    assert sent == _consume(kafka, TOPIC, len(sent))


def test_kafka_creates_no_topic_by_itself(kafka: KafkaServer) -> None:
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
        _produce(kafka, "undeclared.v1", [b"lost"])


def _create(kafka: KafkaServer, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for created in admin.create_topics([NewTopic(topic, 1, 1)]).values():
        created.result(CALL_SECONDS_MAX)


def _produce(kafka: KafkaServer, topic: str, values: list[bytes]) -> None:
    failures: list[KafkaException] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "topic.metadata.propagation.max.ms": 1000})
    for value in values:
        producer.produce(
            topic,
            value,
            partition=0,
            on_delivery=lambda error, _: failures.append(KafkaException(error)) if error else None,
        )
    assert producer.flush(CALL_SECONDS_MAX) == 0
    if failures:
        raise failures[0]


def _consume(kafka: KafkaServer, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "reader"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages = consumer.consume(count, CALL_SECONDS_MAX)
    consumer.close()
    return [message.value() for message in messages]
