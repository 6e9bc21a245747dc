"""Labels of risky actions, looked for when a text is read."""

import doctest

import pytest

from twiceshy.core import risky as module
from twiceshy.core.risky import risky
from twiceshy.core.scan import scan_text


def test_examples_of_the_docstring() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", ()),
        ("We restarted the pods.", ()),
        ("setenforce 0, then chmod 777 /data", ("disables-protection", "opens-permissions")),
        ("\ud800 rm -rf /data", ("deletes-data",)),
        ("ＳＥＴＥＮＦＯＲＣＥ 0", ("disables-protection",)),
        # What a person let in all the same, though no scan reads it to its end: whoever recalls it gets an answer.
        ("".join(chr(0x4E00 + number) for number in range(5_000)), ()),
    ],
)
def test_kinds_are_told_in_order(text: str, kinds: tuple[str, ...]) -> None:
    assert risky(text) == kinds


@pytest.mark.parametrize("text", ["We restarted the pods.", "setenforce 0, then chmod 777 /data"])
def test_kinds_are_those_of_the_scan(text: str) -> None:
    assert risky(text) == scan_text(text).risky
