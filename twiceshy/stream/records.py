"""What comes from a topic, and what goes to one."""

from collections.abc import Mapping
from dataclasses import dataclass

Headers = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a topic, as it came. ``value`` is None for a tombstone."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, bytes]
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Output:
    """One record to send. ``value`` None is a tombstone."""

    topic: str
    key: bytes
    value: bytes | None
    headers: Headers
    partition: int
