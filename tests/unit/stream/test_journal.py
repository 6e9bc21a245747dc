"""The journal: a record is in its file before it is in its topic, and a start puts back what the topic lacks."""

import contextlib
import resource
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from twiceshy.errors import TransientError
from twiceshy.stream.journal import Journal, cut_torn_line, files, kept, read
from twiceshy.stream.outputs import Outputs
from twiceshy.stream.records import Output
from twiceshy.stream.restore import put_back
from twiceshy.stream.topics import TOPICS

LOG = TOPICS.memory_log.name
LETTERS = TOPICS.dead_letters.named(topic=LOG).name


def entry(number: int, *, topic: str = LOG, partition: int = 0) -> Output:
    return Output(topic, b"key %d" % number, b"value %d" % number, (("ce_id", b"%d" % number),), partition)


def written(folder: Path, *outputs: Output) -> None:
    """By a process of its own, so to say."""
    journal = Journal(folder)
    journal.append(outputs)
    journal.close()


def everything(folder: Path) -> list[Output]:
    return [output for path in files(folder) for output in read(path)]


def file_of_log(folder: Path) -> Path:
    return folder / f"{LOG}-0.jsonl"


@pytest.mark.parametrize("topic", [LOG, TOPICS.incidents_quarantined.name, TOPICS.memory_rules.name, LETTERS])
def test_what_nothing_else_remembers_is_kept(topic: str) -> None:
    assert kept(topic)


@pytest.mark.parametrize("topic", [TOPICS.memory_recorded.name, TOPICS.incidents_outcomes.name, TOPICS.audit.name])
def test_what_follows_from_the_log_is_not_kept(topic: str) -> None:
    assert not kept(topic)


anything = st.builds(
    Output,
    topic=st.sampled_from([LOG, LETTERS]),
    key=st.binary(max_size=20),
    value=st.none() | st.binary(max_size=50),
    headers=st.lists(st.tuples(st.text("abcé\n", min_size=1), st.binary(max_size=5)), max_size=3).map(tuple),
    partition=st.integers(0, 2),
)


@given(st.lists(st.lists(anything, max_size=5), max_size=4))
def test_what_was_appended_reads_back_in_the_order_of_its_partition(
    tmp_path_factory: pytest.TempPathFactory, appends: list[list[Output]]
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    for outputs in appends:
        written(folder, *outputs)
    expected = sorted((o for outputs in appends for o in outputs), key=lambda o: f"{o.topic}-{o.partition}.jsonl")
    assert everything(folder) == expected


@pytest.mark.parametrize("torn", [b'{"key":"a', b"x" * 200_000, b"\x00"])
def test_torn_last_line_is_cut_by_the_next_append(tmp_path: Path, torn: bytes) -> None:
    written(tmp_path, entry(1), entry(2))
    with file_of_log(tmp_path).open("ab") as file:
        file.write(torn)
    written(tmp_path, entry(3))
    assert everything(tmp_path) == [entry(1), entry(2), entry(3)]


def test_file_of_a_torn_line_alone_is_emptied(tmp_path: Path) -> None:
    file_of_log(tmp_path).write_bytes(b'{"key":"a')
    cut_torn_line(file_of_log(tmp_path))
    assert file_of_log(tmp_path).read_bytes() == b""


@contextlib.contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """As on a full disk: a write beyond ``size`` is done in part, and the next one fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_append_that_the_disk_takes_in_part_leaves_nothing_and_may_be_tried_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    first, later = [entry(1)], [entry(2, topic=LETTERS), entry(2), *(entry(number) for number in range(3, 50))]
    journal.append(first)
    with files_no_larger_than(1_000), pytest.raises(TransientError, match=r"The journal in .* cannot be written"):
        journal.append(later)
    assert everything(tmp_path) == first
    journal.append(later)
    journal.close()
    assert everything(tmp_path) == [*first, *later[1:], later[0]]


class Broker:
    """What `put_back` needs of a consumer and a producer, over lists: a real one is in tests/integration."""

    def __init__(self, *records: Output) -> None:
        self.records: dict[tuple[str, int], list[Output]] = {}
        self._keep(records)
        self._place: tuple[str, int, int]

    def _keep(self, records: Iterable[Output]) -> None:
        for record in records:
            self.records.setdefault((record.topic, record.partition), []).append(record)

    async def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: len(self.records.get(tuple(partition), ())) for partition in partitions}

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        """Each read names its partition."""

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._place = (*partition, offset)

    async def getmany(self, *partitions: TopicPartition, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        return {}

    def highwater(self, partition: TopicPartition) -> int:
        return len(self.records[tuple(partition)])

    async def getone(self, partition: TopicPartition) -> Any:
        topic, number, offset = self._place
        return SimpleNamespace(key=self.records[topic, number][offset].key)

    async def put_back(self, outputs: Sequence[Output]) -> None:
        self._keep(outputs)

    async def restore(self, folder: Path, *wanted: tuple[int, str]) -> dict[tuple[int, str], int] | None:
        return await put_back(folder, cast(AIOKafkaConsumer, self), cast(Outputs, self), wanted)


async def test_empty_broker_gets_everything_back_in_order(tmp_path: Path) -> None:
    outputs = [*(entry(number) for number in range(1_100)), entry(7, topic=LETTERS), entry(8, partition=1)]
    written(tmp_path, *outputs)
    broker = Broker()
    places = await broker.restore(tmp_path, (0, "key 1099"), (1, "key 8"), (1, "key 1"))
    assert places == {(0, "key 1099"): 1_099, (1, "key 8"): 0}
    assert broker.records == {(LOG, 0): outputs[:1_100], (LETTERS, 0): [outputs[1_100]], (LOG, 1): [outputs[1_101]]}


async def test_what_was_written_down_and_not_produced_is_produced_at_the_next_start(tmp_path: Path) -> None:
    written(tmp_path, *(entry(number) for number in range(5)))
    broker = Broker(*(entry(number) for number in range(3)))
    assert await broker.restore(tmp_path) is None
    assert broker.records[LOG, 0] == [entry(number) for number in range(5)]


async def test_line_that_the_kill_tore_was_never_produced_and_is_not_put_back(tmp_path: Path) -> None:
    written(tmp_path, entry(0), entry(1))
    torn = file_of_log(tmp_path).read_bytes()[:-5]
    file_of_log(tmp_path).write_bytes(torn)
    broker = Broker(entry(0))
    await broker.restore(tmp_path)
    assert broker.records[LOG, 0] == [entry(0)]


async def test_broker_that_lacks_nothing_gets_nothing(tmp_path: Path) -> None:
    outputs = [entry(0), entry(1), entry(0, topic=LETTERS)]
    written(tmp_path, *outputs)
    broker = Broker(*outputs)
    assert await broker.restore(tmp_path, (0, "key 1")) is None
    assert broker.records == Broker(*outputs).records


async def test_letter_that_was_not_produced_is_left_for_the_record_to_come_again(tmp_path: Path) -> None:
    """It was not acknowledged, so its record is delivered anew, and makes the letter anew."""
    written(tmp_path, entry(0), entry(0, topic=LETTERS), entry(1, topic=LETTERS))
    broker = Broker(entry(0), entry(0, topic=LETTERS))
    await broker.restore(tmp_path)
    assert broker.records[LETTERS, 0] == [entry(0, topic=LETTERS)]


async def test_start_without_a_journal_puts_nothing_back(tmp_path: Path) -> None:
    assert await Broker().restore(tmp_path, (0, "key 1")) == {}
