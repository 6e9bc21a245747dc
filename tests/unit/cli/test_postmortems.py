"""A Markdown file is an incident, or a sentence that says what to change in it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from twiceshy.cli.lines import Line, Refused
from twiceshy.cli.postmortems import Reading, body_of, markdown_files, read_folder
from twiceshy.cli.times import Clock
from twiceshy.events.incident import IncidentConcluded

READING = Reading(clock=Clock(days=UTC), origin="postmortems", tenant=None, tenant_default="default")
HEADED = """# Checkout times out

**Date:** 2026-11-02
- Started: 2026-11-02 3:10 UTC
| Detected | 2026-11-02T03:13:00Z |
Resolved: by a rollback

## 1. Summary

Payments were slow.

```sh
# no heading
Ended: 2020-01-01
```

### For whom
Everyone.

## **Impact**:
A third of the orders.

## Root Cause ##
The pool was too small.
## Fix
Rolled back.

## Action items
- Alert on it.
"""
FRONT = """---
title: From the front matter
fingerprint: 4711
concluded_at: 2026-11-02T04:02:00Z
started: 2026-11-02 03:10Z
severity:
origin: wiki
labels: {version: 1.10, old: no}
entities:
  - {type: service, ref: payments, role: affected}
cause: The pool was too small.
facts:
  - {subject: "service:payments", predicate: pool_size, object: 20, valid_from: 2026-11-02T03:58:00Z, holds: true}
---
# Title of the text

