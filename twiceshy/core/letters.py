"""Characters that people cannot see or take for others, and the plain form of a text, on which rules are matched."""

import unicodedata
from collections.abc import Collection, Mapping

import re2

_TAGS = ((0xE0000, 0xE007F),)
_SELECTORS = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
_ZERO_WIDTHS = (
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
_BIDI_OVERRIDES = ((0x202D, 0x202E),)
_BIDI_OPENERS = ((0x202A, 0x202B), (0x2066, 0x2068))
_BIDI_CLOSERS = ((0x202C, 0x202C), (0x2069, 0x2069))
_DIRECTIONS = ((0x61C, 0x61C), (0x200E, 0x200F), *_BIDI_OPENERS, *_BIDI_CLOSERS)
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
    *_TAGS,
    *_SELECTORS,
    *_ZERO_WIDTHS,
    *_BIDI_OVERRIDES,
    *_BIDI_OPENERS,
    *_BIDI_CLOSERS,
    *_OTHER_INVISIBLES,
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


def _of(*ranges: tuple[int, int]) -> str:
    """The inside of a character class."""
    return "".join(rf"\x{{{first:X}}}-\x{{{last:X}}}" for first, last in ranges)


INVISIBLE = f"[{_of(*_INVISIBLES)}]"  # a pattern, also of those that a script needs
_INVISIBLE_LETTERS = {chr(code) for first, last in _INVISIBLES for code in range(first, last + 1)}
_DIRECTION_SIGNS = {chr(code) for first, last in _DIRECTIONS for code in range(first, last + 1)}
_SELECTOR_SIGNS = {chr(code) for first, last in _SELECTORS for code in range(first, last + 1)}
_SOMETIMES_NEEDED = {"\u200c", "\u200d", *_DIRECTION_SIGNS, *_SELECTOR_SIGNS}
_MARKS = dict.fromkeys(map(chr, range(0x300, 0x370)), "")
_DROPPED = {*map(ord, (*_INVISIBLE_LETTERS, *_MARKS)), *_CONTROLS}
_LEET = dict(zip("013457@$!|", "oieastasil", strict=True))
_REPLACED_ONE_BY_ONE_MAX = 100
_LETTERS_MAX = 4_000
"""Different characters of one text; few books in Chinese have more."""
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
_ASCII = frozenset(map(chr, range(0x80)))
_ANSI_OPENER = "\x1b["
_ANSI_NUMBERS = "0123456789;?"
_HAS_CONTROLS = re2.compile(r"[\x00-\x08\x0E-\x1F\x7F]")
_HAS_INVISIBLES = re2.compile(INVISIBLE)
# Parts of Hangul syllables and marks of kana, which make another letter of the one before.
_HAS_PARTS = re2.compile(r"[\x{1100}-\x{11FF}\x{3099}\x{309A}]")
_HAS_TWINS = re2.compile(f"[{_TWIN_CLASS}]")
_HAS_LOOK_ALIKES = re2.compile(f"[{''.join(_LOOK_ALIKES)}]")
_HAS_RIGHT_TO_LEFT = re2.compile(r"[\p{Hebrew}\p{Arabic}\p{Syriac}\p{Thaana}\p{Nko}]")

_INNER = f"[A-Za-z0-9][{_of(*_ZERO_WIDTHS)}]+[A-Za-z0-9]"
_INNER_AGAIN = f"(?:(?:.*[A-Za-z0-9])?[{_of(*_ZERO_WIDTHS)}]+[A-Za-z0-9])"
_MIXED = f"[{_LATIN_CLASS}{_TWIN_CLASS}]"

_INVISIBLE_STRUCTURES = {
    "unicode-tag-characters": f"[{_of(*_TAGS)}]",
    "unicode-variation-selector-run": f"[{_of(*_SELECTORS)}]{{2,}}",
    "unicode-bidi-override": f"[{_of(*_BIDI_OVERRIDES)}]",
    "unicode-zero-width-run": f"[{_of(*_ZERO_WIDTHS)}]{{3,}}",
    # One or two come with text copied from a page; who hides something between letters needs more.
    "unicode-zero-width-in-words": f"(?s){_INNER}{_INNER_AGAIN}{{2}}",
}
_TWIN_STRUCTURES = {
    # A word that reads as Latin throughout. An inflected acronym ("SQLом") is none: its other letters come last.
    "unicode-mixed-scripts": (
        rf"(?:^|[^\pL])(?:{_MIXED}+[{_TWIN_CLASS}][A-Za-z]|[{_TWIN_CLASS}][A-Za-z]{_MIXED}){_MIXED}*(?:[^\pL]|$)"
    )
}
_BIDI_STRUCTURE = {"unicode-bidi-controls": f"(?s)[{_of(*_BIDI_OPENERS)}].*[{_of(*_BIDI_OPENERS)}]"}
STRUCTURES = _INVISIBLE_STRUCTURES | _TWIN_STRUCTURES | _BIDI_STRUCTURE

_INVISIBLE_PATTERNS = {rule: re2.compile(pattern) for rule, pattern in _INVISIBLE_STRUCTURES.items()}
_TWIN_PATTERNS = {rule: re2.compile(pattern) for rule, pattern in _TWIN_STRUCTURES.items()}
_BIDI_PAIR = re2.compile(_BIDI_STRUCTURE["unicode-bidi-controls"])


def structures(text: str) -> list[str]:
    """The rules that the characters of ``text`` break, whatever they say."""
    data, found = text.encode(), list[str]()
    if _HAS_INVISIBLES.search(data):
        found = [rule for rule, pattern in _INVISIBLE_PATTERNS.items() if pattern.search(data)]
        # Text that is written from right to left has isolates of its own.
        if _BIDI_PAIR.search(data) and not _HAS_RIGHT_TO_LEFT.search(data):
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
        _changed(set(text), _FOLDS)
        text = unicodedata.normalize("NFC", _replaced(text, _MARKS))
    return _exchanged(text, _FOLDS)


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

    ``letters`` are all that the text consists of, if that is known."""
    if plain.isascii():
        return plain.encode().translate(_ASCII_SIGNS).decode()
    return _exchanged(plain, _SIGNS, letters)[0]


def untwinned(plain: str) -> str:
    """A folded text with look-alike letters as the Latin ones."""
    if plain.isascii() or not _HAS_LOOK_ALIKES.search(plain.encode()):
        return plain
    return _replaced(plain, _LOOK_ALIKES)


def unleeted(plain: str) -> str:
    """A folded text with the digits and signs as the letters for which they may stand."""
    return _replaced(plain, _LEET)


def visible(text: str) -> str:
    """``text`` without the invisible characters that no script needs where they stand.

    Joiners stay after a letter that is not ASCII (Persian, Hindi, emoji), selectors after what they select, and marks
    of direction in text that is written from right to left. What stays depends on characters that can be seen alone,
    so that another pass takes nothing more.
    """
    if text.isascii() or not _HAS_INVISIBLES.search(text.encode()):
        return text
    right_to_left = _HAS_RIGHT_TO_LEFT.search(text.encode()) is not None
    invisible = set(text) & _INVISIBLE_LETTERS
    may_stay = invisible & (_SOMETIMES_NEEDED if right_to_left else _SOMETIMES_NEEDED - _DIRECTION_SIGNS)
    text = _replaced(text, dict.fromkeys(invisible - may_stay, ""))
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


def _exchanged(text: str, signs: Mapping[int, str], letters: Collection[str] = ()) -> tuple[str, frozenset[str]]:
    """``text.translate(signs)``, which takes long unless all is ASCII, by way of the few characters that change; and
    the characters of the result.

    Raises UnreadableError when they are too many.
    """
    letters = letters or set(text)
    changed = _changed(letters, signs)
    text = text.translate(signs) if len(changed) > _REPLACED_ONE_BY_ONE_MAX else _replaced(text, changed)
    return text, frozenset("".join(changed.get(letter, letter) for letter in letters))


def _changed(letters: Collection[str], signs: Mapping[int, str]) -> dict[str, str]:
    """The letters that are not what they are read as. Raises UnreadableError when they are too many."""
    if len(letters) > _LETTERS_MAX:
        raise UnreadableError
    changed = {letter: sign for letter in letters if (sign := signs[ord(letter)]) != letter}
    if len(changed) > _CHANGED_LETTERS_MAX:
        raise UnreadableError
    return changed


def _replaced(text: str, signs: Mapping[str, str]) -> str:
    for letter, sign in signs.items():
        if letter in text:
            text = text.replace(letter, sign)
    return text
