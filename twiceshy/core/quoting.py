"""Text from a memory as it may stand in a prompt: inert, visible, bounded, and quoted line by line.

    quoting = Quoting(boundary)
    quoting.field("Its title was", title, 500)      ["> Its title was: Checkout timed out", "> | and so on"]
    quoting.name(origin)                            "“pagerduty”"

What could act is written as its code, ``‹U+0021›[`` for the beginning of an image: whoever reads it knows what it
was, and nothing renders, follows or obeys it. So nothing that looks like the boundary is left in it, whatever it is
written with; no link, image or tag; no token of a chat template, and no role at the beginning of a line; no character
that cannot be seen; and no secret, should one have got that far.
"""

from collections.abc import Iterator
from itertools import accumulate

import re2

from twiceshy.core.confusables import folded
from twiceshy.core.redact import Redactor

_REDACTOR = Redactor()
"""For what was written before a rule was known. A tenant's own host names were masked when they were written."""

BOUNDARY_CHARS_MIN = 16
NAME_CHARS_MAX = 120

# Invisible, though they count as letters, marks or symbols; what is not printable comes besides.
_INVISIBLE = frozenset(
    chr(code)
    for first, last in [
        (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164),
        (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF),
    ]
    for code in range(first, last + 1)
)  # fmt: skip
_SPACES = dict.fromkeys([0x09, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")

# What acts in Markdown, HTML or a chat template; of each match the group is written as its code.
_ACTING = tuple(
    map(
        re2.compile,
        (
            r"(!)\[",
            r"\]([(\[:])",
            r"([<＜﹤]+)[^ =0-9<＜﹤\n]",
            r"(`{3,}|~{3,}|={3,})",
            r"(:)//",
            r"(?i)www(\.)",
        ),
    )
)
_PLACEHOLDER = re2.compile(r"<[a-z][a-z0-9]*(?:-[a-z0-9]+)*-[0-9]+>")


def _any_of(words: str) -> str:
    return "|".join(folded(word).text for word in words.split())


_ROLES = _any_of("system user assistant human ai developer tool function model bot instruction instructions response")
_BESIDE_ROLES = _any_of("prompt message note instruction instructions override turn output input")
_TOKENS = _any_of("inst sys system_prompt tool_calls available_tools tool_results args prefix suffix middle think")
# The same of what a text reads as: a fold has no capitals, and no i, 0 or 1.
_READING = (
    re2.compile(rf"(\[) ?/? ?(?:{_TOKENS}) ?\]"),
    re2.compile(rf"(?m)^[^a-z0-9\n]{{0,12}}(?:{_ROLES})(?: (?:{_BESIDE_ROLES}))?[^a-z0-9:\n]{{0,6}}(:)"),
)


class Quoting:
    """Quotes texts between boundaries that are known by a random token.

    Raises:
        ValueError: the token is not at least 16 hexadecimal digits in lower case.
    """

    def __init__(self, boundary: str) -> None:
        if len(boundary) < BOUNDARY_CHARS_MIN or not set(boundary) <= set("0123456789abcdef"):
            raise ValueError(
                f"A boundary is at least {BOUNDARY_CHARS_MIN} hexadecimal digits in lower case, and nobody can foresee "
                "it: make one with secrets.token_hex(8)."
            )
        self._reading = (*_READING, re2.compile(f"({folded(boundary).text})"))

    def field(self, label: str, text: str | None, chars_max: int) -> list[str]:
        """Lines that say what a field held; none where it held nothing. The first begins with ``label``."""
        said = "\n".join(line for line in (text or "").splitlines() if line.strip())
        if not said:
            return []
        return f"> {label}: {self._bounded(said, chars_max)}".split("\n")

    def name(self, text: str) -> str:
        """A name within a sentence, on one line between quotation marks that it cannot close."""
        return f"“{self._bounded(' '.join(text.split()), NAME_CHARS_MAX, also='“”')}”"

    def _bounded(self, text: str, chars_max: int, also: str = "") -> str:
        """Of the inert form as much as has room, and how much of the text is not there."""
        text = _REDACTOR.text(text).translate(_SPACES)
        pieces = list(self._inert(text[:chars_max], also))
        lengths = accumulate(map(len, pieces))
        kept = sum(length <= chars_max for length in lengths)
        more = len(text) - kept
        return "".join(pieces[:kept]) + (f"… ({more} characters more)" if more else "")

    def _inert(self, text: str, also: str) -> Iterator[str]:
        """What each character of a text becomes."""
        hidden = {place for place, letter in enumerate(text) if _hidden(letter) or letter in also}
        # One for one, so that places stay what they are.
        seen = "".join("\N{REPLACEMENT CHARACTER}" if place in hidden else letter for place, letter in enumerate(text))
        acting = {place for pattern in _ACTING for match in pattern.finditer(seen) for place in range(*match.span(1))}
        marks = {place: mark for found in _PLACEHOLDER.finditer(seen) for place, mark in _marked(*found.span())}
        acting -= marks.keys()
        reading = folded(seen)
        for pattern in self._reading:
            for match in pattern.finditer(reading.text):
                start, end = match.span(1)
                acting.update(reading.positions[start:end])
        for place, letter in enumerate(text):
            if place in hidden or place in acting:
                yield f"‹U+{ord(letter):04X}›"
            else:
                yield marks.get(place, "\n> | " if letter == "\n" else letter)


def _hidden(letter: str) -> bool:
    """Whether nobody can see a character for what it is. The mark of a code hides by being taken for one."""
    return (not letter.isprintable() and letter != "\n") or letter in _INVISIBLE or letter == "‹"


def _marked(start: int, end: int) -> Iterator[tuple[int, str]]:
    """The brackets of a placeholder for what was masked: in HTML they would be those of a tag."""
    yield start, "‹"
    yield end - 1, "›"
