"""What `twiceshy import` refuses and rehearses, without any stack."""

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner, Result

from tests.incidents import incident
from twiceshy.cli import app
from twiceshy.cli.following import Lost, Report, Told
from twiceshy.cli.lines import Line, Refused
from twiceshy.cli.rehearsal import rehearse
from twiceshy.events.common import milliseconds
from twiceshy.settings import Settings

ROWS = "fingerprint,title,concluded_at\n1,It broke,2026-01-01T00:00:00Z\n"
NOW_MS = milliseconds(datetime(2026, 6, 1, tzinfo=UTC))


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder to be in, with sources, and no stack that runs."""
    monkeypatch.setenv("TWICESHY_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(ROWS)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "2026-01-01.md").write_text("# It broke")
    (tmp_path / "a.jsonl").write_text("{}\n")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["import", *arguments])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("a.xlsx",), "a.xlsx is no folder, and its name does not end in .jsonl, .ndjson, .json, .csv, .tsv: "),
        (("b.csv",), "b.csv cannot be read: No such file or directory."),
        (("a.csv",), "Nothing gives origin.name: say --set origin.name=NAME."),
        (("a.csv", "--map", "title"), "--map must be FIELD=COLUMN, and is 'title'."),
        (("a.csv", "--set", "severity="), "--set must be FIELD=VALUE, and is 'severity='."),
        (("a.csv", "--map", "titel=title"), "There is no field 'titel': the fields are fingerprint, title, "),
        (("a.csv", "--delimiter", ";;"), "--delimiter must be one character, such as ';', or tab, and is ';;'."),
        (("a.csv", "--timezone", "Mars/Base"), "There is no time zone 'Mars/Base': "),
        (("a.csv", "--tenant", "nobody"), "There is no tenant 'nobody': "),
        (("a.csv", "--changed-at", "now"), "--changed-at must be an RFC 3339 time"),
        (("a.csv", "--origin", "x"), "--origin is for a folder of Markdown, and a.csv is read as a CSV file."),
        (("texts", "--map", "title=x"), "--map is for a CSV file, and texts is read as a folder of Markdown."),
        (("a.jsonl", "--timezone", "UTC"), "--timezone is for a CSV file or a folder of Markdown, and a.jsonl is read"),
        (("texts", "--exclude", "x.md"), "--exclude x.md matches no file below texts."),
    ],
)
def test_wrong_argument_is_told_in_one_sentence(arguments: tuple[str, ...], told: str) -> None:
    ended = run(*arguments)
    assert ended.exit_code == 1
    assert ended.stderr.startswith(told)
    assert ended.stderr.count("\n") == 1


def test_dry_run_says_what_would_be_sent_and_sends_nothing() -> None:
    ended = run("a.csv", "--set", "origin.name=jira", "--dry-run")
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ended.stdout.split()[:4] == ["would", "be", "incidents", "sent"]
    assert "Nothing was sent" in ended.stdout
    assert "Read: fingerprint=fingerprint, title=title, concluded_at=concluded_at" in ended.stdout


def test_dry_run_tells_each_record_that_would_be_refused(folder: Path) -> None:
    (folder / "texts" / "notes.md").write_text("nothing")
    ended = run("texts", "--dry-run")
    assert ended.exit_code == 1
    assert "notes.md: concluded_at: there is no such front matter" in ended.stdout


def test_dry_run_for_programs_has_everything() -> None:
    ended = run("a.jsonl", "--dry-run", "--json")
    told = orjson.loads(ended.stdout)
    assert (ended.exit_code, told["dry_run"], told["unit"], told["ready"], told["held"]) == (1, True, "lines", 0, [])
    assert [refused["number"] for refused in told["refused"]] == [1]


def test_escape_codes_of_a_header_do_not_reach_the_terminal(folder: Path) -> None:
    (folder / "a.csv").write_text("\x1b[31mred\n")
    assert "\x1b" not in run("a.csv").stderr


def test_rehearsal_finds_what_guard_would_not_admit() -> None:
    records: list[Line | Refused] = [
        Refused(1, "not JSON"),
        Line(2, incident(1)),
        Line(3, incident(1, title="Corrected")),
        Line(4, incident(2, tenant="strangers")),
        Line(5, incident(3, concluded_at=datetime(2026, 6, 3, tzinfo=UTC))),
        Line(6, incident(4, summary="\N{TAG LATIN SMALL LETTER A}")),
    ]
    told = rehearse(records, Settings(), now_ms=NOW_MS)
    assert (told.ready, told.repeated) == (2, 1)
    assert [(refused.number, refused.reason.split(":")[0]) for refused in told.refused] == [
        (1, "not JSON"),
        (4, "tenant"),
        (5, "concluded_at"),
    ]
    assert [held.number for held in told.held] == [6]


@pytest.mark.parametrize(
    ("outcomes", "refused", "lost", "unsent", "all_in_memory", "nothing_to_correct"),
    [
        ((), 0, 0, 0, True, True),
        (("remembered", "reaffirmed", "corrected", "stale"), 0, 0, 0, True, True),
        (("remembered", "dead_lettered"), 0, 0, 0, False, False),
        (("remembered", "quarantined"), 0, 0, 0, False, True),
        (("remembered", "rejected"), 0, 0, 0, False, False),
        (("remembered",), 1, 0, 0, False, False),
        (("remembered",), 0, 1, 0, False, False),
        (("remembered",), 0, 0, 1, False, False),
    ],
)
def test_memory_has_all_only_when_every_record_came_to_it(
    outcomes: tuple[str, ...], refused: int, lost: int, unsent: int, all_in_memory: bool, nothing_to_correct: bool
) -> None:
    report = Report(
        outcomes=[Told(1, "e", "default", "1", outcome, True, None, None) for outcome in outcomes],
        refused=[Refused(1, "x")] * refused,
        lost=[Lost(1, "e", "1")] * lost,
        unsent=unsent,
    )
    assert (report.all_in_memory, report.nothing_to_correct) == (all_in_memory, nothing_to_correct)
