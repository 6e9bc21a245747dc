"""Delivery: what is acknowledged, when, in which order, and what each class of error costs."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from structlog.testing import capture_logs

from tests.unit.stream.deliveries import (
    LETTERS,
    POISON,
    TOPIC,
    Event,
    Surroundings,
    events,
    output,
    quick,
    stream,
)
from twiceshy.core.redact import Redactor
from twiceshy.errors import FencedError, PoisonError, TransientError
from twiceshy.stream import delivery
from twiceshy.stream.delivery import BATCH_BYTES_MAX, BATCH_ENTRIES_MAX, EXITS_MAX
from twiceshy.stream.records import RECORD_BYTES_MAX, size

AWAY = TransientError("The store is away.")
TRACE = [("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), ("tracestate", b"a=1")]


@pytest.fixture(autouse=True)
def _quick() -> Iterator[None]:
    with quick():
        yield


async def test_batch_is_sent_then_finished_then_acknowledged_in_order() -> None:
    around = Surroundings()
    await around.deliver(events(b"a", b"b", b"c"))
    assert around.happened == [
        ("handled", (b"a", b"b", b"c")),
        ("sent", tuple(output("out", value) for value in (b"a", b"b", b"c"))),
        ("finished", (b"a", b"b", b"c")),
        ("acknowledged", (0,)),
        ("acknowledged", (1,)),
        ("acknowledged", (2,)),
    ]


@pytest.mark.parametrize("call", ["handle", "send", "finished"])
@pytest.mark.parametrize("error", [AWAY, FencedError("another writer was here")])
async def test_what_passes_is_tried_again_in_place(call: str, error: Exception) -> None:
    around = Surroundings(faults={(call, b"b"): [error] * 4})
    await around.deliver(events(b"a", b"b", b"c"))
    assert around.faults == {(call, b"b"): []}
    assert around.sent_to("out") == [b"a", b"b", b"c"]
    assert around.acknowledged == [0, 1, 2]


async def test_process_says_once_what_it_waits_for() -> None:
    around = Surroundings(faults={("handle", b"a"): [AWAY] * 1_000_000})
    with capture_logs() as said:
        running = delivery.Delivery(around, around, around, lambda _: None, Redactor())
        task = asyncio.create_task(running.run(stream(events(b"a"))))
        while not any(line["event"] == "waiting" for line in said):
            await asyncio.sleep(0)
        around.faults.clear()
        await task
    told = [line["reason"] for line in said if line["event"] == "waiting"]
    assert told == ["The store is away."]


async def test_entry_that_cannot_be_decoded_is_dead_lettered_where_it_stands_among_the_outputs() -> None:
    around = Surroundings()
    await around.deliver(events(b"a", POISON, b"c"))
    assert [(sent.topic, sent.value) for sent in around.of("sent")] == [
        ("out", b"a"),
        (LETTERS, POISON),
        ("outcomes", b"schema"),
        ("out", b"c"),
    ]
    assert around.batches == [(b"a", b"c")]
    assert around.acknowledged == [0, 1, 2]


async def test_dead_letter_is_the_original_with_why_in_its_headers() -> None:
    around = Surroundings()
    await around.deliver(events(POISON, first=7, headers=[("ce_id", b"1"), ("dlq_reason", b"an older one")]))
    [letter] = [sent for sent in around.of("sent") if sent.topic == LETTERS]
    assert (letter.key, letter.value, letter.partition) == (b"key", POISON, 0)
    assert dict(letter.headers) == {
        "ce_id": b"1",
        "dlq_topic": TOPIC.encode(),
        "dlq_partition": b"0",
        "dlq_offset": b"7",
        "dlq_timestamp": b"1500",
        "dlq_reason": b"schema",
        "dlq_detail": b"title: must not be blank",
        "dlq_attempts": b"1",
        "dlq_worker": b"fake",
    }


async def test_dead_letter_that_no_broker_takes_has_its_value_withheld() -> None:
    too_large = POISON + b"x" * RECORD_BYTES_MAX
    around = Surroundings(faults={("handle", too_large): [PoisonError("too_large", "Too large.")] * 2})
    await around.deliver(events(too_large))
    [letter] = [sent for sent in around.of("sent") if sent.topic == LETTERS]
    assert size(letter) < RECORD_BYTES_MAX
    assert dict(letter.headers)["dlq_offset"] == b"0"
    assert dict(letter.headers)["dlq_withheld"] == b"too_large"


async def test_header_without_a_value_counts_as_missing() -> None:
    around = Surroundings()
    await around.deliver(events(POISON, headers=[("ce_id", None), ("ce_source", b"here")]))
    [letter] = [sent for sent in around.of("sent") if sent.topic == LETTERS]
    assert "ce_id" not in dict(letter.headers)
    assert dict(letter.headers)["ce_source"] == b"here"


@pytest.mark.parametrize("value", [b"well", POISON, b"refused", b"bug"])
async def test_whatever_an_entry_leads_to_carries_its_trace_alone(value: bytes) -> None:
    faults: dict[tuple[str, bytes], list[Exception]] = {
        ("handle", b"refused"): [PoisonError("refused", "No.")] * 2,
        ("handle", b"bug"): [ZeroDivisionError()] * 100,
    }
    around = Surroundings(faults=faults)
    await around.deliver([*events(b"before"), *events(value, first=1, headers=TRACE), *events(b"after", first=2)])
    told = [(sent.value, [pair for pair in sent.headers if pair in TRACE]) for sent in around.of("sent")]
    assert [carried for sent, carried in told if sent in (b"before", b"after")] == [[], []]
    assert {tuple(carried) for sent, carried in told if sent not in (b"before", b"after")} == {tuple(TRACE)}
    assert around.acknowledged == [0, 1, 2]


async def test_dead_letter_whose_value_is_withheld_has_its_trace() -> None:
    around = Surroundings(faults={("handle", b"x" * RECORD_BYTES_MAX): [PoisonError("refused", "No.")] * 2})
    await around.deliver(events(b"x" * RECORD_BYTES_MAX, headers=TRACE))
    [letter] = [sent for sent in around.of("sent") if sent.topic == LETTERS]
    assert dict(letter.headers)["dlq_withheld"] == b"too_large"
    assert list(letter.headers)[-2:] == TRACE


async def test_entry_that_the_stage_refuses_costs_the_others_nothing() -> None:
    around = Surroundings(faults={("handle", b"b"): [PoisonError("refused", "No.")] * 2})
    await around.deliver(events(b"a", b"b", b"c"))
    assert around.sent_to("out") == [b"a", b"c"]
    assert around.sent_to(LETTERS) == [b"b"]
    assert around.acknowledged == [0, 1, 2]


async def test_bug_in_one_entry_of_a_hundred_dead_letters_it_after_three_exits_and_no_other() -> None:
    values = [b"%d" % number for number in range(100)]
    around = Surroundings(faults={("handle", b"41"): [ZeroDivisionError()] * 100})
    await around.deliver(events(*values))
    assert around.sent_to("out") == [value for value in values if value != b"41"]
    assert around.sent_to(LETTERS) == [b"41"]
    assert around.sent_to("outcomes") == [b"bug"]
    [letter] = [sent for sent in around.of("sent") if sent.topic == LETTERS]
    assert dict(letter.headers)["dlq_attempts"] == b"3"
    assert list(around.noted_exits.values()) == [EXITS_MAX]
    assert around.acknowledged == list(range(100))


async def test_exits_on_a_record_do_not_count_for_another_at_its_place() -> None:
    around = Surroundings(faults={("handle", b"a"): [ZeroDivisionError()] * 100})
    await around.deliver(events(b"a"))
    await around.delivery().run(stream(events(b"b")))
    assert around.sent_to("out") == [b"b"]


@pytest.mark.parametrize("call", ["decode", "give_up"])
async def test_bug_outside_of_the_handler_ends_in_the_dead_letter_too(call: str) -> None:
    faults: dict[tuple[str, bytes], list[Exception]] = {(call, b"b"): [ZeroDivisionError() for _ in range(100)]}
    faults["handle", b"b"] = [PoisonError("refused", "No.") for _ in range(100)]
    around = Surroundings(faults=faults)
    await around.deliver(events(b"a", b"b", b"c"))
    assert around.sent_to(LETTERS) == [b"b"]
    assert list(around.noted_exits.values()) == [EXITS_MAX]
    assert around.acknowledged == [0, 1, 2]


async def test_exit_acknowledges_nothing_from_the_entry_on() -> None:
    around = Surroundings(faults={("handle", b"b"): [ZeroDivisionError()] * 2})
    await around.deliver(events(b"a", b"b", b"c"))
    before_exit = around.happened[: around.happened.index(("handled", (b"b", b"c")))]
    assert [values for kind, values in before_exit if kind == "acknowledged"] == [(0,)]
    assert around.acknowledged == [0, 1, 2]


async def test_what_is_given_up_counts_as_finished() -> None:
    """Or notes of progress would stop before it, and a start would go back to it each time."""
    around = Surroundings(faults={("handle", b"c"): [ZeroDivisionError()] * 100})
    await around.deliver(events(b"a", None, POISON, b"c"))
    assert around.of("finished") == [b"a", None, POISON, b"c"]


async def test_tombstone_is_acknowledged_without_an_output() -> None:
    around = Surroundings()
    await around.deliver(events(None, b"b", None))
    assert around.sent_to("out") == [b"b"]
    assert around.acknowledged == [0, 1, 2]


async def test_batch_has_a_hundred_entries_at_most() -> None:
    around = Surroundings()
    values = [b"%d" % number for number in range(250)]
    await around.deliver(events(*values))
    assert max(len(batch) for batch in around.batches) == BATCH_ENTRIES_MAX
    assert [value for batch in around.batches for value in batch] == values


async def test_batch_takes_no_more_once_it_has_a_megabyte() -> None:
    around = Surroundings()
    await around.deliver(events(*(b"x" * 300_000 for _ in range(10))))
    assert [len(batch) for batch in around.batches] == [4, 4, 2]
    assert all(sum(map(len, batch[:-1])) < BATCH_BYTES_MAX for batch in around.batches)


async def test_stop_lets_the_batch_under_way_finish_and_takes_no_other() -> None:
    around = Surroundings(blocked=asyncio.Event())
    assert around.blocked is not None
    running = around.delivery()
    first, later = events(b"a", b"b"), events(*(b"later" for _ in range(100)), first=2)
    task = asyncio.create_task(running.run(stream([*first, *later], ends=False)))
    while not around.of("blocked"):
        await asyncio.sleep(0)
    batch = around.of("blocked")
    running.stop()
    around.blocked.set()
    await task
    assert around.of("handled") == batch
    assert around.acknowledged == list(range(len(batch)))


@pytest.mark.parametrize("call", ["handle", "send", "finished"])
async def test_stop_while_a_store_is_away_acknowledges_nothing(call: str) -> None:
    around = Surroundings(faults={(call, b"a"): [AWAY] * 1_000_000})
    running = around.delivery()
    task = asyncio.create_task(running.run(stream(events(b"a", b"b"), ends=False)))
    while len(around.faults[call, b"a"]) == 1_000_000:
        await asyncio.sleep(0)
    running.stop()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert around.acknowledged == []


async def test_batch_waits_for_room_and_a_stop_does_not() -> None:
    around = Surroundings(room=[False, True])
    await around.deliver(events(b"a"))
    assert around.acknowledged == [0]
    around.room = [False] * 1_000
    running = around.delivery()
    task = asyncio.create_task(running.run(stream(events(b"b"), ends=False)))
    while len(around.room) == 1_000:
        await asyncio.sleep(0)
    running.stop()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1.0)
    assert around.of("handled") == [b"a"]


async def test_broken_stream_ends_delivery_with_its_error_once_what_came_is_done() -> None:
    async def broken() -> AsyncIterator[Event]:
        for event in events(b"a", b"b"):
            yield event
        raise ConnectionResetError

    around = Surroundings()
    with pytest.raises(ConnectionResetError):
        await around.delivery().run(broken())
    assert around.acknowledged == [0, 1]
