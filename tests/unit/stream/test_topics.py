"""A declared topic in the broker's own words."""

import dataclasses

from twiceshy.stream.topics import TOPICS, attribute_name

DAY_MS = 86_400_000


def test_log_is_compacted_and_kept_for_ever() -> None:
    assert TOPICS.memory_log.config() == {
        "cleanup.policy": "compact",
        "retention.ms": "-1",
        "message.timestamp.type": "CreateTime",
    }


def test_retention_is_told_in_milliseconds() -> None:
    topic = dataclasses.replace(TOPICS.recall_requests, cleanup="delete", retention_days=7)
    config = topic.config()
    assert (config["cleanup.policy"], config["retention.ms"]) == ("delete", str(7 * DAY_MS))


def test_time_of_an_incident_and_of_a_dead_letter_is_the_brokers() -> None:
    for topic in (TOPICS.incidents_concluded, TOPICS.dead_letters.named(topic="memory.log.v1")):
        assert topic.config()["message.timestamp.type"] == "LogAppendTime"


def test_pattern_makes_a_topic_that_has_all_else_of_it() -> None:
    made = TOPICS.dead_letters.named(topic="memory.log.v1")
    assert made == dataclasses.replace(TOPICS.dead_letters, name="memory.log.v1.dlq", pattern=False)


def test_name_in_code_leaves_out_the_version() -> None:
    assert attribute_name("memory.log.v1") == "memory_log"
    assert attribute_name("dead-letters") == "dead_letters"
