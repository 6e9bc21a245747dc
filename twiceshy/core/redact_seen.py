"""A text as it is seen, and where in the text that is: what cannot be seen may split a secret."""

import unicodedata
from bisect import bisect_left, bisect_right
from itertools import accumulate, islice

from twiceshy.core.invisible import INVISIBLE
from twiceshy.core.letters import occurring
from twiceshy.core.redact_spans import FIELD_END, Span, TooManyError, compiled

_GONE = b"\xff"
"""In the place of every byte that is left out; UTF-8 has none of these."""

# Also as JSON and Python write them, who quote what they cannot read.
_ESCAPE = compiled(
    r"(?i:\\u(?:00ad|034f|061c|115f|1160|17b[45]|180[b-f]|200[b-f]|202[a-e]|206[0-9a-f]|3164|fe0[0-9a-f]|feff|ffa0)"
    r"|\\xad|\\U000e[0-9a-f]{4}|\\(?:u00|x)1b\[[0-9;?]*[a-z])"
)
_UNSEEN = compiled(rf"{INVISIBLE}|[\x{{300}}-\x{{36F}}\x{{FFFD}}]")
_UNSEEN_CATEGORIES = frozenset(("Cf", "Cn", "Lo", "Mn", "So"))
# But for superscripts: `10²` is no `102`.
_WIDE_CATEGORIES = frozenset(("Lu", "Ll", "Nd", "Zs", "Sm", "Sc", "Sk", "Po", "Pd", "Ps", "Pe", "Pc"))
_CONTROL_SIGNS = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\n\v\f\r")
_CONTROLS = bytes.maketrans(_CONTROL_SIGNS, _GONE * len(_CONTROL_SIGNS))
_ESCAPES_MAX = 1_000
_COLOURS_MAX = 10_000
_LETTERS_MAX = 4_000
"""Different characters of one text; few books in Chinese have more."""
_CHANGED_LETTERS_MAX = 64
_GAPS_MAX = 60_000


class _Seen(dict[str, bytes | None]):
    """What each letter is seen as, in as many bytes, found out once: nothing, an ASCII letter, or (None) itself."""

    def __missing__(self, letter: str) -> bytes | None:
        seen = None
        kind = "ideograph" if "\u3400" <= letter < "\ua000" or "가" <= letter <= "힣" else unicodedata.category(letter)
        encoded = letter.encode(errors="surrogatepass")
        if kind in _UNSEEN_CATEGORIES and _UNSEEN.fullmatch(encoded) is not None:
            seen = _GONE * len(encoded)
        elif kind in _WIDE_CATEGORIES and letter > "\x7f":
            plain = unicodedata.normalize("NFKC", letter)
            seen = plain.encode() + _GONE * (len(encoded) - 1) if len(plain) == 1 and plain.isascii() else None
        self[letter] = seen
        return seen


_SEEN = _Seen()


def bare(text: bytes) -> bytes:
    """``text`` without the characters that cannot be seen. Raises `TooManyError`."""
    return Bared(text).text


def views(text: bytes) -> set[bytes]:
    """A text as it stands, and as it is seen. Raises `TooManyError`."""
    return {text, bare(text)}


class Bared:
    """A text without the characters that cannot be seen, with wide letters as plain ones; and which place is which.

    Raises `TooManyError`.
    """

    def __init__(self, whole: bytes) -> None:
        self._whole = whole
        marked = _marked(whole)
        self.text, self._gaps = whole, list[int]()
        if marked == whole:
            return
        if marked.count(_GONE) > _GAPS_MAX:
            raise TooManyError
        parts = marked.split(_GONE)
        self.text = b"".join(parts)
        # Where in the bared text each byte was that is left out.
        self._gaps = list(accumulate(map(len, parts)))[:-1]

    @property
    def is_whole(self) -> bool:
        return not self._gaps

    def within(self, span: Span) -> Span:
        """A span of the whole text as one of the bared text. It begins and ends within no gap."""
        start, end = (
            place - bisect_left(range(len(self._gaps)), place, key=lambda index: self._gaps[index] + index)
            for place in span[:2]
        )
        return span._replace(start=start, end=end)

    def back(self, span: Span) -> Span:
        """A span of the bared text as one of the whole text, with the gaps in it and none beside it."""
        start = span.start + bisect_right(self._gaps, span.start)
        end = span.end + bisect_left(self._gaps, span.end)
        while end < len(self._whole) and 0x80 <= self._whole[end] < 0xC0:
            end += 1
        return span._replace(start=start, end=end)


def _marked(text: bytes) -> bytes:
    """``text`` in as many bytes, with those that are left out marked as such."""
    if b"\x1b[" in text:
        text = _uncoloured(text)
    if len(text.translate(None, _CONTROL_SIGNS)) + text.count(FIELD_END) < len(text):
        text = FIELD_END.join(part.translate(_CONTROLS) for part in text.split(FIELD_END))
    if b"\\" in text:
        text = _unescaped(text)
    if text.isascii():
        return text
    letters = occurring(text.decode(errors="ignore"))
    if len(letters) > _LETTERS_MAX:
        raise TooManyError
    changed = {letter: seen for letter in letters if (seen := _SEEN[letter]) is not None}
    if len(changed) > _CHANGED_LETTERS_MAX:
        raise TooManyError
    for letter, seen in changed.items():
        text = text.replace(letter.encode(), seen)
    return text


def _uncoloured(text: bytes) -> bytes:
    first, *rest = text.split(b"\x1b[")
    if len(rest) > _COLOURS_MAX:
        raise TooManyError
    parts = [first]
    for part in rest:
        code = part.lstrip(b"0123456789;?")
        length = len(part) - len(code) + code[:1].isalpha()
        parts.append(_GONE * (length + 2) + part[length:])
    return b"".join(parts)


def _unescaped(text: bytes) -> bytes:
    escapes = [match.span() for match in islice(_ESCAPE.finditer(text), _ESCAPES_MAX + 1)]
    if len(escapes) > _ESCAPES_MAX:
        raise TooManyError
    marked = bytearray(text)
    for start, end in escapes:
        marked[start:end] = _GONE * (end - start)
    return bytes(marked)
