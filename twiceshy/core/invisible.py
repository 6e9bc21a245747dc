"""Characters that cannot be seen: which they are, and a text without those that no script needs where they stand."""

from collections.abc import Mapping

import re2

TAGS = ((0xE0000, 0xE007F),)
SELECTORS = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
ZERO_WIDTHS = (
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x2060, 0x2065),
    (0x206A, 0x206F),
    (0x3164, 0x3164),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
)
BIDI_OVERRIDES = ((0x202D, 0x202E),)
BIDI_OPENERS = ((0x202A, 0x202B), (0x2066, 0x2068))
_BIDI_CLOSERS = ((0x202C, 0x202C), (0x2069, 0x2069))
_DIRECTIONS = ((0x61C, 0x61C), (0x200E, 0x200F), *BIDI_OPENERS, *_BIDI_CLOSERS)
_OTHER_INVISIBLES = (
    (0xAD, 0xAD),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180D),
    (0x180F, 0x180F),
    (0xFFF9, 0xFFFB),
    (0x1D173, 0x1D17A),
    (0xE0080, 0xE00FF),
    (0xE01F0, 0xE0FFF),
)
_INVISIBLES = (
    *TAGS,
    *SELECTORS,
    *ZERO_WIDTHS,
    *BIDI_OVERRIDES,
    *BIDI_OPENERS,
    *_BIDI_CLOSERS,
    *_OTHER_INVISIBLES,
)


def class_of(*ranges: tuple[int, int]) -> str:
    """The inside of a character class."""
    return "".join(rf"\x{{{first:X}}}-\x{{{last:X}}}" for first, last in ranges)


INVISIBLE = f"[{class_of(*_INVISIBLES)}]"  # a pattern, also of those that a script needs
INVISIBLE_LETTERS = {chr(code) for first, last in _INVISIBLES for code in range(first, last + 1)}
_DIRECTION_SIGNS = {chr(code) for first, last in _DIRECTIONS for code in range(first, last + 1)}
_SELECTOR_SIGNS = {chr(code) for first, last in SELECTORS for code in range(first, last + 1)}
_SOMETIMES_NEEDED = {"\u200c", "\u200d", *_DIRECTION_SIGNS, *_SELECTOR_SIGNS}
HAS_INVISIBLES = re2.compile(INVISIBLE)
HAS_RIGHT_TO_LEFT = re2.compile(r"[\p{Hebrew}\p{Arabic}\p{Syriac}\p{Thaana}\p{Nko}]")


def visible(text: str) -> str:
    """``text`` without the invisible characters that no script needs where they stand.

    Joiners stay after a letter that is not ASCII (Persian, Hindi, emoji), selectors after what they select, and marks
    of direction in text that is written from right to left. What stays depends on characters that can be seen alone,
    so that another pass takes nothing more.
    """
    if text.isascii() or not HAS_INVISIBLES.search(text.encode()):
        return text
    right_to_left = HAS_RIGHT_TO_LEFT.search(text.encode()) is not None
    invisible = set(text) & INVISIBLE_LETTERS
    may_stay = invisible & (_SOMETIMES_NEEDED if right_to_left else _SOMETIMES_NEEDED - _DIRECTION_SIGNS)
    text = replaced(text, dict.fromkeys(invisible - may_stay, ""))
    others = "".join(sorted(may_stay))
    for sign in others:
        text = _needed(text, sign, others)
    return text


def _needed(text: str, sign: str, others: str) -> str:
    """``text`` with an invisible sign only where the characters that can be seen on both sides need it.

    ``others`` are all that cannot be seen."""
    parts = text.split(sign)
    seen = parts if others == sign else [part.strip(others) for part in parts]
    after = [""] * len(parts)
    for index in range(len(parts) - 1, 0, -1):
        after[index - 1] = seen[index][:1] or after[index]
    needed = _selects if sign in _SELECTOR_SIGNS else _directs if sign in _DIRECTION_SIGNS else _joins
    kept, before = [parts[0]], seen[0][-1:]
    for index, part in enumerate(parts[1:], start=1):
        kept.append(sign + part if needed(before, after[index - 1]) else part)
        before = seen[index][-1:] or before
    return "".join(kept)


def _selects(before: str, after: str) -> bool:
    return not before.isascii() or (after == "\u20e3" and before != "" and before in "0123456789#*")


def _joins(before: str, after: str) -> bool:
    return not before.isascii()


def _directs(before: str, after: str) -> bool:
    return not (before.isascii() and before.isalnum() and after.isascii() and after.isalnum())


def replaced(text: str, signs: Mapping[str, str]) -> str:
    """``text`` with each of the letters as its sign, one after the other."""
    for letter, sign in signs.items():
        if letter in text:
            text = text.replace(letter, sign)
    return text
