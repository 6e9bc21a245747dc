"""What a replay sends: which topics it can read, from where to where, and what of a record goes out again.

Pure. A record goes out under the ids and with the bytes that it came with, so that guard derives the event id
that it had, and what memory has already changes nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from hashlib import sha256
from typing import Any

from pydantic import TypeAdapter, ValidationError

from twiceshy.core.ids import event_id
from twiceshy.core.memory import key_of
from twiceshy.errors import PoisonError
from twiceshy.events.chain import EntryLogged
from twiceshy.events.common import Instant, instant, milliseconds
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stream.codec import claimed, claims, decode, encode, event_headers
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.records import RECORD_BYTES_MAX, Headers, Output, Record, size
from twiceshy.stream.signing import came_signed
from twiceshy.stream.topics import TOPICS, Topic

INPUTS = (TOPICS.incidents_concluded, TOPICS.incidents_backfill)
TARGET = TOPICS.incidents_backfill
WITHHELD = "dlq_withheld"
REDACTED = "dlq_redacted"

_LETTER_HEADERS = "dlq_"
_OFFSET = re.compile(r"^offset:(\d{1,18})$")
_TIME: TypeAdapter[Any] = TypeAdapter(Instant)


class Kind(Enum):
    """What the records of a topic are, which decides what of them goes out again."""

    EVENTS = "events"
    ENTRIES = "entries"
    LETTERS = "letters"


REPLAYABLE: dict[str, tuple[Topic, Kind]] = {
    **{topic.name: (topic, Kind.EVENTS) for topic in INPUTS},
    TOPICS.memory_log.name: (TOPICS.memory_log, Kind.ENTRIES),
    **{
        letters.name: (letters, Kind.LETTERS)
        for letters in (TOPICS.dead_letters.named(topic=topic.name) for topic in INPUTS)
    },
}


class Why(StrEnum):
    """Why a record is passed over."""

    TOMBSTONE = "tombstones"
    OTHER_KIND = "entries of another kind than incident"
    ERASED = "entries that were erased"
    RELEASED = "entries that a person released from quarantine"
    OTHER_BYTES = "entries of which the log keeps other bytes than were published"
    UNREADABLE = "entries that cannot be read"
    UNSIGNED = "entries that were signed when they were published, while this replay signs nothing"
    GONE = "dead letters whose value was withheld, or changed after it was signed, and whose original is gone"
    TOO_LARGE = "records that are larger than a broker takes"


UNSENT: Mapping[Why, str] = {
    Why.OTHER_BYTES: "Replay the topic they were published to, which has the bytes; or send them as events of their "
    "own with --as-new-events.",
    Why.UNSIGNED: "Name a `credential` for their origins in twiceshy.toml, and replay them again; or send them as "
    "unsigned events of their own with --as-new-events.",
    Why.UNREADABLE: "A later version of this software may have written them: use that one.",
    Why.GONE: "Publish these incidents again from where they came.",
    Why.TOO_LARGE: "Shorten these incidents and publish them again.",
}
"""What a replay should have sent and cannot, and what a person can do about it."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A place in a topic: one offset in each partition, or a time."""

    text: str
    offset: int | None = None
    time_ms: int | None = None


def parse_bound(text: str) -> Bound:
    """The bound that ``text`` names: ``offset:N``, or an RFC 3339 time with an offset.

    Raises:
        ValueError: it is neither; the message ends a sentence that begins with the option's name.
    """
    if found := _OFFSET.match(text):
        return Bound(text, offset=int(found[1]))
    try:
        return Bound(text, time_ms=milliseconds(_TIME.validate_python(text)))
    except ValidationError:
        raise ValueError(
            "must be an RFC 3339 time with an offset, such as 2026-11-02T03:10:00Z, or offset:N, such as offset:120."
        ) from None


@dataclass(frozen=True, slots=True)
class Span:
    """From where (included) to where (excluded) a replay reads. None is as far as the topic goes."""

    begin: Bound | None = None
    until: Bound | None = None

    def offsets(self, begin: int, end: int) -> tuple[int, int]:
        """The part of a partition's offsets, ``begin`` to ``end``, that the offsets of the bounds leave."""
        first = begin if self.begin is None or self.begin.offset is None else max(begin, self.begin.offset)
        last = end if self.until is None or self.until.offset is None else min(end, self.until.offset)
        return min(first, end), max(last, min(first, end))

    def has_time(self, at_ms: int) -> bool:
        after = self.begin is None or self.begin.time_ms is None or at_ms >= self.begin.time_ms
        return after and (self.until is None or self.until.time_ms is None or at_ms < self.until.time_ms)

    @property
    def empty(self) -> bool:
        """Whether nothing can lie between the bounds."""
        if self.begin is None or self.until is None:
            return False
        if self.begin.offset is not None and self.until.offset is not None:
            return self.begin.offset >= self.until.offset
        if self.begin.time_ms is not None and self.until.time_ms is not None:
            return self.begin.time_ms >= self.until.time_ms
        return False


@dataclass(frozen=True, slots=True)
class Selected:
    """A record to send, and what it says about itself. ``at_ms`` is when it was published, or admitted."""

    output: Output
    event_id: str
    tenant: str | None
    origin: str | None
    fingerprint: str | None
    at_ms: int
    vouched: bool = False
    """It was signed when it was published, and the signature is not in the log: whoever replays signs it anew."""


