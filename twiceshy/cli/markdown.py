"""What a Markdown text is made of, as far as a post-mortem is concerned: front matter, headings, and dated lines."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t](?P<text>.*)")
_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})")
# `Date: …`, `**Date:** …`, `- Date: …` and `| Date | … |`, where what follows begins as a date does.
_DATED = re.compile(
    r"[\s>|*_+-]*(?P<word>[a-z]+)[*_]*\s*[:|]\s*[*_]*\s*"
    r"(?P<time>(?:\d|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d).*?)[\s|*_]*",
    re.IGNORECASE,
)
# A line that says when is short; and a pattern that tries much must not meet a long one.
DATED_CHARS_MAX = 200
_NULL = "tag:yaml.org,2002:null"


class _AsWritten(yaml.SafeLoader):
    """Scalars are the text that was written: YAML would make 1.10 a number, 017 the number 15, and no a false."""

    yaml_implicit_resolvers = {
        letter: [(tag, pattern) for tag, pattern in resolvers if tag == _NULL]
        for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


@dataclass(frozen=True, slots=True)
class Heading:
    """``line`` is its index in the text, ``level`` from 1 to 6."""

    line: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Markdown:
    """A text without its front matter. ``prose`` are the lines that are not code."""

    lines: tuple[str, ...]
    headings: tuple[Heading, ...]
    prose: tuple[str, ...]

    @property
    def title(self) -> str | None:
        return next((heading.text for heading in self.headings if heading.level == 1), None)

    def sections(self, known: Callable[[str], bool]) -> list[tuple[str, str]]:
        """The headings that are ``known``, each with the text below it: up to the next that is known or not deeper."""
        found = []
        for index, heading in enumerate(self.headings):
            if known(heading.text):
                after = (
                    later.line
                    for later in self.headings[index + 1 :]
                    if later.level <= heading.level or known(later.text)
                )
                found.append((heading.text, "\n".join(self.lines[heading.line + 1 : next(after, None)]).strip()))
        return found

    def dated(self, words: frozenset[str]) -> dict[str, str]:
        """What the lines say that name one of ``words``, a colon, and a date.

        Raises:
            ValueError: a word is there twice, with different times.
        """
        told: dict[str, str] = {}
        for line in self.prose:
            found = _DATED.fullmatch(line) if len(line) <= DATED_CHARS_MAX else None
            if found is None or (word := found["word"].casefold()) not in words:
                continue
            if told.setdefault(word, found["time"]) != found["time"]:
                raise ValueError(f"there are several lines that begin with {word.title()}: say it in front matter")
        return told


def parse(text: str) -> Markdown:
    """The structure of ``text``, whose lines end in line feeds. A # in a block of code is no heading."""
    lines = text.split("\n")
    headings: list[Heading] = []
    prose: list[str] = []
    fence = ""
    for number, line in enumerate(lines):
        marks = _FENCE.match(line)
        if fence:
            if marks and marks["marks"].startswith(fence):
                fence = ""
        elif marks:
            fence = marks["marks"]
        else:
            prose.append(line)
            if heading := _HEADING.fullmatch(line):
                headings.append(Heading(number, len(heading["marks"]), _unclosed(heading["text"].strip())))
    return Markdown(tuple(lines), tuple(headings), tuple(prose))


def _unclosed(heading: str) -> str:
    """``heading`` without the # that may close it, which a space sets apart: that of C# is its own."""
    bare = heading.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else heading


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The front matter between two lines of ``---``, empty where there is none, and the text after it.

    Raises:
        ValueError: it has no end, is no YAML, or no mapping of fields.
    """
    lines = text.split("\n")
    opening = lines[0].rstrip()
    if opening == "+++":
        raise ValueError("front matter between +++ is TOML: write it as YAML, between ---")
    if opening != "---":
        return {}, text
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        raise ValueError("the front matter has no end: write --- on a line of its own after it")
    return _mapping("\n".join(lines[1:end])), "\n".join(lines[end + 1 :])


def _mapping(text: str) -> dict[str, Any]:
    try:
        given = yaml.load(text, Loader=_AsWritten)  # noqa: S506 - it is a SafeLoader
    except yaml.MarkedYAMLError as error:
        # The mark counts from 0, and the front matter begins in the second line of the file.
        where = f" in line {error.problem_mark.line + 2}" if error.problem_mark else ""
        raise ValueError(f"the front matter is not YAML: {error.problem}{where}") from None
    except yaml.YAMLError as error:
        raise ValueError(f"the front matter is not YAML: {' '.join(str(error).split())}") from None
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ValueError("the front matter must be lines of `field: value`")
    return {str(key): value for key, value in given.items() if value is not None}
