"""What in an incident's text makes guard hold it back for a person to decide."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from twiceshy.events.incident import IncidentConcluded

_TAGS = range(0xE0000, 0xE0080)


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that matched, and the field in which it did."""

    rule: str
    category: str
    where: str


def scan(incident: IncidentConcluded) -> tuple[Finding, ...]:
    """Every finding, field by field.

    Tag characters (U+E0000 to U+E007F) are invisible to people and legible to language models: no honest
    incident has them.
    """
    return tuple(
        Finding(rule="unicode-tag-characters", category="prompt_injection", where=where)
        for where, text in strings(incident.model_dump(mode="python"))
        if not text.isascii() and any(ord(letter) in _TAGS for letter in text)
    )


def strings(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Every string in ``value``, keys too, with the path that leads to it."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield f"{where}.{key}:key".lstrip("."), key
            yield from strings(part, f"{where}.{key}".lstrip("."))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from strings(part, f"{where}.{index}".lstrip("."))
