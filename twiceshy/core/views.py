"""What a text also says when it is decoded: base64, hexadecimal, percent signs, entities, escapes, spaced letters."""

import binascii
import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from string import hexdigits
from typing import NamedTuple
from urllib.parse import unquote

import re2

from twiceshy.core.letters import UnreadableError

DEPTH_MAX = 3
DECODED_CHARS_MAX = 150_000
CANDIDATES_MAX = 6_000
"""Runs that may be base64 or hexadecimal. A stack trace of 96 kB has up to 2,000 of them."""
RUN_CHARS_MIN = 15
"""A shorter run of an encoding without escapes says nothing of weight."""
ESCAPES_MAX = 8_000
"""Escapes of one text that are looked up one by one."""
SEARCHED_BYTES_MAX = 9_000_000
"""Bytes times patterns that are searched for in them, which takes some 3 ns each."""

# The upper bits of each byte of ASCII text are known, so that a group of four letters has few forms.
_ASCII_GROUPS = "(?:[CDI-Za-f][AC-HQS-Xgi-nwyz0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){5,}"
_BASE64_OF_ASCII = re2.compile(_ASCII_GROUPS)
_BASE64 = re2.compile(
    r"(?:[A-Za-z0-9+/_-]{40,}\r?\n[ \t]*)+[A-Za-z0-9+/_-]+={0,2}|[A-Za-z0-9+/_-]{32,}={0,2}"
    rf"|{_ASCII_GROUPS}[A-Za-z0-9+/_-]*={{0,2}}"
)
_HEX = re2.compile(r"(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ ,:-]{0,2}){12,}")
_LETTER = r"[A-Za-z0-9\x{80}-\x{10FFFF}]"
_SPACED = re2.compile(rf"(?:^|[^A-Za-z0-9])(?:{_LETTER}[ \t._*|/-]{{1,3}}){{7,}}{_LETTER}(?:[^A-Za-z0-9]|$)")
_SEPARATORS = dict.fromkeys(map(ord, " \t._*|/-"))
_ESCAPES = (("\\x", 2), ("\\u", 4), ("\\U", 8))
_ENTITY = re2.compile(r"&(?:#[0-9]{2,7}|#[xX][0-9A-Fa-f]{2,6}|[A-Za-z]{2,31});")
_PERCENT = re2.compile(r"%[0-9A-Fa-f]{2}")
_ALIGNMENTS_MAX = 8
_STANDARD = bytes.maketrans(b"-_", b"+/")
_CONTROLS = bytes(code for code in range(0x20) if code not in b"\t\n\r\x1b")


@dataclass(slots=True)
class Budget:
    """What a scan may still decode and search."""

    chars: int = DECODED_CHARS_MAX
    candidates: int = CANDIDATES_MAX
    bytes_searched: int = SEARCHED_BYTES_MAX

    def spend(self, chars: int = 0, candidates: int = 0, bytes_searched: int = 0) -> None:
        """Raises UnreadableError when there is not so much left."""
        self.chars -= chars
        self.candidates -= candidates
        self.bytes_searched -= bytes_searched
        if min(self.chars, self.candidates, self.bytes_searched) < 0:
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
    if not _decodable("\n".join(view.text for view in layer)):
        return found
    seen = {view.text for view in layer}
    for _ in range(DEPTH_MAX):
        layer = _deeper(layer, seen, budget)
        found += layer
    if _deeper(layer, seen, budget):
        raise UnreadableError
    return found


def _long_enough(text: str) -> bool:
    return len(text) >= RUN_CHARS_MIN or "%" in text or "&" in text or "\\" in text


def _decodable(text: str) -> bool:
    if "%" in text or "&" in text or "\\" in text:
        return True
    data = text.encode()
    return any(pattern.search(data) for pattern in (_BASE64, _HEX, _SPACED))


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
    for match in _BASE64.finditer(data):
        budget.spend(candidates=1)
        if plain := _from_base64(match.group()):
            yield "base64", plain
    for match in _HEX.finditer(data):
        budget.spend(candidates=1)
        if plain := _from_hex(match.group()):
            yield "hexadecimal", plain
    if spaced := " ".join(_drawn_together(match.group().decode()) for match in _SPACED.finditer(data)):
        yield "spaced letters", spaced


def _unescaped(text: str) -> str:
    if text.count("&") + text.count("%") + text.count("\\") > ESCAPES_MAX:
        raise UnreadableError
    if "&" in text and _ENTITY.search(text.encode()):
        text = html.unescape(text)
    if "%" in text and _PERCENT.search(text.encode()):
        text = unquote(text)
    for sign, digits in _ESCAPES:
        if sign in text:
            first, *rest = text.split(sign)
            text = first + "".join(_character(sign, part, digits) for part in rest)
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


def _from_base64(run: bytes) -> str | None:
    """The text in a run of base64 of either alphabet, padded or not, or None when it holds none."""
    run = b"".join(run.split()).rstrip(b"=").translate(_STANDARD)
    # Letters before a blob shift its groups of four: the longest run of groups that make ASCII tells by how many.
    aligned = max(islice(_BASE64_OF_ASCII.finditer(run), _ALIGNMENTS_MAX), key=_length, default=None)
    if aligned is not None:
        run = run[aligned.start() if aligned.start() % 4 else 0 :]
    elif len(run) < 32:
        return None
    run = run[:-1] if len(run) % 4 == 1 else run
    data = binascii.a2b_base64(run + b"=" * (-len(run) % 4))
    return _text(data, "replace" if aligned else "strict")


def _length(match: "re2._Match") -> int:
    return int(match.end() - match.start())


def _from_hex(run: bytes) -> str | None:
    plain = run.lower().replace(b"0x", b"").replace(b"\\x", b"").translate(None, b" ,:-")
    return _text(bytes.fromhex(plain[: len(plain) // 2 * 2].decode()), "strict")


def _text(data: bytes, errors: str) -> str | None:
    if data[1::2].count(0) > len(data) // 3:
        return data.decode("utf-16-le", "replace")
    if len(data.translate(None, _CONTROLS)) < 0.9 * len(data):
        return None
    try:
        return data.decode("utf-8", errors)
    except UnicodeDecodeError:
        return None


def _drawn_together(run: str) -> str:
    """Spaced letters as words: one sign between two letters goes, where there are more a word ends."""
    return " ".join(word.translate(_SEPARATORS) for word in run.replace("  ", "\n").split("\n"))