## Summary
Payments were slow.
## Cause
Not this one.
"""


def told(text: str, file: str = "x.md", **changes: Any) -> IncidentConcluded:
    reading = Reading(**{**{name: getattr(READING, name) for name in Reading.__slots__}, **changes})
    return IncidentConcluded.model_validate(body_of(text, file, reading))


def refusal(text: str | bytes, folder: Path, file: str = "2026-01-01.md") -> str:
    (folder / file).write_bytes(text.encode() if isinstance(text, str) else text)
    [refused] = read_folder(folder, [file], READING)
    assert isinstance(refused, Refused)
    assert (refused.number, refused.file) == (1, file)
    assert "\n" not in refused.reason
    return refused.reason


def test_headings_say_what_is_what() -> None:
    incident = told(HEADED, "2026/checkout.md")
    assert incident.title == "Checkout times out"
    assert incident.fingerprint == "2026/checkout"
    assert incident.summary == (
        "Payments were slow.\n\n```sh\n# no heading\nEnded: 2020-01-01\n```\n\n### For whom\nEveryone."
        "\n\nA third of the orders."
    )
    assert incident.cause is not None
    assert (incident.cause.category, incident.cause.statement) == ("other", "The pool was too small.")
    assert incident.resolution == "Rolled back."
    assert incident.details == HEADED.strip()
    assert (incident.origin.name, incident.tenant) == ("postmortems", "default")


def test_lines_say_when() -> None:
    incident = told(HEADED)
    assert incident.started_at == datetime(2026, 11, 2, 3, 10, tzinfo=UTC)
    assert incident.detected_at == datetime(2026, 11, 2, 3, 13, tzinfo=UTC)
    assert incident.concluded_at == datetime(2026, 11, 2, 23, 59, 59, tzinfo=UTC)


def test_front_matter_counts_more_than_headings() -> None:
    incident = told(FRONT)
    assert (incident.title, incident.fingerprint, incident.origin.name) == ("From the front matter", "4711", "wiki")
    assert (incident.summary, incident.severity) == ("Payments were slow.", None)
    assert incident.cause is not None
    assert incident.cause.statement == "The pool was too small."
    assert incident.started_at == datetime(2026, 11, 2, 3, 10, tzinfo=UTC)
    assert [entity.key for entity in incident.entities] == ["service:payments"]
    assert (incident.facts[0].object, incident.facts[0].holds) == ("20", True)
    assert incident.details is not None
    assert incident.details.startswith("# Title of the text")


def test_scalars_of_front_matter_are_the_text_that_was_written() -> None:
    assert told(FRONT).labels == {"version": "1.10", "old": "no"}


def test_origin_without_a_name_has_that_of_the_command() -> None:
    front = "---\ndate: 2026-01-01\norigin: {event_id: E1}\n---\n# T"
    assert told(front, origin="wiki").origin.model_dump() == {"name": "wiki", "event_id": "E1"}


def test_name_of_the_file_is_the_last_to_say_when() -> None:
    day = datetime(2026, 1, 2, 23, 59, 59, tzinfo=UTC)
    assert told("# T", "2026/2026-01-02-t.md").concluded_at == day
    assert told("# T\nEnded: 2026-01-02", "2025-03-04.md").concluded_at == day
    berlin = Clock(zone=ZoneInfo("Europe/Berlin"), days=ZoneInfo("Europe/Berlin"))
    assert told("# T", "2026-01-02.md", clock=berlin).concluded_at == day.replace(hour=22)


def test_heading_keeps_the_marks_that_are_its_own() -> None:
    assert told("#  The C# client hangs ##\nDate: 2026-01-01").title == "The C# client hangs"
    assert told("# Clients in C#\nDate: 2026-01-01").title == "Clients in C#"


def test_of_several_lines_the_one_about_the_end_says_when_it_was_over() -> None:
    incident = told("# T\nDate: 2026-01-01\nEnded: 2026-01-02\nResolved: 2026-01-03")
    assert incident.concluded_at.day == 3


def test_tenant_of_the_command_counts_and_not_that_of_the_file() -> None:
    front = "---\ntenant: demo\ndate: 2026-01-01\n---\n# T"
    assert [told(front).tenant, told(front, tenant="public").tenant] == ["demo", "public"]


def test_key_that_is_to_be_ignored_is_passed_over() -> None:
    assert told("---\nlayout: post\ndate: 2026-01-01\n---\n# T", ignored=frozenset({"layout"})).title == "T"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no heading", "title: there is no heading with one #"),
        ("---\ntitle: T", "the front matter has no end"),
        ("---\n- a\n---\n", "the front matter must be lines of `field: value`"),
        ("---\na: b: c\n---\n", "the front matter is not YAML: mapping values are not allowed here in line 2"),
        ("---\na: !!python/object:os.system x\n---\n", "the front matter is not YAML: "),
        ("+++\ntitle = 'T'\n+++\n", "TOML"),
        ("---\nlayout: post\n---\n# T", "layout: there is no such field: take it out, or say --ignore-key layout; "
                                        "the fields are tenant, fingerprint, "),
        ("# T\nDate: 2026-01-01\nDate: 2026-01-02", "several lines that begin with Date"),
        ("# T\nStarted: 2026-01-01 10:00", "started_at (started): the time has no offset"),
        ("# T\nDate: March 5, 2026", "concluded_at (date): write the time as"),
        ("---\nconcluded_at: soon\n---\n# T", "concluded_at: write the time as"),
        ("---\nfacts: none\n---\n# T", "facts: "),
        ("# T\nStarted: 2026-01-02", "started_at must not be later than concluded_at"),
        ("# T\n## Impact\n" + "x" * 16_385, 'summary: what is under "Impact" has 16385 characters, of 16384 at most'),
        ("# T\n" + "x" * 98_304, "details: the whole text has 98308 characters, of 98304 at most"),
        ("# T\n" + "\N{SNOWMAN}" * 90_000, "the whole: an event has at most"),
        (b"# T\xff", "it is not UTF-8 text"),
    ],
)  # fmt: skip
def test_file_that_cannot_be_sent_says_what_to_change(text: str | bytes, reason: str, tmp_path: Path) -> None:
    assert reason in refusal(text, tmp_path)


def test_file_that_says_nowhere_when_it_was_is_refused(tmp_path: Path) -> None:
    assert refusal("# T", tmp_path, file="t.md").startswith("concluded_at: there is no such front matter")


def test_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    assert list(read_folder(tmp_path, ["x.md"], READING)) == [
        Refused(1, "it cannot be read: No such file or directory", "x.md")
    ]


def test_every_markdown_file_below_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for file in ("b.md", "a/2026-01-01.MD", "a/README.md", "drafts/x/2026-01-01.md", "c.txt"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("\ufeff# T\r\nDate: 2026-01-01\r\n", encoding="utf-8")
    files = markdown_files(tmp_path, ["README.md", "drafts/*"])
    assert files == ["a/2026-01-01.MD", "b.md"]
    read = list(read_folder(tmp_path, files, READING))
    assert [(line.number, line.file, line.incident.details) for line in read if isinstance(line, Line)] == [
        (1, "a/2026-01-01.MD", "# T\nDate: 2026-01-01"),
        (2, "b.md", "# T\nDate: 2026-01-01"),
    ]


@pytest.mark.parametrize(("excluded", "told"), [([], "no *.md file"), (["x.md"], "--exclude x.md matches no file")])
def test_folder_without_a_file_is_told(excluded: list[str], told: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=told.replace("*", r"\*")):
        markdown_files(tmp_path, excluded)
