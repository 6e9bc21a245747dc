"""Files beside a broker that keeps its log in memory: what must outlive it, one file a partition.

A line is one record, as JSON with base64 fields, appended before the record is produced. So a file never
lacks what a topic has, and has it in the same order; what a topic lacks is put back at the next start.
"""

import base64
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from twiceshy.errors import TransientError
from twiceshy.stream.records import Output
from twiceshy.stream.topics import TOPICS

_KEPT = frozenset({TOPICS.memory_log.name, TOPICS.incidents_quarantined.name, TOPICS.memory_rules.name})
_DEAD_LETTERS_SUFFIX = TOPICS.dead_letters.name.removeprefix("{topic}")


def kept(topic: str) -> bool:
    """Whether what is sent to ``topic`` must outlive the broker."""
    return topic in _KEPT or topic.endswith(_DEAD_LETTERS_SUFFIX)


class Journal:
    """Appends to the files of one process. One process writes one topic, so files are never shared."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[tuple[str, int], int] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def append(self, outputs: Sequence[Output]) -> None:
        """Writes the kept ones of ``outputs``; the kernel has them when this returns, so that a killed
        process loses nothing.

        Raises:
            TransientError: the disk did not take all of them. What it took is cut off again.
        """
        lines: dict[tuple[str, int], list[bytes]] = {}
        for output in outputs:
            if kept(output.topic):
                lines.setdefault((output.topic, output.partition), []).append(_line(output))
        ends = {target: os.fstat(self._descriptor(target)).st_size for target in lines}
        try:
            for target, batch in lines.items():
                _write_all(self._files[target], b"".join(batch))
        except OSError as error:
            for target, end in ends.items():
                os.ftruncate(self._files[target], end)
            raise TransientError(f"The journal in {self._folder} cannot be written: {error.strerror}.") from error

    def close(self) -> None:
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()

    def _descriptor(self, target: tuple[str, int]) -> int:
        if target not in self._files:
            topic, partition = target
            path = self._folder / f"{topic}-{partition}.jsonl"
            cut_torn_line(path)
            self._files[target] = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return self._files[target]


def _write_all(descriptor: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.write(descriptor, data[written:])


def _line(output: Output) -> bytes:
    record = {
        "key": base64.b64encode(output.key).decode(),
        "value": None if output.value is None else base64.b64encode(output.value).decode(),
        "headers": [[name, base64.b64encode(value).decode()] for name, value in output.headers],
    }
    return orjson.dumps(record) + b"\n"


def cut_torn_line(path: Path) -> None:
    """Cuts what follows the last whole line: a crash in the middle of an append leaves such a rest."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        end = size = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 65_536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            file.truncate(end)


def files(folder: Path) -> list[Path]:
    """Every file of a journal, in a fixed order."""
    return sorted(folder.glob("*.jsonl"))


def read(path: Path) -> Iterator[Output]:
    """The records of one file, oldest first."""
    topic, _, partition = path.stem.rpartition("-")
    with path.open("rb") as file:
        for line in file:
            record: dict[str, Any] = orjson.loads(line)
            value = record["value"]
            yield Output(
                topic=topic,
                key=base64.b64decode(record["key"]),
                value=None if value is None else base64.b64decode(value),
                headers=tuple((name, base64.b64decode(raw)) for name, raw in record["headers"]),
                partition=int(partition),
            )
