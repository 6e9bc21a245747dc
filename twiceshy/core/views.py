"""What a text also says when it is decoded: base64, hexadecimal, percent signs, entities, escapes, spaced letters."""

import binascii
import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from string import hexdigits
from typing import NamedTuple
from urllib.parse import unquote

import re2

from twiceshy.core.letters import UnreadableError

DEPTH_MAX = 3
DECODED_CHARS_MAX = 150_000
CANDIDATES_MAX = 3_000
"""Different runs that may be base64 or hexadecimal. A stack trace of 96 kB has up to 2,000 of them."""
RUN_CHARS_MIN = 15
"""A shorter run of an encoding without escapes says nothing of weight."""
ESCAPES_MAX = 8_000
"""Escapes of one text that are exchanged one by one; a sign that begins none, as in a path of Windows, is free."""
SEARCHED_BYTES_MAX = 5_000_000
"""Bytes times patterns that are searched for in them, which takes some 3 ns each."""

# The upper bits of each byte of ASCII text are known, so that a group of four letters has few forms.
_ASCII_GROUPS = "(?:[CDI-Za-f][AC-HQS-Xgi-nwyz0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){5,}"
_BASE64_OF_ASCII = re2.compile(f"{_ASCII_GROUPS}[A-Za-z0-9+/_-]{{0,3}}")
_BASE64_LINES = re2.compile(r"(?:[A-Za-z0-9+/_-]{40,}\r?\n[ \t]*)+[A-Za-z0-9+/_-]+")
_BASE64_CHARS_MIN = 32
"""Of a run that may hold another script than ASCII."""
_IN_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_APART = bytes(code if code in _IN_BASE64 else 0x20 for code in range(0x100))
_BETWEEN_PARTS = b" \t\r\n\"'`+,.\\="
"""What a blob that is quoted, wrapped or put together of parts has between them."""
_HEX = re2.compile(r"(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ \t\r\n,;:$\"'+-]{0,4}){12,}")
_NOT_HEX = bytes(code for code in range(0x100) if chr(code) not in hexdigits)
_LETTER = r"[A-Za-z0-9\x{80}-\x{10FFFF}]"
_SEPARATORS = b" \t\n._*|/,~-"
_MIDDLE_DOT = "·".encode()
_SPACED = re2.compile(rf"(?:^|[^A-Za-z0-9])(?:{_LETTER}[ \t\n._*|/,~·-]{{1,7}}){{7,}}{_LETTER}(?:[^A-Za-z0-9]|$)")
_ESCAPES = (("\\x", 2), ("\\u", 4), ("\\U", 8))
_ENTITY = re2.compile(r"&(?:#[0-9]{2,9}|#[xX][0-9A-Fa-f]{2,8}|[A-Za-z]{2,31};)")
_PERCENT = re2.compile(r"%[0-9A-Fa-f]{2}")
_OCTAL = re2.compile(r"(?:\\[0-7]{3}){3}")
_QUOTED_PRINTABLE = re2.compile(r"(?:=[0-9A-Fa-f]{2}){3}")
_LONG_RUN = re2.compile(f"[A-Za-z0-9+/_-]{{{RUN_CHARS_MIN + 1}}}")
_BLOB = re2.compile(f"[A-Za-z0-9+/_-]{{{_BASE64_CHARS_MIN}}}")
_ANY_CODING = re2.compile(
    "|".join(each.pattern for each in (_BASE64_OF_ASCII, _BLOB, _HEX, _SPACED, _QUOTED_PRINTABLE))
)
_OCTALS = {f"{code:03o}": chr(code) for code in range(0x100)}
_PAIRS = frozenset(map("".join, product(hexdigits, repeat=2)))
_REPEATS = [2**power for power in reversed(range(12))]
WITHIN_WORDS = ("-\r\n", "-\n", "-", "\u2010", "\u2011", "*", "_", "~", "`")
_TAG_CHARS_MAX = 200
_TAGS_MAX = 30_000
_MARKS = r"(?:-\r?\n|[*_~`\x{2010}\x{2011}-])*"
_TAG_WITHIN_WORD = re2.compile(f"{_LETTER}(?:{_MARKS}<[^<>]{{0,{_TAG_CHARS_MAX}}}>)+{_MARKS}{_LETTER}")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_ENDS = ((None, b""), (-1, b""), (None, b"=="), (None, b"="))
"""Where base64 of so many letters beyond a multiple of four ends, and what it is padded with."""
_CONTROLS = bytes(code for code in range(0x20) if code not in b"\t\n\r\x1b")


