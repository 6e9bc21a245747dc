"""A topic is declared once, in topics/, and everything else derives from it."""

import ast
import re
from pathlib import Path

import pytest

from twiceshy.contracts import TOPICS_FOLDER
from twiceshy.errors import NotReadyError
from twiceshy.events.catalogue import EVENT_TYPES
from twiceshy.stream.topics import TOPICS, load

ROOT = Path(__file__).resolve().parents[2]
TOPIC_NAME = re.compile(r"(incidents|memory|quarantine|recall|audit)(\.[a-z]+)?\.v\d+(\.dlq)?|recall\.replies\..*")


def test_every_declared_event_is_part_of_the_contract() -> None:
    declared = {event for topic in TOPICS.all() for event in topic.events}
    assert declared == set(EVENT_TYPES)


def test_every_chain_topic_has_one_partition_count() -> None:
    chain = (TOPICS.memory_log, TOPICS.memory_recorded, TOPICS.memory_reflected, TOPICS.memory_consolidated)
    assert len({topic.partitions for topic in chain}) == 1


def test_one_worker_consumes_a_topic() -> None:
    workers = {"guard", "graph", "lesson", "consolidate", "embed", "recall"}
    for topic in TOPICS.all():
        assert len(workers & set(topic.consumers)) <= 1, topic.name
        assert bool(workers & set(topic.consumers)) == bool(topic.dead_letters), topic.name


def test_no_topic_is_named_in_code() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for folder in ("twiceshy", "workers")
        for path in (ROOT / folder).rglob("*.py")
        for text in strings(ast.parse(path.read_text()))
        if TOPIC_NAME.fullmatch(text) and text not in EVENT_TYPES
    ]
    assert found == []


def strings(tree: ast.Module) -> list[str]:
    """Every string of a module but its docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]


def test_a_topic_that_is_used_but_not_declared_stops_the_start(tmp_path: Path) -> None:
    for path in TOPICS_FOLDER.glob("*.yaml"):
        if path.name != "memory.rules.v1.yaml":
            (tmp_path / path.name).write_text(path.read_text())
    with pytest.raises(NotReadyError, match="memory_rules"):
        load(tmp_path)


def test_reply_topics_are_named_by_tenant() -> None:
    names = {topic.name for topic in TOPICS.existing(("payments",))}
    assert "recall.replies.payments" in names
    assert "memory.log.v1.dlq" in names
    assert not any("{" in name for name in names)
