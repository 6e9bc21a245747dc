"""Characters that are taken for others, texts that break the rules of writing, and the plain form that rules match."""

import unicodedata
from collections.abc import Collection, Mapping

import re2

from twiceshy.core.invisible import (
    BIDI_OPENERS,
    BIDI_OVERRIDES,
    HAS_INVISIBLES,
    HAS_RIGHT_TO_LEFT,
    INVISIBLE_LETTERS,
    SELECTORS,
    TAGS,
    ZERO_WIDTHS,
    class_of,
    replaced,
)

# Cyrillic, Greek and Armenian letters that look like a Latin one, and the Latin one.
_TWINS = dict(
    zip(
        "авеікмнорстухјѕԁԛԝһӏѵαβεηικνορτυχγօսոհց",
        "abeikmhopctyxjsdqwhlvabenikvoptuxyounhg",
        strict=True,
    )
)
_TWIN_CLASS = "".join(_TWINS) + "АВЕІКМНОРСТУХЈЅԀԚԜҺӀѴΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
# Small capitals, and the Cherokee letters that look like Latin ones.
_LOOK_ALIKES = _TWINS | dict(
    zip(
        "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᎾᏫᏢᎡᏒᏚᏕᎢᏌᏙᏔᎩᏃ",
        "abcdefghijklmnoprstuvwyzabcdeghijklmooprrsstuvwyz",
        strict=True,
    )
)
_LATIN_CLASS = r"A-Za-z\x{C0}-\x{24F}"