@dataclass(slots=True)
class Budget:
    """What a scan may still decode and search."""

    chars: int = DECODED_CHARS_MAX
    candidates: int = CANDIDATES_MAX
    bytes_searched: int = SEARCHED_BYTES_MAX

    def spend(self, chars: int = 0, candidates: int = 0) -> None:
        """Raises UnreadableError when there is not so much left."""
        self.chars -= chars
        self.candidates -= candidates
        if self.chars < 0 or self.candidates < 0:
            raise UnreadableError

    def search(self, data: bytes) -> None:
        """Spends a search, likewise; there are more of these than of all else."""
        self.bytes_searched -= len(data)
        if self.bytes_searched < 0:
            raise UnreadableError


class View(NamedTuple):
    """A text, the field that it is from, and how it was decoded."""

    where: str
    text: str
    coding: str = ""


def decoded(views: Iterable[View], budget: Budget) -> list[View]:
    """All that ``views`` say when they are decoded, and that again, to `DEPTH_MAX` times.

    Raises UnreadableError when there is more to decode than the budget allows, or to another depth.
    """
    layer, found = [view for view in views if _long_enough(view.text)], list[View]()
    seen = {view.text for view in layer}
    for _ in range(DEPTH_MAX):
        layer = _deeper(layer, seen, budget)
        found += layer
    if _deeper(layer, seen, budget):
        raise UnreadableError
    return found


def unmarked(text: str) -> str:
    """``text`` without what can stand within a word unseen: tags, emphasis, and hyphens, also at a line's end.

    Raises UnreadableError when there are too many tags, some of them within words.
    """
    if "<" in text and _TAG_WITHIN_WORD.search(text.encode()):
        first, *rest = text.split("<")
        if len(rest) > _TAGS_MAX:
            raise UnreadableError
        text = first + "".join(_after_tag(part) for part in rest)
    for sign in WITHIN_WORDS:
        text = text.replace(sign, "")
    return text


def _after_tag(part: str) -> str:
    inside, end, after = part.partition(">")
    return after if end and len(inside) <= _TAG_CHARS_MAX else "<" + part


def _long_enough(text: str) -> bool:
    return len(text) >= RUN_CHARS_MIN or "%" in text or "&" in text or "\\" in text


def decodable(text: str) -> bool:
    """Whether there may be anything to decode in a text: cheaper than `decoded`, and True of all that it decodes."""
    if "%" in text or "&" in text or "\\" in text:
        return True
    data = text.encode()
    if _ANY_CODING.search(data):
        return True
    return _BASE64_OF_ASCII.search(data.translate(None, _BETWEEN_PARTS)) is not None


def _deeper(layer: Iterable[View], seen: set[str], budget: Budget) -> list[View]:
    found = []
    for view in layer:
        for coding, text in _decodings(view.text, budget):
            if text not in seen:
                budget.spend(chars=len(text))
                seen.add(text)
                found.append(View(view.where, text, f"{view.coding}, {coding}".lstrip(", ")))
    return found


def _decodings(text: str, budget: Budget) -> Iterator[tuple[str, str]]:
    data = text.encode()
    unescaped = _unescaped(text)
    if unescaped != text:
        yield "escapes", unescaped
    if plain := "\n".join(_from_base64(data, budget)):
        yield "base64", plain
    if plain := "\n".join(_from_hex(data, budget)):
        yield "hexadecimal", plain
    if spaced := " ".join(_drawn_together(match.group()) for match in _SPACED.finditer(data)):
        yield "spaced letters", spaced


