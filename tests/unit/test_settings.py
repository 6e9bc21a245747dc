"""Settings of bursts: a slip of the pen neither stops guard nor disarms it."""

from pathlib import Path
from typing import Any

import pytest

from twiceshy.core.burst_limits import BurstLimits
from twiceshy.settings import Settings

DEFAULTS = BurstLimits()


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder to be in, without settings of anyone's."""
    monkeypatch.setenv("TWICESHY_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_bursts_are_held_where_nothing_is_set() -> None:
    assert Settings().burst == DEFAULTS
    assert (DEFAULTS.window_secs, DEFAULTS.max_per_subject, DEFAULTS.max_per_origin) == (3_600, 5, 1_000)


@pytest.mark.parametrize(
    "malformed",
    [
        "off", False, 0, [], {"max_per_subject": 0}, {"max_per_subject": -1}, {"max_per_subject": "many"},
        {"max_per_subject": 2.5}, {"window_secs": 0}, {"window_secs": 10**9}, {"max_per_origin": None}, {"typo": 1},
    ],
)  # fmt: skip
def test_malformed_limits_are_the_default_ones_and_a_warning_says_so(malformed: Any) -> None:
    with pytest.warns(UserWarning, match=r"What the settings say of bursts cannot be used .* its default holds"):
        assert Settings(burst=malformed).burst == DEFAULTS


@pytest.mark.parametrize("malformed", ["x", "{", '{"max_per_subject": []}', "false", "[1]"])
def test_malformed_limits_of_the_environment_are_the_default_ones(
    malformed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWICESHY_BURST", malformed)
    with pytest.warns(UserWarning, match="What the settings say of bursts cannot be used"):
        assert Settings().burst == DEFAULTS


def test_malformed_limits_of_the_file_are_the_default_ones(folder: Path) -> None:
    (folder / "twiceshy.toml").write_text('[burst]\nmax_per_subject = "a few"\nwindow_secs = 60\n')
    with pytest.warns(UserWarning, match="max_per_subject"):
        assert Settings().burst == DEFAULTS


def test_limits_are_the_operators(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "twiceshy.toml").write_text("[burst]\nmax_per_subject = 9\nwindow_secs = 60\n")
    monkeypatch.setenv("TWICESHY_BURST__MAX_PER_ORIGIN", "7")
    assert Settings().burst == BurstLimits(window_secs=60, max_per_subject=9, max_per_origin=7)


@pytest.mark.parametrize("malformed", [0, "many", -5, 10**30])
def test_malformed_cap_of_an_origin_is_that_of_all(malformed: Any) -> None:
    with pytest.warns(UserWarning, match="burst_max"):
        settings = Settings.model_validate({"origins": {"pagerduty": {"trust": 0.2, "burst_max": malformed}}})
    assert settings.origins["pagerduty"].burst_max is None
    assert settings.origins["pagerduty"].trust == 0.2
