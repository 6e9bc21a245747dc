"""How a credential is made, and what `twiceshy doctor` says of those that there are."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from twiceshy.cli import app
from twiceshy.cli.checks import Connections, check_credentials
from twiceshy.errors import NotReadyError
from twiceshy.settings import CredentialSettings, Settings

ALERTING = ("alerting", "--tenant", "payments", "--origin", "pagerduty", "--origin", 'Caf"é')


def new(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("credential", "new", *arguments))


def test_secret_is_written_for_its_owner_alone_and_what_guard_needs_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "keys" / "alerting.key"
    ended = new(*ALERTING, "--file", str(file))
    secret = file.read_text().strip()
    assert (ended.exit_code, file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0, 0o600, 0o700)
    assert len(secret) == 64
    assert secret not in ended.stdout + ended.stderr
    told = tomllib.loads(ended.stdout)["credentials"]
    assert CredentialSettings.model_validate(told["alerting"]) == CredentialSettings(
        secret=f"file:{file}", tenants=("payments",), origins=("pagerduty", 'Caf"é')
    )
    [credential] = Settings.model_validate({"credentials": told}).known_credentials()
    assert credential.secrets == (secret.encode(),)


def test_two_credentials_have_two_secrets_and_a_star_covers_all(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.key", "b.key")]
    [first, _] = [new("ops", "--tenant", "*", "--command", "*", "--file", str(file)) for file in files]
    assert files[0].read_text() != files[1].read_text()
    told = tomllib.loads(first.stdout)["credentials"]["ops"]
    assert (told["tenants"], told["commands"], "origins" in told) == ("*", "*", False)


def test_secret_is_never_written_over(tmp_path: Path) -> None:
    file = tmp_path / "alerting.key"
    file.write_text("the one in use")
    ended = new(*ALERTING, "--file", str(file))
    assert (ended.exit_code, file.read_text()) == (1, "the one in use")
    assert "is there already, and is not written over: name another with --file." in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("alerting",), "Say with --tenant whom it may speak for, and with --origin or --command"),
        (("alerting", "--tenant", "payments"), "Say with --tenant whom it may speak for"),
        (("Alerting", "--tenant", "*", "--origin", "*"), "This is no credential: Alerting.[key]: String should match"),
        (("alerting", "--tenant", "*", "--command", "rm"), "This is no credential: alerting.commands"),
    ],
)
def test_what_makes_no_credential_is_told_and_nothing_is_written(
    arguments: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    ended = new(*arguments, "--file", str(tmp_path / "a.key"))
    assert ended.exit_code == 1
    assert ended.stderr.startswith(told)
    assert list(tmp_path.iterdir()) == []


async def found(**settings: Any) -> str:
    """What doctor says of the credentials, which are looked at without any store."""
    nowhere: list[Any] = [None] * 3
    return await check_credentials(Connections(Settings.model_validate(settings), *nowhere))


async def test_doctor_says_which_trust_counts_for_nobody(tmp_path: Path) -> None:
    origins = {"pagerduty": {"trust": 0.8}, "curated": {"trust": 1.0}, "rumours": {"trust": 0.1}}
    (tmp_path / "a.key").write_text("x" * 32)
    alerting = {"secret": f"file:{tmp_path}/a.key", "tenants": "*", "origins": ["pagerduty"]}
    told = await found(origins=origins, credentials={"alerting": alerting})
    assert told.startswith("No credential speaks for curated: what is said in that name is filed as unsigned/curated")
    assert "`twiceshy credential new ID --tenant TENANT --origin curated`" in told
    assert await found(origins={}, credentials={"alerting": alerting}) == "alerting: each has its secret."
    assert (await found()).startswith("None is configured: events are unsigned")


async def test_doctor_is_not_content_without_the_secret_that_signs() -> None:
    with pytest.raises(NotReadyError, match="There is no credential 'alerting' to sign with: add"):
        await found(credential="alerting")