# Letters without a decomposition, and quotation marks, that are read as plain ones.
_PLAIN = {"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "ɑ": "a", "ɡ": "g", "ð": "d"}
_PLAIN |= {"‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'}
# Letters in black circles and squares, and those that flags are made of.
_BADGES = {first + step: chr(ord("a") + step) for first in (0x1F150, 0x1F170, 0x1F1E6) for step in range(26)}
_PLAIN_SIGNS = {"'": "'", "\n": "\n\r", ":": ':"', ".": ".!?;"}
_CONTROLS = [code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r\x0b\x0c\x85"]


_MARKS = dict.fromkeys(map(chr, range(0x300, 0x370)), "")
_DROPPED = {*map(ord, (*INVISIBLE_LETTERS, *_MARKS)), *_CONTROLS}
LEET = dict(zip("013457@$!|", "oieastasil", strict=True))
_REPLACED_ONE_BY_ONE_MAX = 100
_LETTERS_MAX = 4_000
"""Different characters of one text; few books in Chinese have more."""
_OFTEN = 0.1
"""Where few letters are so much of a text, it takes less time to take each of them out than to look at all of it."""
_RARE_LETTERS_MAX = 3
_CHANGED_LETTERS_MAX = 400
"""Of those, the ones that are not what they are read as. All accents of Europe are fewer; a text of random characters
has thousands, and takes longer than a scan may."""


class UnreadableError(Exception):
    """A text that takes longer to read than a scan may."""


class _Folds(dict[int, str]):
    """What `folded` makes of each character; found out once for each that comes."""

    def __missing__(self, code: int) -> str:
        if 0x3400 <= code < 0xA000 or 0xAC00 <= code < 0xD7A4:  # ideographs and Hangul are plain as they are
            self[code] = chr(code)
            return chr(code)
        apart = unicodedata.normalize("NFKD", _BADGES.get(code, chr(code))).casefold()
        plain = "".join(_PLAIN.get(letter, letter) for letter in apart if ord(letter) not in _DROPPED)
        self[code] = plain = unicodedata.normalize("NFC", plain)
        return plain


class _Signs(dict[int, str]):
    """What `worded` makes of each character; likewise."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        self[code] = sign = letter if unicodedata.category(letter)[0] in "LNM" else "." if letter in "。।؟" else " "
        return sign


_FOLDS = _Folds(dict.fromkeys(_DROPPED, ""))
_SIGNS = _Signs({ord(letter): sign for sign, letters in _PLAIN_SIGNS.items() for letter in letters})
_ASCII_SIGNS = bytes(ord(_SIGNS[code]) if code < 0x80 else code for code in range(0x100))
_WHITE_SPACE = {chr(code) for code in range(0x3001) if chr(code).isspace()}
_ASCII = frozenset(map(chr, range(0x80)))
_ANSI_OPENER = "\x1b["
_ANSI_NUMBERS = "0123456789;?"
_HAS_CONTROLS = re2.compile(r"[\x00-\x08\x0E-\x1F\x7F]")
# Parts of Hangul syllables and marks of kana, which make another letter of the one before.
_HAS_PARTS = re2.compile(r"[\x{1100}-\x{11FF}\x{3099}\x{309A}]")
_HAS_TWINS = re2.compile(f"[{_TWIN_CLASS}]")

_INNER = f"[A-Za-z0-9][{class_of(*ZERO_WIDTHS)}]+[A-Za-z0-9]"
_INNER_AGAIN = f"(?:(?:.*[A-Za-z0-9])?[{class_of(*ZERO_WIDTHS)}]+[A-Za-z0-9])"
_MIXED = f"[{_LATIN_CLASS}{_TWIN_CLASS}]"

_INVISIBLE_STRUCTURES = {
    "unicode-tag-characters": f"[{class_of(*TAGS)}]",
    "unicode-variation-selector-run": f"[{class_of(*SELECTORS)}]{{2,}}",
    "unicode-bidi-override": f"[{class_of(*BIDI_OVERRIDES)}]",
    "unicode-zero-width-run": f"[{class_of(*ZERO_WIDTHS)}]{{3,}}",
    # One or two come with text copied from a page; who hides something between letters needs more.
    "unicode-zero-width-in-words": f"(?s){_INNER}{_INNER_AGAIN}{{2}}",
}
_TWIN_STRUCTURES = {
    # A word that reads as Latin throughout. An inflected acronym ("SQLом") is none: its other letters come last.
    "unicode-mixed-scripts": (
        rf"(?:^|[^\pL])(?:{_MIXED}+[{_TWIN_CLASS}][A-Za-z]|[{_TWIN_CLASS}][A-Za-z]{_MIXED}){_MIXED}*(?:[^\pL]|$)"
    )
}
_BIDI_STRUCTURE = {"unicode-bidi-controls": f"(?s)[{class_of(*BIDI_OPENERS)}].*[{class_of(*BIDI_OPENERS)}]"}
STRUCTURES = _INVISIBLE_STRUCTURES | _TWIN_STRUCTURES | _BIDI_STRUCTURE

_INVISIBLE_PATTERNS = {rule: re2.compile(pattern) for rule, pattern in _INVISIBLE_STRUCTURES.items()}
_TWIN_PATTERNS = {rule: re2.compile(pattern) for rule, pattern in _TWIN_STRUCTURES.items()}
_BIDI_PAIR = re2.compile(_BIDI_STRUCTURE["unicode-bidi-controls"])


def structures(text: str) -> list[str]:
    """The rules that the characters of ``text`` break, whatever they say."""
    data, found = text.encode(), list[str]()
    if HAS_INVISIBLES.search(data):
        found = [rule for rule, pattern in _INVISIBLE_PATTERNS.items() if pattern.search(data)]
        # Text that is written from right to left has isolates of its own.
        if _BIDI_PAIR.search(data) and not HAS_RIGHT_TO_LEFT.search(data):
            found.append("unicode-bidi-controls")
    if _HAS_TWINS.search(data):
        found += [rule for rule, pattern in _TWIN_PATTERNS.items() if pattern.search(data)]
    return found


def folded(text: str) -> str:
    """``text`` in lower case, without marks, invisible characters and controls; letters in costume as plain ones.

    Each character by itself, so that a text that is joined by line's ends is folded as its parts are. Raises
    UnreadableError.
    """
    return folded_with_letters(text)[0]


def folded_with_letters(text: str) -> tuple[str, frozenset[str]]:
    """`folded`, and the characters that are in what it returns, maybe among others: to find them takes long."""
    if text.isascii():
        if not text.isprintable() and _HAS_CONTROLS.search(text.encode()):
            text = _exchanged(_uncoloured(text), _FOLDS)[0]
        return text.lower(), _ASCII
    text = _uncoloured(text).lower()
    if _HAS_PARTS.search(text.encode()):
        _changed(occurring(text), _FOLDS)
        text = unicodedata.normalize("NFC", replaced(text, _MARKS))
    return _exchanged(text, _FOLDS)


def occurring(text: str) -> set[str]:
    """The characters that are in a text. Words come again, so that theirs are fewer to look at, and so do letters."""
    letters, rest = {letter for letter in _WHITE_SPACE if letter in text}, "".join(set(text.split()))
    rare = 0
    while rest and rare < _RARE_LETTERS_MAX:
        letter, before = rest[len(rest) // 2], len(rest)
        letters.add(letter)
        rest = rest.replace(letter, "")
        rare += len(rest) > (1 - _OFTEN) * before
    return letters.union(rest)


def _uncoloured(text: str) -> str:
    """``text`` without the sequences that colour it on a terminal."""
    if _ANSI_OPENER not in text:
        return text
    first, *rest = text.split(_ANSI_OPENER)
    kept = [first]
    for part in rest:
        after = part.lstrip(_ANSI_NUMBERS)
        final = after[:1]
        kept.append(after[1:] if final.isascii() and final.isalpha() else "[" + part)
    return "".join(kept)


def worded(plain: str, letters: Collection[str] = ()) -> str:
    """A folded text with a sign for each character between words: a stop for what ends a sentence, a colon for what
    announces or quotes, a line's end as it is, and a blank for the rest.

    ``letters`` are all that the text consists of, or more, if that is known."""
    if plain.isascii():
        return plain.encode().translate(_ASCII_SIGNS).decode()
    return _exchanged(plain, _SIGNS, letters)[0]


def untwinned(plain: str, letters: Collection[str] = ()) -> str:
    """A folded text with look-alike letters as the Latin ones; ``letters`` as `worded` takes them."""
    if plain.isascii():
        return plain
    present = _LOOK_ALIKES.keys() & (letters or occurring(plain))
    return replaced(plain, {letter: _LOOK_ALIKES[letter] for letter in present})


def unleeted(plain: str) -> str:
    """A folded text with the digits and signs as the letters for which they may stand."""
    return replaced(plain, LEET)


def _exchanged(text: str, signs: Mapping[int, str], letters: Collection[str] = ()) -> tuple[str, frozenset[str]]:
    """``text.translate(signs)``, which takes long unless all is ASCII, by way of the few characters that change; and
    the characters of the result.

    Raises UnreadableError when they are too many.
    """
    letters = letters or occurring(text)
    changed = _changed(letters, signs)
    text = text.translate(signs) if len(changed) > _REPLACED_ONE_BY_ONE_MAX else replaced(text, changed)
    return text, frozenset("".join(changed.get(letter, letter) for letter in letters))


def _changed(letters: Collection[str], signs: Mapping[int, str]) -> dict[str, str]:
    """The letters that are not what they are read as. Raises UnreadableError when they are too many."""
    if len(letters) > _LETTERS_MAX:
        raise UnreadableError
    changed = {letter: sign for letter in letters if (sign := signs[ord(letter)]) != letter}
    if len(changed) > _CHANGED_LETTERS_MAX:
        raise UnreadableError
    return changed
