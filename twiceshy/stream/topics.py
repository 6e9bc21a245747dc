"""The topics, as topics/*.yaml declare them. Code says ``TOPICS.memory_log``, never a string."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from twiceshy.contracts import TOPICS_FOLDER
from twiceshy.errors import NotReadyError

TIMESTAMP_TYPE = "message.timestamp.type"
PRODUCERS_TIME = "CreateTime"
BROKERS_TIME = "LogAppendTime"


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic, or a pattern of them. ``retention_days`` is None for what is kept for ever.

    ``timestamps``: whose word the time of a record is, the producer's (CreateTime) or the broker's (LogAppendTime).
    """

    name: str
    description: str
    key: str
    events: tuple[str, ...]
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    partitions: int
    replication: int
    cleanup: str
    retention_days: int | None
    dead_letters: str | None
    pattern: bool = False
    timestamps: str = PRODUCERS_TIME

    def config(self) -> dict[str, str]:
        """The topic's settings, in the broker's own names."""
        retention_ms = -1 if self.retention_days is None else self.retention_days * 86_400_000
        return {
            "cleanup.policy": self.cleanup,
            "retention.ms": str(retention_ms),
            TIMESTAMP_TYPE: self.timestamps,
        }

    def named(self, **parts: str) -> "Topic":
        """The topic that this pattern makes of ``parts``."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return Topic(**{**values, "name": self.name.format(**parts), "pattern": False})


@dataclass(frozen=True, slots=True)
class Topics:
    """Every declared topic by its name in code: dots and dashes as underscores, without the version."""

    incidents_concluded: Topic
    incidents_backfill: Topic
    quarantine_decisions: Topic
    memory_commands: Topic
    recall_feedback: Topic
    memory_log: Topic
    memory_recorded: Topic
    memory_reflected: Topic
    memory_consolidated: Topic
    memory_rules: Topic
    incidents_outcomes: Topic
    incidents_quarantined: Topic
    audit: Topic
    recall_requests: Topic
    recall_replies: Topic
    dead_letters: Topic

    def all(self) -> tuple[Topic, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    def existing(self, tenants: tuple[str, ...]) -> tuple[Topic, ...]:
        """Every topic that must exist for ``tenants``, patterns filled in."""
        plain = tuple(topic for topic in self.all() if not topic.pattern)
        replies = tuple(self.recall_replies.named(tenant=tenant) for tenant in tenants)
        dead = tuple(self.dead_letters.named(topic=topic.name) for topic in plain if topic.dead_letters)
        return plain + replies + dead


def attribute_name(file_stem: str) -> str:
    """``memory.log.v1`` is ``memory_log`` in code."""
    parts = file_stem.replace("-", ".").split(".")
    return "_".join(part for part in parts if part != "v1")


def load(folder: Path = TOPICS_FOLDER) -> Topics:
    """The declared topics.

    Raises:
        NotReadyError: a file is missing, malformed, or declares a topic that the code does not know.
    """
    found = {attribute_name(path.stem): _read(path) for path in sorted(folder.glob("*.yaml"))}
    expected = {field.name for field in fields(Topics)}
    if found.keys() != expected:
        difference = ", ".join(sorted(found.keys() ^ expected))
        raise NotReadyError(f"The topics declared in {folder} are not those the code uses; these differ: {difference}.")
    return Topics(**found)


def _read(path: Path) -> Topic:
    declared: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    pattern = "pattern" in declared
    name = declared.pop("pattern" if pattern else "name")
    sequences: dict[str, Any] = {key: tuple(declared.pop(key)) for key in ("events", "producers", "consumers")}
    try:
        return Topic(name=name, pattern=pattern, **sequences, **declared)
    except TypeError as error:
        raise NotReadyError(f"{path.name} is not a topic declaration: {error}.") from error


TOPICS = load()
