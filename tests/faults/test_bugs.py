"""A bug in one entry costs the others nothing: three exits, and it is a dead letter."""

from aiokafka import TopicPartition

from tests.faults.broken_worker import MARK
from tests.incidents import incident
from tests.rig import Publisher, Rig
from twiceshy.stream.admin import reader
from twiceshy.stream.topics import TOPICS

EXITS = 3


async def test_a_bug_in_one_entry_of_a_hundred_dead_letters_that_one_after_three_exits() -> None:
    published = [incident(number) for number in range(100)]
    published[41] = incident(41, title=f"{MARK} strikes")
    async with Rig("kafka", worker_module="tests.faults.broken_worker") as rig:
        await rig.start_workers("chain")
        async with Publisher(rig.settings) as publisher:
            await publisher.send(published)
            for _ in range(EXITS):
                reason = await rig.workers["chain"].wait()
                assert "exit code 70" in reason
                await rig.workers["chain"].stop()
                await rig.workers["chain"].start()
            await publisher.until_all()
            assert rig.workers["chain"].pid is not None
        outcomes = {outcome.fingerprint: outcome for outcome in publisher.outcomes}
        assert {fingerprint for fingerprint, o in outcomes.items() if o.outcome != "remembered"} == {"test/41"}
        assert (outcomes["test/41"].outcome, outcomes["test/41"].reason) == ("dead_lettered", "bug")
        await check_dead_letter(rig)


async def check_dead_letter(rig: Rig) -> None:
    async with reader(rig.settings) as consumer:
        topic = TOPICS.dead_letters.named(topic=TOPICS.memory_log.name)
        partition = TopicPartition(topic.name, 0)
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        letter = await consumer.getone(partition)
    headers = dict(letter.headers)
    assert headers["dlq_reason"] == b"bug"
    assert headers["dlq_worker"] == b"graph"
    assert headers["dlq_attempts"] == b"3"
    assert MARK.encode() in letter.value
