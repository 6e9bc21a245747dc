"""What `twiceshy replay` refuses, and how it says so, without any stack."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from twiceshy.cli import app
from twiceshy.cli.output import START_IT
from twiceshy.local.processes import free_port

TOPIC = "incidents.concluded.v1"


@pytest.fixture(autouse=True)
def no_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No stack runs, and nothing listens where the settings point."""
    monkeypatch.setenv("TWICESHY_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TWICESHY_KAFKA", f"127.0.0.1:{free_port()}")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["replay", *arguments])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("memory.recorded.v1",), "memory.recorded.v1 cannot be replayed: the topics that can are incidents.concluded"),
        (("memory.log.v1.dlq",), "memory.log.v1.dlq cannot be replayed: "),
        (
            (TOPIC, "--from", "yesterday"),
            "--from must be an RFC 3339 time with an offset, such as 2026-11-02T03:10:00Z",
        ),
        ((TOPIC, "--to", "offset:x"), "--to must be an RFC 3339 time"),
        ((TOPIC, "--from", "offset:5", "--to", "offset:5"), "Nothing lies between --from offset:5 and --to offset:5"),
        ((TOPIC, "--tenant", "nobody"), "There is no tenant 'nobody'"),
    ],
)
def test_wrong_argument_is_told_in_one_sentence(arguments: tuple[str, ...], told: str) -> None:
    ended = run(*arguments)
    assert ended.exit_code == 1
    assert ended.stderr.startswith(told)
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("option", [(), ("--dry-run",)])
def test_broker_that_is_away_is_told_in_one_sentence_and_leaves_no_state(
    tmp_path: Path, option: tuple[str, ...]
) -> None:
    ended = run(TOPIC, "--state", str(tmp_path / "state.json"), *option)
    assert ended.exit_code == 1
    assert ended.stderr.strip().endswith(START_IT)
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "state.json").exists()
