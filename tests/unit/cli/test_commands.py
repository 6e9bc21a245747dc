"""What the commands refuse, and how they say so, without any stack."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import twiceshy.cli
from twiceshy.cli import app
from twiceshy.cli.output import START_IT, shown
from twiceshy.local.processes import free_port

COMMANDS = ("up", "demo", "publish", "import", "recall", "export", "fold", "doctor", "worker", "topics", "credential")


@pytest.fixture(autouse=True)
def no_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No stack runs, and nothing listens where the settings point."""
    monkeypatch.setenv("TWICESHY_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TWICESHY_KAFKA", f"127.0.0.1:{free_port()}")
    monkeypatch.setenv("TWICESHY_FALKORDB", f"redis://127.0.0.1:{free_port()}")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_help_names_every_command() -> None:
    told = run("--help").stdout
    assert [command for command in COMMANDS if command not in told] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    assert run(command, "--help").exit_code == 0


def test_version_is_printed() -> None:
    ended = run("--version")
    assert (ended.exit_code, ended.stdout.split()[0]) == (0, "twiceshy")


def test_help_imports_nothing_heavy() -> None:
    heavy = ("faust", "aiokafka", "qdrant_client", "falkordb", "numpy", "httpx")
    code = f"import sys, twiceshy.cli; print([name for name in {heavy!r} if name in sys.modules])"
    root = Path(twiceshy.cli.__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=root)
    assert ended.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("worker", "guardian"), "There is no worker 'guardian': the workers are guard,"),
        (("recall",), "There is no question"),
        (("recall", "  "), "There is no question"),
        (("recall", "x", "--tenant", "nobody"), "There is no tenant 'nobody': the tenants are default,"),
        (("recall", "x", "--as-of", "yesterday"), "The question cannot be asked: as_of: "),
        (("export", "--tenant", "nobody"), "There is no tenant 'nobody'"),
        (("publish", "nothing.jsonl"), "nothing.jsonl cannot be read: No such file or directory."),
        (("publish", "-", "--changed-at", "now"), "--changed-at must be an RFC 3339 time"),
    ],
)
def test_wrong_argument_is_told_in_one_sentence(arguments: tuple[str, ...], told: str) -> None:
    ended = run(*arguments)
    assert ended.exit_code == 1
    assert ended.stderr.startswith(told)
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("recall", "x"), ("publish", "-"), ("import", "-"), ("export",), ("fold",), ("topics", "create")]
)
def test_stack_that_does_not_run_is_told_in_one_sentence(arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)
    assert ended.exit_code == 1
    assert ended.stderr.strip().endswith(START_IT)
    assert ended.stderr.count("\n") == 1


def test_wrong_setting_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWICESHY_TRUST_DEFAULT", "3")
    ended = run("topics", "create")
    assert ended.exit_code == 1
    assert ended.stderr.startswith("The settings cannot be used: trust_default: ")


def test_malformed_settings_file_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "twiceshy.toml").write_text("tenants = [")
    ended = run("topics", "create")
    assert (ended.exit_code, ended.stderr.count("\n")) == (1, 1)


def test_escape_codes_of_an_incident_do_not_reach_the_terminal() -> None:
    assert shown("\x1b[31mred\x07\r\nnext") == "�[31mred��\nnext"
