"""Where a tenant's records go, and that what no broker takes is refused before anything is sent."""

from pathlib import Path

import pytest

from twiceshy.errors import PoisonError
from twiceshy.settings import Settings
from twiceshy.stream.journal import files
from twiceshy.stream.outputs import Outputs, tenant_partition
from twiceshy.stream.records import RECORD_BYTES_MAX, Output, size
from twiceshy.stream.topics import TOPICS

# From the tests of Kafka's own Java client (UtilsTest.testMurmur2).
MURMUR2 = {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}


@pytest.mark.parametrize(("tenant", "murmur2"), MURMUR2.items())
def test_partition_of_a_tenant_is_the_one_that_java_clients_take(tenant: str, murmur2: int) -> None:
    topic = TOPICS.memory_log
    assert topic.partitions > 1
    assert tenant_partition(tenant, topic) == (murmur2 & 0x7FFFFFFF) % topic.partitions


def test_size_counts_key_value_and_headers() -> None:
    assert size(Output("topic", b"key", b"value", (("näme", b"12"),), 0)) == 3 + 5 + 5 + 2
    assert size(Output("topic", b"key", None, (), 0)) == 3


async def test_record_that_no_broker_takes_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    outputs = Outputs(Settings(journal=tmp_path), "test")
    fits = Output(TOPICS.memory_log.name, b"a", b"", (), 0)
    too_large = Output(TOPICS.memory_log.name, b"b", b"x" * RECORD_BYTES_MAX, (), 0)
    with pytest.raises(PoisonError, match=r"output_too_large: A record for memory\.log\.v1 has 1000001 bytes"):
        await outputs.send([fits, too_large])
    assert files(tmp_path) == []
    await outputs.stop()