def _unescaped(text: str) -> str:
    if "&" in text and _ENTITY.search(text.encode()):
        _limit(text.count("&#") + min(text.count("&"), text.count(";")))
        text = html.unescape(_once(text, "&amp;", "amp;"))
    if "%" in text and _PERCENT.search(text.encode()):
        text = _once(text, "%25", "25")
        _limit(_begun(text, "%"))
        text = unquote(text)
    if "=" in text and _QUOTED_PRINTABLE.search(text.encode()):
        text = binascii.a2b_qp(text.encode()).decode(errors="replace")
    for sign, digits in _ESCAPES if "\\" in text else ():
        if sign in text:
            _limit(_begun(text, sign))
            first, *rest = text.split(sign)
            text = first + "".join(_character(sign, part, digits) for part in rest)
    if "\\" in text and _OCTAL.search(text.encode()):
        first, *rest = text.split("\\")
        _limit(sum(part[:3] in _OCTALS for part in rest))
        text = first + "".join(_OCTALS.get(part[:3], "\\" + part[:3]) + part[3:] for part in rest)
    return text


def _limit(escapes: int) -> None:
    if escapes > ESCAPES_MAX:
        raise UnreadableError


def _begun(text: str, sign: str) -> int:
    """How many escapes begin with ``sign``, and not only with what looks like their beginning."""
    return sum(part[:2] in _PAIRS or part[:1] == "{" for part in text.split(sign)[1:])


def _once(text: str, escape: str, inner: str) -> str:
    """``text`` with what was escaped again and again (%252525) escaped once: it is one text, however often."""
    if escape + inner in text:
        for repeats in _REPEATS:
            text = text.replace(escape + inner * repeats, escape)
    return text


def _character(sign: str, part: str, digits: int) -> str:
    """What follows an escape's sign, its number as the character, or as it was when there is no number."""
    number, rest = part[:digits], part[digits:]
    if part[:1] == "{":
        number, _, rest = part[1:].partition("}")
    if not 2 <= len(number) <= 8 or any(digit not in hexdigits for digit in number):
        return sign + part
    code = int(number, 16)
    return (chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else " ") + rest


def _from_base64(data: bytes, budget: Budget) -> Iterator[str]:
    """The texts in runs of base64 of either alphabet, padded or not, in one piece or in parts."""
    words = data.translate(_APART).split() if _LONG_RUN.search(data) else []
    apart = list(dict.fromkeys([word for word in words if len(word) > RUN_CHARS_MIN]))
    together = data.translate(None, _BETWEEN_PARTS)
    runs = _runs(_BASE64_OF_ASCII, b" ".join(apart), budget) | _runs(_BASE64_OF_ASCII, together, budget)
    for run in runs:
        if plain := _text(_base64_bytes(run), "replace"):
            yield plain
    whole = {run: None for run in apart if len(run) >= _BASE64_CHARS_MIN and run not in runs}
    budget.spend(candidates=len(whole))
    whole |= {b"".join(run.split()): None for run in _runs(_BASE64_LINES, data, budget)}
    for run in whole:
        if plain := _text(_base64_bytes(run), "strict"):
            yield plain


def _runs(pattern: "re2._Regexp", data: bytes, budget: Budget) -> dict[bytes, None]:
    """What ``pattern`` matches, each once, in order."""
    runs = [match.group() for match in islice(pattern.finditer(data), budget.candidates + 1)]
    budget.spend(candidates=len(runs))
    return dict.fromkeys(runs)


def _base64_bytes(run: bytes) -> bytes:
    cut, padding = _ENDS[len(run) % 4]
    return binascii.a2b_base64(run.translate(_STANDARD)[:cut] + padding)


def _from_hex(data: bytes, budget: Budget) -> Iterator[str]:
    for run in _runs(_HEX, data, budget):
        digits = run.replace(b"0x", b"").translate(None, _NOT_HEX)
        if plain := _text(bytes.fromhex(digits[: len(digits) // 2 * 2].decode()), "strict"):
            yield plain


def _text(data: bytes, errors: str) -> str | None:
    if len(data.translate(None, _CONTROLS)) < 0.9 * len(data):
        zeros_min = len(data) // 3 + 1
        if data.count(0) >= zeros_min:
            for offset, order in ((1, "le"), (0, "be")):
                if data[offset::2].count(0) >= zeros_min:
                    return data.decode(f"utf-16-{order}", "replace")
        return None
    try:
        return data.decode("utf-8", errors)
    except UnicodeDecodeError:
        return None


def _drawn_together(run: bytes) -> str:
    """Spaced letters as words: one sign between two letters goes, where there are more a word ends."""
    parted = run.replace(b"  ", b"\r").replace(_MIDDLE_DOT, b"")
    return parted.translate(None, _SEPARATORS).replace(b"\r", b" ").decode()