Picked = Selected | Why | None
"""What becomes of a record: it is sent, passed over, or (None) outside of what was asked for."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a topic was asked for. ``signs`` is whether whoever replays signs what is sent."""

    span: Span = Span()
    tenant: str | None = None
    as_new_events: bool = False
    signs: bool = False

    def event(self, record: Record) -> Picked:
        """What becomes of a record of an input topic."""
        if not self.span.has_time(record.timestamp_ms):
            return None
        return self._again(record, record.timestamp_ms)

    def letter(self, letter: Record, original: Record | None) -> Picked:
        """What becomes of a dead letter: its original goes out as it stands, or what the letter has of it."""
        if not self.span.has_time(letter.timestamp_ms):
            return None
        if original is not None:
            return self._again(original, letter.timestamp_ms)
        # What was changed is no longer what was signed: guard would refuse it, and write another letter.
        changed = REDACTED in letter.headers and came_signed(letter, claimed(letter))
        if changed or WITHHELD in letter.headers:
            return Why.GONE
        return self._again(_without_reasons(letter), letter.timestamp_ms)

    def entry(self, record: Record, erased: frozenset[bytes]) -> Picked:
        """What becomes of a record of the log.

        Its time is that of its admission: a broker that got the log back has all its records at one time.
        """
        if record.value is None:
            return Why.TOMBSTONE
        try:
            entry = decode(record, EntryLogged)
        except PoisonError:
            return Why.UNREADABLE
        if not self.span.has_time(entry.admitted_at) or self.tenant not in (None, entry.tenant):
            return None
        if record.key in erased:
            return Why.ERASED
        if entry.kind != "incident" or entry.incident is None:
            return Why.OTHER_KIND
        if entry.admission.how == "released":
            return Why.RELEASED
        return self._admitted(entry, entry.incident)

    def _admitted(self, entry: EntryLogged, incident: IncidentConcluded) -> Picked:
        body, signed = encode(incident), entry.admission.signed_by is not None
        named, vouched = (entry.tenant, entry.ce_source, entry.ce_id, body), signed and self.signs
        if not self.as_new_events:
            if event_id(*named, signed=signed) != entry.event_id:
                return Why.OTHER_BYTES
            if signed and not vouched:
                return Why.UNSIGNED
        headers = event_headers(
            IncidentConcluded,
            event_id=entry.ce_id,
            source=entry.ce_source,
            time=instant(entry.revised_at).isoformat(),
        )
        key = f"{entry.tenant}/{key_of(incident)}".encode()
        output = Output(TARGET.name, key, body, headers, tenant_partition(entry.tenant, TARGET))
        about = (entry.tenant, incident.origin.name, incident.fingerprint, entry.admitted_at)
        return _fitting(Selected(output, event_id(*named, signed=vouched), *about, vouched=vouched))

    def _again(self, record: Record, at_ms: int) -> Picked:
        """The record as it came, in whichever mode, on its way to the same tenant."""
        opened = claimed(record)
        tenant, origin, fingerprint = claims(opened.value)
        if self.tenant not in (None, tenant):
            return None
        if record.value is None:
            return Why.TOMBSTONE
        partition = record.partition % TARGET.partitions if tenant is None else tenant_partition(tenant, TARGET)
        headers: Headers = tuple(record.headers.items())
        output = Output(TARGET.name, record.key or b"", record.value, headers, partition)
        named = (tenant or "", _header(opened, "ce_source"), _header(opened, "ce_id"), opened.value or b"")
        identity = event_id(*named, signed=came_signed(record, opened))
        return _fitting(Selected(output, identity, tenant, origin, fingerprint, at_ms))


def _fitting(selected: Selected) -> Picked:
    return selected if size(selected.output) <= RECORD_BYTES_MAX else Why.TOO_LARGE


def _header(record: Record, name: str) -> str:
    return record.headers.get(name, b"").decode("utf-8", "replace")


def place_of(letter: Record) -> tuple[str, int, int] | None:
    """Topic, partition and offset of the original of a dead letter; None where its headers do not say."""
    topic = _header(letter, "dlq_topic")
    try:
        partition, offset = int(_header(letter, "dlq_partition")), int(_header(letter, "dlq_offset"))
    except ValueError:
        return None
    declared = next((one for one in INPUTS if one.name == topic), None)
    if declared is None or not 0 <= partition < declared.partitions or offset < 0:
        return None
    return topic, partition, offset


def original_of(letter: Record, found: Record) -> bool:
    """Whether ``found``, which stands where the letter says, is its original.

    A broker that was emptied gives the place to another record, later than the letter, which it got back first. That
    record has another time than the letter tells of its original, whose producer's clock may have been ahead.
    The value of a letter may be withheld or redacted, so other bytes alone do not say that it is another one.
    """
    same_key = (found.key or b"") == (letter.key or b"")
    if same_key and found.value == letter.value:
        return True
    told = _header(letter, "dlq_timestamp")
    if found.timestamp_ms > letter.timestamp_ms and told != str(found.timestamp_ms):
        return False
    if WITHHELD in letter.headers:
        return True
    theirs, ours = claimed(letter), claimed(found)
    same_ids = all(_header(theirs, name) == _header(ours, name) for name in ("ce_id", "ce_source"))
    return same_key and same_ids and _header(ours, "ce_id") != ""


def _without_reasons(letter: Record) -> Record:
    headers = {name: value for name, value in letter.headers.items() if not name.startswith(_LETTER_HEADERS)}
    return Record(letter.topic, letter.partition, letter.offset, letter.key, letter.value, headers, letter.timestamp_ms)


def digest(record: Record) -> str:
    """What tells a record from another one at the same place."""
    return sha256(b"\x00".join((record.key or b"", record.value or b""))).hexdigest()[:32]
