"""What a replay sends: bounds, and what becomes of each kind of record. No broker."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.entries import SOURCE, entry
from tests.incidents import incident
from tests.records import NOW, body, signed, structured
from tests.records import record as published
from twiceshy.core.ids import event_id
from twiceshy.core.redact import Redactor
from twiceshy.errors import NotReadyError, PoisonError
from twiceshy.events.chain import Admission, EntryLogged
from twiceshy.events.common import instant
from twiceshy.stream.codec import attributes, encode
from twiceshy.stream.dead_letters import dead_letter
from twiceshy.stream.journal import Journal
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.records import RECORD_BYTES_MAX, Output, Record
from twiceshy.stream.replay_sources import JournalSource
from twiceshy.stream.replaying import (
    REPLAYABLE,
    TARGET,
    Picked,
    Selected,
    Selection,
    Span,
    Why,
    original_of,
    parse_bound,
    place_of,
)
from twiceshy.stream.signing import SIGNATURE_HEADER
from twiceshy.stream.topics import TOPICS

ALL = Selection()
DAY_MS = 86_400_000


def span(begin: str | None, until: str | None) -> Span:
    return Span(None if begin is None else parse_bound(begin), None if until is None else parse_bound(until))


def sent(picked: Picked) -> Selected:
    assert isinstance(picked, Selected)
    return picked


def test_topics_that_can_be_replayed_are_the_inputs_their_dead_letters_and_the_log() -> None:
    assert set(REPLAYABLE) == {
        "incidents.concluded.v1",
        "incidents.concluded.v1.dlq",
        "incidents.backfill.v1",
        "incidents.backfill.v1.dlq",
        "memory.log.v1",
    }


@pytest.mark.parametrize(
    ("text", "offset", "time_ms"),
    [
        ("offset:0", 0, None),
        ("offset:120", 120, None),
        ("1970-01-02T00:00:00Z", None, DAY_MS),
        ("1970-01-02T01:00:00+01:00", None, DAY_MS),
        ("1970-01-01 00:00:00.5Z", None, 500),
    ],
)
def test_bound_is_an_offset_or_a_time(text: str, offset: int | None, time_ms: int | None) -> None:
    bound = parse_bound(text)
    assert (bound.offset, bound.time_ms, bound.text) == (offset, time_ms, text)


@pytest.mark.parametrize(
    "text", ["", "12", "offset:", "offset:-1", "offset:1.5", "yesterday", "2026-11-02", "2026-11-02T03:10:00", "1e9"]
)
def test_what_is_no_bound_is_told_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"such as 2026-11-02T03:10:00Z, or offset:N, such as offset:120\.$"):
        parse_bound(text)


@pytest.mark.parametrize(
    ("begin", "until", "part"),
    [
        (None, None, (10, 20)),
        ("offset:0", None, (10, 20)),
        ("offset:12", "offset:15", (12, 15)),
        (None, "offset:99", (10, 20)),
        ("offset:30", None, (20, 20)),
        (None, "offset:5", (10, 10)),
        ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", (10, 20)),
    ],
)
def test_offsets_leave_the_part_between_them(begin: str | None, until: str | None, part: tuple[int, int]) -> None:
    assert span(begin, until).offsets(10, 20) == part


def test_time_from_is_included_and_time_to_is_not() -> None:
    within = span("1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z")
    assert [within.has_time(at_ms) for at_ms in (999, 1_000, 1_999, 2_000)] == [False, True, True, False]
    assert not within.empty


@pytest.mark.parametrize(
    ("begin", "until", "empty"),
    [
        ("offset:5", "offset:5", True),
        ("offset:5", "offset:6", False),
        ("2026-01-01T01:00:00Z", "2026-01-01T00:00:00Z", True),
        ("2026-01-01T01:00:00Z", "offset:1", False),
        (None, "offset:0", False),
    ],
)
def test_bounds_between_which_nothing_lies_are_found_out(begin: str | None, until: str | None, empty: bool) -> None:
    assert span(begin, until).empty is empty


def test_event_goes_out_as_it_came_and_keeps_its_id() -> None:
    came = published(incident(1, "demo"), ce_time="2026-01-02T00:00:00Z", traceparent=b"00-1-2-01")
    picked = sent(ALL.event(came))
    output = picked.output
    assert (output.topic, output.partition) == (TARGET.name, tenant_partition("demo", TARGET))
    assert (output.key, output.value, dict(output.headers)) == (came.key, came.value, came.headers)
    assert picked.event_id == event_id("demo", "/pagerduty", "1", came.value or b"")
    assert (picked.tenant, picked.origin, picked.fingerprint) == ("demo", incident(1).origin.name, "test/1")


def test_structured_event_goes_out_as_it_came_under_the_id_that_guard_gives_it() -> None:
    said = incident(1, "demo")
    came = structured(said, source=SOURCE)
    picked = sent(ALL.event(came))
    assert (picked.output.value, dict(picked.output.headers)) == (came.value, came.headers)
    assert (picked.tenant, picked.fingerprint) == ("demo", "test/1")
    assert picked.event_id == event_id("demo", SOURCE, "1", encode(said))
    assert original_of(letter_of(came, value=came.value), came)


@pytest.mark.parametrize("value", [b"{", b"[]", b'"text"', b"{}", b"\xff", b'{"tenant": 1, "origin": []}'])
def test_junk_goes_out_as_it_came(value: bytes) -> None:
    picked = sent(ALL.event(published(value)))
    assert (picked.output.value, picked.tenant, picked.origin, picked.fingerprint) == (value, None, None, None)


def test_event_of_another_tenant_or_time_is_not_asked_for() -> None:
    came = published(incident(1, "demo"))
    assert Selection(tenant="default").event(came) is None
    assert Selection(tenant="demo").event(came) is not None
    later = instant(NOW + 1).isoformat()
    assert Selection(span(later, None)).event(came) is None
    assert Selection(span(None, later)).event(came) is not None


def test_tombstone_and_what_no_broker_takes_are_passed_over() -> None:
    assert ALL.event(published(None)) is Why.TOMBSTONE
    assert ALL.event(published(b"x" * RECORD_BYTES_MAX)) is Why.TOO_LARGE


def logged(one: EntryLogged, key: bytes = b"key") -> Record:
    return Record(TOPICS.memory_log.name, 2, 7, key, encode(one), {}, 0)


def test_entry_goes_out_as_the_event_that_it_was() -> None:
    said, revised_at = incident(1, "demo"), NOW - DAY_MS
    admitted = entry(said, NOW, ce_id="the id", ce_time=revised_at)
    picked = sent(ALL.entry(logged(admitted), frozenset()))
    as_record = Record(TARGET.name, 0, 0, None, picked.output.value, dict(picked.output.headers), NOW)
    about = attributes(as_record)
    assert picked.output.value == encode(said)
    assert (about.id, about.source, about.type) == ("the id", SOURCE, "incident.concluded.v1")
    assert about.time_ms == revised_at
    assert (picked.event_id, picked.at_ms) == (admitted.event_id, NOW)
    assert picked.output.partition == tenant_partition("demo", TARGET)


@pytest.mark.parametrize("revised_at", [-10_773_244_800_000, 0, 1, 1_767_312_000_123])
def test_time_of_a_revision_is_the_same_to_the_millisecond(revised_at: int) -> None:
    picked = sent(ALL.entry(logged(entry(incident(1), NOW, ce_time=revised_at)), frozenset()))
    as_record = Record(TARGET.name, 0, 0, None, picked.output.value, dict(picked.output.headers), NOW)
    assert attributes(as_record).time_ms == revised_at


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "alias", "incident": None}, Why.OTHER_KIND),
        ({"admission": Admission(how="released", by="ann")}, Why.RELEASED),
        ({"event_id": "of other bytes"}, Why.OTHER_BYTES),
    ],
)
def test_entry_that_is_no_publication_or_not_the_same_one_is_passed_over(changes: dict[str, Any], why: Why) -> None:
    changed = entry(incident(1), NOW).model_copy(update=changes)
    assert ALL.entry(logged(changed), frozenset()) is why


def test_entry_of_other_bytes_is_an_event_of_its_own_if_that_is_wanted() -> None:
    changed = entry(incident(1), NOW).model_copy(update={"event_id": "of other bytes"})
    picked = sent(Selection(as_new_events=True).entry(logged(changed), frozenset()))
    assert picked.event_id == entry(incident(1), NOW).event_id


def test_entry_that_came_signed_is_signed_anew_by_whoever_replays() -> None:
    vouched, signing = entry(incident(1), NOW, signed_by="alerting"), Selection(signs=True)
    picked = sent(signing.entry(logged(vouched), frozenset()))
    assert (picked.vouched, picked.event_id) == (True, vouched.event_id)
    assert not sent(signing.entry(logged(entry(incident(1), NOW)), frozenset())).vouched
    assert not sent(signing.event(published(incident(1)))).vouched  # it has the signature that it came with, if any


def test_entry_that_came_signed_is_passed_over_by_who_cannot_sign_or_is_an_event_of_its_own() -> None:
    vouched = logged(entry(incident(1), NOW, signed_by="alerting"))
    assert ALL.entry(vouched, frozenset()) is Why.UNSIGNED
    picked = sent(Selection(as_new_events=True).entry(vouched, frozenset()))
    assert (picked.vouched, picked.event_id) == (False, entry(incident(1), NOW).event_id)
    again = sent(Selection(as_new_events=True, signs=True).entry(vouched, frozenset()))
    assert (again.vouched, again.event_id) == (True, entry(incident(1), NOW, signed_by="alerting").event_id)


def test_signed_event_keeps_its_signature_and_the_id_that_guard_gives_it() -> None:
    said = incident(1, "demo")
    in_binary, in_envelope = (signed(made(said), "alerting", b"s" * 32) for made in (published, structured))
    beside = replace(structured(said), headers={**structured(said).headers, SIGNATURE_HEADER: b"any"})
    for came in (in_binary, in_envelope, beside):
        picked = sent(ALL.event(came))
        assert picked.event_id == event_id("demo", "/pagerduty", "1", encode(said), signed=True)
        assert dict(picked.output.headers) == came.headers


def test_entry_that_was_erased_stays_erased() -> None:
    one = logged(entry(incident(1), NOW), key=b"gone")
    assert ALL.entry(one, frozenset({b"gone"})) is Why.ERASED
    assert ALL.entry(Record(one.topic, 0, 0, b"gone", None, {}, 0), frozenset({b"gone"})) is Why.TOMBSTONE


def test_entry_counts_by_when_it_was_admitted() -> None:
    one = logged(entry(incident(1), NOW))
    assert ALL.entry(one, frozenset()) is not None
    assert Selection(span(None, instant(NOW).isoformat())).entry(one, frozenset()) is None
    assert Selection(span(instant(NOW).isoformat(), None)).entry(one, frozenset()) is not None
    assert Selection(tenant="demo").entry(one, frozenset()) is None


def test_entry_that_cannot_be_read_is_counted() -> None:
    assert ALL.entry(Record("t", 0, 0, b"k", b"{}", {}, 0), frozenset()) is Why.UNREADABLE


def letter_of(came: Record, **changes: Any) -> Record:
    made = dead_letter(came, "guard", PoisonError("unknown_tenant", "There is no such tenant."), 1, Redactor())
    fields = {"key": made.key, "value": made.value, "headers": dict(made.headers), "timestamp_ms": NOW + 5}
    return Record(topic=made.topic, partition=0, offset=0, **{**fields, **changes})


def test_letter_goes_out_as_its_original_stands() -> None:
    came = published(incident(1, "demo"))
    picked = sent(ALL.letter(letter_of(came, value=b"redacted"), came))
    assert (picked.output.value, dict(picked.output.headers)) == (came.value, came.headers)
    assert picked.at_ms == NOW + 5


def test_letter_whose_original_is_gone_goes_out_without_the_reasons() -> None:
    came = published(incident(1, "demo"))
    picked = sent(ALL.letter(letter_of(came), None))
    assert (picked.output.key, picked.output.value, dict(picked.output.headers)) == (came.key, came.value, came.headers)
    assert picked.event_id == sent(ALL.event(came)).event_id


def test_letter_without_value_and_original_is_counted() -> None:
    letter = letter_of(published(b"x" * RECORD_BYTES_MAX))
    assert letter.value == b""
    assert ALL.letter(letter, None) is Why.GONE


def test_letter_whose_value_was_changed_after_it_was_signed_is_counted_once_its_original_is_gone() -> None:
    with_secret = incident(1, "demo", summary="Refused by 10.0.0.7.")
    for made in (published, structured):
        changed = signed(made(with_secret), "alerting", b"s" * 32)
        assert ALL.letter(letter_of(changed), None) is Why.GONE
        assert sent(ALL.letter(letter_of(changed), changed)).output.value == changed.value
        unsigned = made(with_secret)
        assert sent(ALL.letter(letter_of(unsigned), None)).output.value != unsigned.value
        whole = signed(made(incident(1, "demo")), "alerting", b"s" * 32)
        assert sent(ALL.letter(letter_of(whole), None)).event_id == sent(ALL.event(whole)).event_id


def test_letter_says_where_its_original_stands() -> None:
    came = published(incident(1))
    assert place_of(letter_of(came)) == (came.topic, came.partition, came.offset)
    for name, value in (("dlq_topic", b"memory.log.v1"), ("dlq_partition", b"99"), ("dlq_offset", b"x")):
        letter = letter_of(came)
        assert place_of(letter_of(came, headers={**letter.headers, name: value})) is None


def test_original_is_told_from_what_took_its_place() -> None:
    came = published(incident(1))
    letter = letter_of(came)
    assert original_of(letter, came)
    assert original_of(letter_of(came, value=b"redacted"), came)
    assert original_of(letter_of(published(b"x" * RECORD_BYTES_MAX)), published(b"x" * RECORD_BYTES_MAX))
    assert not original_of(letter, published(incident(2), ce_id=b"2"))
    later = Record(came.topic, 0, 7, came.key, body("default", title="Another"), came.headers, NOW + 6)
    assert not original_of(letter, later)


def test_original_is_known_when_its_producers_clock_is_ahead() -> None:
    came = replace(published(incident(1)), timestamp_ms=NOW + 60_000)
    letter = letter_of(came, value=b"redacted")
    assert original_of(letter, came)
    assert not original_of(letter, replace(came, timestamp_ms=NOW + 60_001))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path)
    yield opened
    opened.close()


async def test_file_of_the_log_is_read_by_its_lines(tmp_path: Path, journal: Journal) -> None:
    outputs = [Output(TOPICS.memory_log.name, b"%d" % n, b"value", (("a", b"b"),), 3) for n in range(5)]
    journal.append(outputs)
    source = JournalSource(tmp_path, TOPICS.memory_log)
    extent = await source.extent()
    assert (extent[3], extent[0]) == ((0, 5), (0, 0))
    read = [record async for record in source.records(3, 1, 4)]
    assert [(record.offset, record.key) for record in read] == [(1, b"1"), (2, b"2"), (3, b"3")]
    found = await source.at(3, 4)
    assert found is not None
    assert (found.key, found.headers) == (b"4", {"a": b"b"})
    assert [record async for record in source.records(0, 0, 0)] == []


async def test_line_that_is_being_written_is_not_there_yet(tmp_path: Path, journal: Journal) -> None:
    journal.append([Output(TOPICS.memory_log.name, b"1", b"value", (), 0)])
    with (tmp_path / f"{TOPICS.memory_log.name}-0.jsonl").open("ab") as file:
        file.write(b'{"key":"a')
    source = JournalSource(tmp_path, TOPICS.memory_log)
    assert (await source.extent())[0] == (0, 1)
    assert len([record async for record in source.records(0, 0, 1)]) == 1


async def test_damaged_line_is_told(tmp_path: Path, journal: Journal) -> None:
    journal.append([Output(TOPICS.memory_log.name, b"1", b"value", (), 0)])
    with (tmp_path / f"{TOPICS.memory_log.name}-0.jsonl").open("ab") as file:
        file.write(b"\x00\x00\n")
    with pytest.raises(NotReadyError, match="is damaged"):
        [record async for record in JournalSource(tmp_path, TOPICS.memory_log).records(0, 0, 2)]
