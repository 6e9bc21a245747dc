"""What comes from a topic, and what goes to one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiokafka import ConsumerRecord

Headers = tuple[tuple[str, bytes], ...]

RECORD_BYTES_MAX = 1_000_000
"""What we send at most. A broker's own limit is 1,048,588 bytes, unless set otherwise, with what it adds."""

LOG_APPEND_TIME = 1
"""Kafka's number for a timestamp that the broker has set, and not the producer."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a topic, as it came. ``value`` is None for a tombstone.

    ``appended_ms`` is the broker's word for when the record came to it, of a topic that has LogAppendTime; else None.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, bytes]
    timestamp_ms: int
    appended_ms: int | None = None

    @classmethod
    def of(cls, message: Any, *, timestamp_ms: int) -> "Record":
        """A message of Faust, or of aiokafka's own consumer: they tell the time in other units."""
        return cls(
            topic=message.topic,
            partition=message.partition,
            offset=message.offset,
            key=message.key,
            value=message.value,
            # A header may be null on the wire. One without a value says as much as one that is missing.
            headers={name: value for name, value in message.headers or () if value is not None},
            timestamp_ms=timestamp_ms,
            appended_ms=timestamp_ms if message.timestamp_type == LOG_APPEND_TIME else None,
        )

    @classmethod
    def of_consumer(cls, message: ConsumerRecord) -> "Record":
        """A record as aiokafka's own consumer gives it."""
        return cls.of(message, timestamp_ms=message.timestamp or 0)


@dataclass(frozen=True, slots=True)
class Output:
    """One record to send. ``value`` None is a tombstone."""

    topic: str
    key: bytes
    value: bytes | None
    headers: Headers
    partition: int


def size(output: Output) -> int:
    """Bytes of key, value and headers, as good as what a broker counts."""
    headers = sum(len(name.encode()) + len(value) for name, value in output.headers)
    return len(output.key) + len(output.value or b"") + headers
