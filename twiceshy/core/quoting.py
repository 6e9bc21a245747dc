"""Text from a memory as it may stand in a prompt: inert, visible, bounded, and quoted line by line.

    quoting = Quoting(boundary)
    quoting.field("Its title was", title, 500)      ["> Its title was: Checkout timed out", "> | and so on"]
    quoting.name(origin)                            "“pagerduty”"

What could act is written as its code, ``‹U+0021›[`` for the beginning of an image: whoever reads it knows what it
was, and nothing renders, follows or obeys it. So nothing that looks like the boundary is left in it, whatever it is
written with; no link, image, tag, entity or table; no token of a chat template, and no role that begins to speak; no
character that cannot be seen; and no secret, should one have got that far.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from itertools import accumulate
from typing import Any

import re2

from twiceshy.core import chat_roles
from twiceshy.core.confusables import folded
from twiceshy.core.redact import Redactor

_REDACTOR = Redactor()
"""For what was written before a rule was known. A tenant's own host names were masked when they were written."""

BOUNDARY_CHARS_MIN = 16
NAME_CHARS_MAX = 120
_MARGIN_CHARS = 500
"""So much more of a text is searched for secrets than may be shown of it: they are known by what goes on behind."""

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

# What acts in Markdown, HTML or a chat template; of each match the group is written as its code. The rows are those
# under the head of a table: a table shows no more cells than its head has.
_ACTING = tuple(
    map(
        re2.compile,
        (
            r"(!)\[",
            r"\]([(\[:])",
            r"([<＜﹤]+)(?:[^ =0-9<＜﹤\n]|0[xX])",
            r"(`{3,}|~{2,}|={3,})",
            r"(:)//",
            r"(?i)www(\.)",
            r"(?i)(&)(?:[a-z][a-z0-9]{1,31};|#[0-9x]|lt|gt|amp|quot)",
            r"(\[) ?/? ?[a-z]?[A-Z][A-Z0-9_]{2,} ?\]",
            r"(?m)^[ |:]*(-)[ |:-]*$",
        ),
    )
)
_LEVEL = re2.compile(r"(\[)(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|ALERT)\]")
_PLACEHOLDER = re2.compile(r"<[a-z][a-z0-9]*(?:-[a-z0-9]+)*-[0-9]+>")
_NUMBER = re2.compile(r"\b(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z?|[0-9]+(?:[:.,/-][0-9]+)*)\b")
_EMPHASIS = frozenset("*_~`")
_WORDS = re2.compile(r'(?s)^.*(?:[\s\pZ\p{Lo}]|",)')


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
        self._boundary = re2.compile(f"({folded(boundary).text})")
        self._masking = _REDACTOR.masking()

    def item(self, texts: Iterable[str]) -> "Quoting":
        """For an item that has these texts: of what is masked in them, the same has the same mark, and no other."""
        one = copy(self)
        one._masking = _REDACTOR.masking()
        one._masking.reserve("\n".join(texts))
        return one

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
        searched = _beginning(text, chars_max + _MARGIN_CHARS)
        masked = self._masking.text(searched).translate(_SPACES)
        pieces = list(self._inert(masked[:chars_max], also))
        lengths = accumulate(map(len, pieces))
        kept = sum(length <= chars_max for length in lengths)
        more = len(masked) - kept + len(text) - len(searched)
        return "".join(pieces[:kept]) + (f"… ({more} characters more)" if more else "")

    def _inert(self, text: str, also: str) -> Iterator[str]:
        """What each character of a text becomes."""
        hidden = {place for place, letter in enumerate(text) if _hidden(letter) or letter in also}
        # One for one, so that places stay what they are.
        seen = "".join("\N{REPLACEMENT CHARACTER}" if place in hidden else letter for place, letter in enumerate(text))
        acting = _places(_ACTING, seen) - _places((_LEVEL,), seen)
        marks = {place: mark for found in _PLACEHOLDER.finditer(seen) for place, mark in _marked(*found.span())}
        acting -= marks.keys()
        acting |= self._reading(seen)
        for place, letter in enumerate(text):
            if place in hidden or place in acting:
                yield f"‹U+{ord(letter):04X}›"
            else:
                yield marks.get(place, "\n> | " if letter == "\n" else letter)

    def _reading(self, seen: str) -> set[int]:
        """The places of what a text reads as, whatever it is written with: the boundary, or somebody who speaks."""
        numbers = {place for found in _NUMBER.finditer(seen) for place in range(*found.span())}
        told = folded(seen)
        plain = [pair for pair in zip(told.text, told.positions, strict=True) if pair[0] not in _EMPHASIS]
        text = "".join(letter for letter, _ in plain)
        spoken = "".join("." if place in numbers else letter for letter, place in plain)
        return {plain[at][1] for at in _places((self._boundary,), text) | _places(chat_roles.PATTERNS, spoken)}


def _places(patterns: Iterable[Any], text: str) -> set[int]:
    """The places of the first group of every match."""
    return {place for pattern in patterns for match in pattern.finditer(text) for place in range(*match.span(1))}


def _beginning(text: str, chars_max: int) -> str:
    """At most so much of a text, and no half word: half a secret would not be known for one."""
    if len(text) <= chars_max:
        return text
    words = _WORDS.match(text[:chars_max])
    return words.group() if words is not None else ""


def _hidden(letter: str) -> bool:
    """Whether nobody can see a character for what it is. The mark of a code hides by being taken for one."""
    return (not letter.isprintable() and letter != "\n") or letter in _INVISIBLE or letter == "‹"


def _marked(start: int, end: int) -> Iterator[tuple[int, str]]:
    """The brackets of a placeholder for what was masked: in HTML they would be those of a tag."""
    yield start, "‹"
    yield end - 1, "›"
