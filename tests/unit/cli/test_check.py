"""What `twiceshy check` tells a producer before anything is published, without any stack."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

from tests.incidents import incident
from tests.records import HIDDEN
from twiceshy.cli import app
from twiceshy.contracts import EXAMPLE_INCIDENTS
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stream.codec import encode


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder to be in, where no stack runs."""
    monkeypatch.setenv("TWICESHY_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*said: IncidentConcluded | bytes, options: tuple[str, ...] = ()) -> Result:
    lines = b"\n".join(one if isinstance(one, bytes) else encode(one) for one in said)
    return CliRunner().invoke(app, ["check", "-", *options], input=lines)


def told(*said: IncidentConcluded | bytes, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = orjson.loads(check(*said, options=("--json", *options)).stdout)
    return found


def test_every_line_is_told_what_guard_would_do_with_it() -> None:
    soon = datetime.now(UTC) + timedelta(days=2)
    found = told(
        incident(1),
        incident(2, summary=f"Slow.{HIDDEN}"),
        b'{"title": 7}',
        incident(4, concluded_at=soon, started_at=None),
        incident(5, tenant="nobody"),
    )
    assert [(one["number"], one["verdict"]) for one in found] == [
        (1, "admitted"), (2, "held"), (3, "refused"), (4, "refused"), (5, "refused")
    ]  # fmt: skip
    assert "unicode-tag-characters (unicode) in summary" in found[1]["reasons"]
    assert "title: " in found[2]["reasons"][0]
    assert "concluded_at is more than 24 h ahead" in found[3]["reasons"][0]
    assert "There is no tenant 'nobody'" in found[4]["reasons"][0]


def test_what_would_be_masked_is_told_and_what_is_risky_with_the_trust_that_is_left() -> None:
    [plain, masked, risky] = told(
        incident(1), incident(2, summary="It came from 10.1.2.3 and 10.1.2.4."), incident(3, steps=["setenforce 0"])
    )
    assert (plain["masked"], plain["risky"], plain["trust"]) == ({}, [], 0.3)
    assert (masked["masked"], masked["trust"]) == ({"ip": 2}, 0.3)
    assert risky["risky"] != []
    assert (risky["verdict"], risky["trust"]) == ("admitted", 0.15)


def test_exit_code_says_whether_all_would_be_admitted() -> None:
    assert check(incident(1)).exit_code == 0
    assert check(incident(1), incident(2, summary=HIDDEN)).exit_code == 1
    assert check(b"{}").exit_code == 1


def test_sentences_say_which_line_and_why() -> None:
    shown = check(incident(1), incident(2, summary=HIDDEN), b"{").stdout
    assert "line 2: unicode-tag-characters (unicode) in summary" in " ".join(shown.split())
    assert "line 3: " in shown
    assert "Bursts are judged by the running guard alone" in shown


def test_lines_are_checked_for_the_tenant_that_is_asked_for() -> None:
    [found] = told(incident(1, tenant="nobody"), options=("--tenant", "demo"))
    assert found["verdict"] == "admitted"
    assert check(incident(1), options=("--tenant", "nobody")).exit_code == 1


def test_examples_would_all_be_admitted() -> None:
    ended = CliRunner().invoke(app, ["check", str(EXAMPLE_INCIDENTS), "--json"])
    assert [one["verdict"] for one in orjson.loads(ended.stdout)] == ["admitted"] * 30
