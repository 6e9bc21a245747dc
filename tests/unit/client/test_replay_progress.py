"""How a replay keeps how far it has come: nothing unfinished is passed, and a kill leaves a whole file."""

from collections import Counter
from pathlib import Path

import pytest

from tests.incidents import incident
from tests.records import NOW, record
from twiceshy.client.replay_ledger import Ledger
from twiceshy.client.replay_state import REMEMBERED, Asked, Position, State, StateFile, Tally
from twiceshy.errors import NotReadyError
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.stream.records import Record
from twiceshy.stream.replaying import Selected, Selection, Why, digest

ASKED = Asked(kafka="127.0.0.1:9092", topic="incidents.concluded.v1")


def state(end: int = 10) -> State:
    return State(asked=ASKED, source="topic", partitions={0: Position(next=0, end=end)})


def event(offset: int) -> tuple[Record, Selected]:
    made = record(incident(offset))
    at = Record(made.topic, 0, offset, made.key, made.value, made.headers, NOW)
    picked = Selection().event(at)
    assert isinstance(picked, Selected)
    return at, picked


def told(picked: Selected, outcome: str = "remembered") -> IncidentOutcome:
    return IncidentOutcome.model_validate({"event_id": picked.event_id, "tenant": "default", "outcome": outcome})


def test_what_the_broker_has_is_done_with() -> None:
    ledger = Ledger(state(), following=False)
    first, picked = event(3)
    ledger.add(first, picked)
    assert ledger.move()
    position = ledger.state.partitions[0]
    assert (position.next, position.last, position.last_digest) == (4, 3, digest(first))
    assert ledger.state.tally == Tally(sent=1)
    assert not ledger.move()


def test_progress_waits_for_the_first_outcome_that_is_missing() -> None:
    ledger = Ledger(state(), following=True)
    events = [event(offset) for offset in range(3)]
    for at, picked in events:
        ledger.add(at, picked)
    assert not ledger.settle(told(event(9)[1]))
    assert ledger.settle(told(events[1][1]))
    assert not ledger.move()
    assert ledger.settle(told(events[0][1], "stale"))
    assert ledger.move()
    assert (ledger.state.partitions[0].next, ledger.state.tally.sent, len(ledger)) == (2, 2, 1)
    assert ledger.state.tally.outcomes == {"remembered": 1, "stale": 1}
    assert ledger.unheard == [events[2][1]]


def test_event_that_stands_twice_in_a_topic_has_its_outcome_twice() -> None:
    ledger = Ledger(state(), following=True)
    at, picked = event(0)
    ledger.add(at, picked)
    ledger.add(at, picked)
    ledger.settle(told(picked))
    ledger.add(at, picked)
    ledger.move()
    assert (len(ledger), ledger.state.tally.outcomes) == (0, {"remembered": 3})


def test_end_of_a_partition_passes_the_gap_behind_its_last_record() -> None:
    ledger = Ledger(state(end=10), following=False)
    ledger.add(event(0)[0], Why.TOMBSTONE)
    ledger.add(event(1)[0], None)
    ledger.end(0)
    ledger.move()
    assert (ledger.state.left, ledger.state.partitions[0].last) == (0, 1)
    assert ledger.state.tally == Tally(passed_over=Counter({Why.TOMBSTONE: 1}))


def test_outcome_that_is_no_memory_is_kept_with_why() -> None:
    ledger = Ledger(state(), following=True)
    at, picked = event(0)
    ledger.add(at, picked)
    ledger.settle(told(picked, "dead_lettered"))
    ledger.move()
    [fault] = ledger.faults
    assert (fault.outcome, fault.fingerprint) == ("dead_lettered", "test/0")
    assert not ledger.state.tally.all_sent


@pytest.mark.parametrize(
    ("tally", "all_sent"),
    [
        (Tally(sent=3), True),
        (Tally(sent=3, passed_over=Counter({Why.OTHER_KIND: 1, Why.TOMBSTONE: 2})), True),
        (Tally(sent=3, passed_over=Counter({Why.OTHER_BYTES: 1})), False),
        (Tally(sent=3, outcomes=Counter(REMEMBERED)), True),
        (Tally(sent=3, outcomes=Counter({"remembered": 2, "quarantined": 1})), False),
    ],
)
def test_all_is_sent_when_nothing_that_should_go_out_was_left(tally: Tally, all_sent: bool) -> None:
    assert tally.all_sent is all_sent


def test_state_reads_back_as_it_was_written(tmp_path: Path) -> None:
    file, kept = StateFile(tmp_path / "below" / "state.json"), state()
    assert file.load(ASKED) is None
    kept.partitions[0] = Position(next=4, end=10, last=3, last_digest="d")
    kept.tally.sent = 4
    kept.tally.passed_over[Why.TOMBSTONE] += 1
    kept.tally.outcomes["stale"] += 1
    file.save(kept)
    assert file.load(ASKED) == kept
    assert [path.name for path in file.path.parent.iterdir()] == ["state.json"]
    file.remove()
    file.remove()
    assert file.load(ASKED) is None


def test_state_of_another_replay_is_not_gone_on_with(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "state.json")
    file.save(state())
    for change in ({"topic": "memory.log.v1"}, {"begin": "offset:1"}, {"tenant": "demo"}, {"kafka": "elsewhere:9092"}):
        with pytest.raises(NotReadyError, match=r"is of another replay, of incidents\.concluded\.v1"):
            file.load(ASKED.model_copy(update=change))


@pytest.mark.parametrize("damaged", [b"", b"{", b"{}", b'{"version": 2}'])
def test_damaged_state_is_told_with_what_to_do(tmp_path: Path, damaged: bytes) -> None:
    file = StateFile(tmp_path / "state.json")
    file.path.write_bytes(damaged)
    with pytest.raises(NotReadyError, match="Begin anew with --restart"):
        file.load(ASKED)


def test_state_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotReadyError, match="cannot be written: "):
        StateFile(tmp_path / "file" / "state.json").save(state())
