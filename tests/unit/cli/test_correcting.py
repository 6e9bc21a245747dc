"""What the commands that correct the memory refuse, and how they tell what was done, without any stack."""

import asyncio
import getpass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from twiceshy.cli import app, giving
from twiceshy.cli.giving import numbers, requested
from twiceshy.cli.output import START_IT
from twiceshy.events.commands import AliasRequested, CompactionRequested
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.local.processes import free_port
from twiceshy.settings import Settings
from workers.preview import Affected, FactChange, Preview

COMMANDS = ("alias", "unalias", "supersede", "invalidate-by-origin", "unblock", "compact", "resolve")
GIVEN = {
    "alias": ("payments", "payments-svc"),
    "unalias": ("payments", "payments-svc"),
    "supersede": ("pagerduty/A", "--by", "pagerduty/B"),
    "invalidate-by-origin": ("hoaxer", "--why", "It is one."),
    "unblock": ("hoaxer",),
    "compact": ("--before", "2026-01-01T00:00:00Z", "--why", "To save room."),
    "resolve": ("some-id",),
}
OUTCOME = IncidentOutcome(event_id="1", tenant="default", outcome="applied")


@pytest.fixture(autouse=True)
def no_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No stack runs, and nothing listens where the settings point."""
    monkeypatch.setenv("TWICESHY_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TWICESHY_KAFKA", f"127.0.0.1:{free_port()}")
    monkeypatch.setenv("TWICESHY_FALKORDB", f"redis://127.0.0.1:{free_port()}")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_the_same_options(command: str) -> None:
    told = CliRunner().invoke(app, (command, "--help"), env={"COLUMNS": "200"}).stdout
    assert [option for option in ("--tenant", "--who", "--why", "--json", "--timeout") if option not in told] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("alias", "payments", " "), "The command cannot be given: alias: must not be blank."),
        (("alias", "payments", "p", "--tenant", "nobody"), "There is no tenant 'nobody': the tenants are default,"),
        (("alias", "payments", "p", "--who", "\x07"), "The command cannot be given: who: must be printable text"),
        (("supersede", "A", "--by", "pagerduty/B"), "INCIDENT must be ORIGIN/FINGERPRINT, such as "),
        (("supersede", "pagerduty/A", "--by", "B"), "--by must be ORIGIN/FINGERPRINT, such as "),
        (("supersede", "pagerduty/", "--by", "a/B"), "INCIDENT must be ORIGIN/FINGERPRINT, such as "),
        (("supersede", "a/A", "--by", "a/B", "--at", "now"), "The command cannot be given: at: write the time as"),
        (("invalidate-by-origin", "hoaxer"), "Say with --why what it is for: "),
        (("invalidate-by-origin", "x", "--dry-run", "--since", "now"), "The command cannot be given: since: "),
        (("compact", "--before", "2026-01-01T00:00:00Z"), "Say with --why what it is for: "),
        (("compact", "--before", "2026-01-01", "--why", "x"), "The command cannot be given: before: "),
        (("resolve", "x" * 101), "The command cannot be given: id: "),
    ],
)
def test_wrong_argument_is_told_in_one_sentence(arguments: tuple[str, ...], told: str) -> None:
    ended = run(*arguments)
    assert ended.exit_code == 1
    assert ended.stderr.startswith(told)
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [*((command, *given) for command, given in GIVEN.items()), ("invalidate-by-origin", "hoaxer", "--dry-run")],
)
def test_stack_that_does_not_run_is_told_in_one_sentence(arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)
    assert ended.exit_code == 1
    assert ended.stderr.strip().endswith(START_IT)
    assert ended.stderr.count("\n") == 1


def test_who_asks_is_the_user_where_nobody_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    fields = {"canonical": "payments", "alias": "p", "why": "They are one."}
    assert requested(AliasRequested, tenant=None, who=None, **fields).who == "ada"
    assert requested(AliasRequested, tenant="demo", who="bob", **fields).who == "bob"


def test_user_without_a_name_is_told_to_give_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert run("unblock", "hoaxer").stderr == "This system has no name for you: say with --who who asks.\n"


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({}, "."),
        ({"facts_made": 0}, ". Nothing that memory believes is changed by it."),
        ({"incidents": 3, "facts_made": 1, "facts_expired": 0}, ": 3 incidents, 1 fact made."),
        ({"episodes": 1, "facts_closed_early": 2}, ": 1 episode, 2 facts closed early."),
    ],
)
def test_numbers_are_told_as_the_end_of_a_sentence(counts: dict[str, int], told: str) -> None:
    assert numbers(counts) == told


def ended_with(monkeypatch: pytest.MonkeyPatch, outcome: IncidentOutcome, *arguments: str) -> Result:
    """How a command ends whose outcome is ``outcome``."""

    async def followed(*_: object) -> IncidentOutcome:
        return outcome

    monkeypatch.setattr(giving, "_followed", followed)
    return run(*(arguments or ("alias", *GIVEN["alias"])))


def test_what_was_done_is_told_in_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = ended_with(monkeypatch, OUTCOME.model_copy(update={"counts": {"facts_made": 2, "facts_expired": 1}}))
    told = "payments-svc is another name of payments from now on: 2 facts made, 1 fact expired.\n"
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, told, "")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"outcome": "rejected", "reason": "alias_known", "detail": "It is one already."}, "It is one already."),
        ({"outcome": "dead_lettered", "reason": "bug"}, "The command was dead lettered: bug."),
        ({"outcome": "passed"}, "Nothing was done: the workers know no such command."),
        ({"skipped": ("embed",)}, "But embed could not do its part: its dead letters say why."),
    ],
)
def test_what_was_not_done_is_told_as_a_sentence(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], told: str
) -> None:
    ended = ended_with(monkeypatch, OUTCOME.model_copy(update=changes))
    assert ended.exit_code == 1
    assert ended.stderr.startswith(told)


def test_dry_run_is_told_in_numbers_and_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    async def previewed(*_: object) -> Preview:
        return Preview(
            counts={"incidents": 12, "observations": 1},
            forgotten=tuple(Affected("hoaxer", f"h/{number}", "\x1b[31mHoax") for number in range(12)),
            changed=(Affected("grafana/eu", "42", "It broke"),),
            facts=(FactChange("payments", "pool_size", "20", None), FactChange("payments", "owner", None, "ada")),
            facts_otherwise=1,
        )

    monkeypatch.setattr(giving, "_previewed", previewed)
    ended = run("invalidate-by-origin", "hoaxer", "--dry-run", "--block")
    assert ended.exit_code == 0
    assert ended.stdout.splitlines() == [
        "This would be done: 12 incidents, 1 observation.",
        "Nothing would be left of:",
        *(f"  hoaxer/h/{number}  �[31mHoax" for number in range(10)),
        "  and 2 more: --json has them all",
        "Others would change:",
        "  grafana%2Feu/42  It broke",
        "Facts would change:",
        "  payments pool_size: now 20, then nothing",
        "  payments owner: now nothing, then ada",
        "1 more fact would change at other times than now, or in what they rest on.",
        "Later incidents of hoaxer would be turned away until `twiceshy unblock`.",
        "Nothing was changed: leave out --dry-run to do it.",
    ]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_dry_run_of_what_would_be_refused_says_why(monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]) -> None:
    async def previewed(*_: object) -> Preview:
        return Preview(refused="Give an earlier time.")

    monkeypatch.setattr(giving, "_previewed", previewed)
    ended = run("compact", "--before", "2026-01-01T00:00:00Z", "--dry-run", *options)
    assert ended.exit_code == 1
    assert "Give an earlier time." in (ended.stdout if options else ended.stderr)


async def test_compaction_that_takes_long_says_how_much_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = iter([{"episodes": 700, "facts": 1}, {}, {"facts": 1}])
    done: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def expired(*_: object) -> dict[str, int]:
        found = next(left, None)
        if found is None:
            done.set_result("done")
        return found or {}

    monkeypatch.setattr(giving, "_expired", expired)
    monkeypatch.setattr(giving, "PROGRESS_SECONDS", 0.001)
    command = CompactionRequested(tenant="default", before=datetime.now(UTC), who="ada", why="")
    assert await giving._with_progress(Settings(), command, done) == "done"
    told = ["Expired versions left to drop: 701.", "Expired versions left to drop: 1."]
    assert capsys.readouterr().err.splitlines() == told
