"""python -m tests.faults.broken_worker NAME: the workers, with a bug in graph that one marked incident runs into.

The fault is planted: no input is known to make graph fail.
"""

import sys
from unittest.mock import patch

from twiceshy.core.memory import Memory
from twiceshy.core.recording import record
from twiceshy.events.chain import EntryLogged, Recorded
from workers.__main__ import main

MARK = "the planted bug"


def record_with_bug(memory: Memory, entry: EntryLogged) -> Recorded:
    if entry.incident is not None and MARK in entry.incident.title:
        raise ZeroDivisionError(MARK)
    return record(memory, entry)


if __name__ == "__main__":
    with patch("workers.graph.record", record_with_bug):
        raise SystemExit(main(sys.argv[1]))
