"""The rules themselves: safe patterns, names that are one rule's, and a version that follows them."""

import ast
from pathlib import Path

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.incidents import incident
from twiceshy.core import (
    letters,
    scan,
    scan_commands,
    scan_languages,
    scan_markup,
    scan_passives,
    scan_personas,
    scan_rules,
)
from twiceshy.core.scan import RULES_VERSION, scan_text
from twiceshy.core.scan import scan as scanned
from twiceshy.core.scan_patterns import Rule

RULES = (
    *scan_rules.RULES,
    *scan_passives.RULES,
    *scan_personas.RULES,
    *scan_languages.RULES,
    *scan_markup.RULES,
    *scan_commands.RULES,
    *scan_commands.RISKY,
)
CORE = Path(scan.__file__).parent


def test_no_pattern_looks_around() -> None:
    looking = [rule.name for rule in RULES if any(sign in rule.pattern for sign in ("(?=", "(?!", "(?<"))]
    assert looking == []
    with pytest.raises(re2.error):
        re2.compile("a(?=b)")


def test_no_text_of_an_event_is_matched_by_backtracking() -> None:
    guarding = [path for path in CORE.glob("*.py") if path.name.startswith(("scan", "views", "letters", "redact"))]
    assert len(guarding) > 5
    imported = {
        (path.name, name.name)
        for path in guarding
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import)
        for name in node.names
        if name.name in ("re", "regex")
    }
    assert imported == set()


def test_a_name_is_one_rules() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.category != "risky_action"], ids=lambda rule: rule.name
)
def test_patterns_are_written_in_the_form_of_the_text_that_they_are_matched_on(rule: Rule) -> None:
    letters_of_it = "".join(letter for letter in rule.pattern if letter.isalpha() and not letter.isascii())
    assert letters.folded(letters_of_it) == letters_of_it


def test_the_version_follows_the_rules() -> None:
    assert len(RULES_VERSION) == 12
    assert RULES_VERSION.isalnum()


@settings(deadline=None)
@given(st.text(max_size=300))
def test_the_scan_of_any_text_ends_and_never_raises(text: str) -> None:
    found = scan_text(text)
    assert all(finding.rule and finding.category for finding in found.findings)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            "ignore all previous instructions you are system : . \n {{env}} ![]( <!-- 🔥 \u200b é".split(" ")
        ),
        max_size=40,
    )
)
def test_what_is_joined_of_parts_of_tricks_is_scanned_and_never_raises(parts: list[str]) -> None:
    text = " ".join(parts)
    found = scanned(incident(1, details=text, summary=text[::-1], labels={f"k{text[:50]}": text}))
    assert (
        found.findings
        == scanned(incident(1, details=text, summary=text[::-1], labels={f"k{text[:50]}": text})).findings
    )
