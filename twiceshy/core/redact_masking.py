"""Puts placeholders in the place of values: numbered in the order of the event, within the limits of its fields.

A value is found in the text as it stands and in the text as it is seen, without invisible characters. Those within a
value go with it, and the rest of them stay.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from twiceshy.core.redact_names import names_secret
from twiceshy.core.redact_opaque import random_looking
from twiceshy.core.redact_seen import Bared, bare
from twiceshy.core.redact_spans import (
    EXACT,
    FIELD_END,
    NAMED,
    SECRET_RANKS,
    Rules,
    Span,
    TooManyError,
    compiled,
    has_digit,
    settled,
)
from twiceshy.core.redact_values import worth_masking

KINDS = tuple(
    """account ai-key atlassian-token aws-key azure-key chat-token cloud-token cookie email gcp-key github-token
    gitlab-token host ip jwt mac mail-key monitoring-token npm-token password phone pod private-key pypi-token
    registry-token saas-token secret signature slack-token stripe-key text token user vault-token webhook""".split()
)
"""Every kind that a placeholder can have. `text` is a field that had too much in it to be masked value by value."""

_PLACEHOLDER = compiled(rf"<({'|'.join(KINDS)})-([1-9][0-9]{{0,8}})>")
_SPREAD_BYTES_MIN = 8
_SPREAD_WORD_BYTES_MIN = 16
_SPREAD_VALUES_MAX = 64
_LONG_FIELD_BYTES = 2_000
_PASSES_MAX = 4
_CUT = "…"


class Field(NamedTuple):
    """A text of an event, its greatest length, and what its producer called it where that says what it is."""

    text: str
    chars_max: int | None = None
    name: str = ""


class Masking:
    """The placeholders of one event. The same value has the same one wherever it stands."""

    def __init__(self, rules: Rules, things: Iterable[str] = ()) -> None:
        """``things``: what the event says is a thing, such as a service; nobody is called that."""
        self._rules = rules
        self._things = tuple(things)
        self._placeholders: dict[bytes, bytes] = {}
        self._numbers: dict[str, int] = defaultdict(int)
        self.secrets: set[bytes] = set()
        self.masked: dict[str, int] = defaultdict(int)

    def reserve(self, text: str) -> None:
        """Numbers that ``text`` has already are not given again."""
        for match in _PLACEHOLDER.finditer(_encoded(text)):
            kind = match.group(1).decode()
            self._numbers[kind] = max(self._numbers[kind], int(match.group(2)))

    def text(self, text: str) -> str:
        """A text that was masked when it was written, masked by the present rules: its placeholders stand."""
        self.reserve(text)
        texts = self.apply([Field(text)], escape=False)
        return texts[0] if texts is not None else text

    def apply(self, fields: Sequence[Field], *, escape: bool) -> list[str] | None:
        """The fields' texts, masked, each within its length; None if there is nothing to mask.

        ``escape``: a placeholder that the texts came with was not made here, and is made to look like none
        (``‹ip-1›``), if anything is masked. What is nobody's placeholder cannot be taken for somebody's.
        """
        texts = [_encoded(field.text) for field in fields]
        found = self._found(fields, texts)
        if not any(found):
            return None
        if escape and any(map(_PLACEHOLDER.search, texts)):
            texts = [_escaped(text) for text in texts]
            found = self._found(fields, texts)
        left = {index: spans for index, spans in enumerate(found) if spans}
        for _ in range(_PASSES_MAX):
            for index, spans in left.items():
                texts[index] = self._replaced(texts[index], spans)
            again = self._found([fields[index] for index in left], [texts[index] for index in left])
            left = {index: spans for index, spans in zip(left, again, strict=True) if spans}
            if not left:
                break
        for index in left:
            texts[index] = self._withheld(texts[index])
        return [
            _fitting(text.decode(errors="surrogatepass"), field.chars_max)
            for text, field in zip(texts, fields, strict=True)
        ]

    def _found(self, fields: Sequence[Field], texts: Sequence[bytes]) -> list[list[Span]]:
        """What to mask in each text. Where there is too much to look at, long texts are masked whole."""
        with suppress(TooManyError):
            return self._spans(fields, texts)
        for bytes_max in (_LONG_FIELD_BYTES, 0):
            shorter = [text if len(text) <= bytes_max else b"" for text in texts]
            with suppress(TooManyError):
                found = self._spans(fields, shorter)
                return [
                    spans if len(text) <= bytes_max else [Span(0, len(text), "text", EXACT)]
                    for text, spans in zip(texts, found, strict=True)
                ]
        raise AssertionError("empty texts hold nothing")

    def _spans(self, fields: Sequence[Field], texts: Sequence[bytes]) -> list[list[Span]]:
        joined = FIELD_END.join(texts)
        seen = Bared(joined)
        spans = self._rules.spans(seen.text)
        # What cannot be seen may also be all that sets a value apart from the letters beside it.
        standing = [] if seen.is_whole else self._rules.spans(joined)
        starts = list(accumulate((len(text) + len(FIELD_END) for text in texts), initial=0))
        standing += _named(fields, texts, starts)
        if not (spans or standing):
            return [[] for _ in texts]
        spans += map(seen.within, standing)
        spans = [span for span in settled(spans) if _holds_value(seen.text[span.start : span.end])]
        if self._things and any(span.kind == "user" for span in spans):
            things = {_encoded(thing).lower() for thing in self._things}
            spans = [
                span for span in spans if span.kind != "user" or seen.text[span.start : span.end].lower() not in things
            ]
        self._remember(seen.text, spans)
        spans = settled([*spans, *self._spread(seen.text, spans)])
        by_field: list[list[Span]] = [[] for _ in texts]
        for span in map(seen.back, spans):
            index = bisect_right(starts, span.start) - 1
            end = min(span.end - starts[index], len(texts[index]))
            if _holds_value(texts[index][span.start - starts[index] : end]):
                by_field[index].append(Span(span.start - starts[index], end, span.kind, span.rank))
        return by_field

    def _remember(self, joined: bytes, spans: Iterable[Span]) -> None:
        """Keeps what is a secret for sure, by its shape or by its name and its looks: no name may hold one of these."""
        for span in spans:
            value = joined[span.start : span.end]
            sure = span.rank == EXACT or (span.rank == NAMED and _is_opaque(value))
            if sure and span.kind != "text" and _distinctive(value):
                self.secrets.add(value)

    def _spread(self, joined: bytes, spans: Iterable[Span]) -> list[Span]:
        """A secret that was found once is one everywhere, also where nothing gives it away."""
        values = {
            joined[span.start : span.end]: span.kind
            for span in spans
            if span.rank in SECRET_RANKS and _distinctive(joined[span.start : span.end])
        }
        found = []
        for value, kind in list(values.items())[:_SPREAD_VALUES_MAX]:
            at = joined.find(value)
            while at >= 0:
                found.append(Span(at, at + len(value), kind, EXACT))
                at = joined.find(value, at + len(value))
        return found

    def _replaced(self, text: bytes, spans: Sequence[Span]) -> bytes:
        if not spans:
            return text
        parts = [text[: spans[0].start]]
        for span, following in pairwise([*spans, Span(len(text), len(text), "", EXACT)]):
            parts += (self._placeholder(text[span.start : span.end], span), text[span.end : following.start])
        return b"".join(parts)

    def _withheld(self, text: bytes) -> bytes:
        return self._placeholder(text, Span(0, len(text), "text", EXACT))

    def _placeholder(self, value: bytes, span: Span) -> bytes:
        value = _plain(value)
        if value not in self._placeholders:
            self._numbers[span.kind] += 1
            self.masked[span.kind] += 1
            self._placeholders[value] = f"<{span.kind}-{self._numbers[span.kind]}>".encode()
        return self._placeholders[value]


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _plain(value: bytes) -> bytes:
    """A value as it is seen, so that it is the same one with and without what cannot be seen; a long one as it is."""
    try:
        return bare(value) if len(value) < _LONG_FIELD_BYTES else value
    except TooManyError:
        return value


def _escaped(text: bytes) -> bytes:
    return bytes(_PLACEHOLDER.sub(lambda match: "‹".encode() + match.group()[1:-1] + "›".encode(), text))


def _named(fields: Sequence[Field], texts: Sequence[bytes], starts: Sequence[int]) -> list[Span]:
    """The whole text of each field whose name says that it holds a secret."""
    spans = []
    for field, text, start in zip(fields, texts, starts, strict=False):
        if field.name and text and (kind := _secret_named(field.name)) and worth_masking(field.text):
            spans.append(Span(start, start + len(text), kind, NAMED))
    return spans


# Most events have the same few predicates and labels.
@lru_cache(maxsize=128)
def _secret_named(name: str) -> str | None:
    return names_secret(_plain(_encoded(name)).decode(errors="replace"))


def _holds_value(text: bytes) -> bool:
    """Whether there is more in a span than placeholders and what stands between them."""
    rest = _PLACEHOLDER.sub(b"", text) if b"<" in text else text
    return any(byte > 127 or chr(byte).isalnum() for byte in rest)


def _is_opaque(value: bytes) -> bool:
    """Whether a value is nobody's name: it looks random, or is one piece of both cases and digits."""
    mixed = value.isalnum() and has_digit(value) and value.upper() != value != value.lower()
    return mixed or random_looking(value)


def _distinctive(value: bytes) -> bool:
    """Whether a secret can be looked for everywhere: one that is a word would take the word with it."""
    return len(value) >= _SPREAD_BYTES_MIN and (has_digit(value) or len(value) >= _SPREAD_WORD_BYTES_MIN)


def _fitting(text: str, chars_max: int | None) -> str:
    """The text within its length: cut, and marked so, between words and never within a placeholder."""
    if chars_max is None or len(text) <= chars_max:
        return text
    kept = text[: chars_max - len(_CUT)]
    opened = kept.rfind("<")
    if opened > kept.rfind(">"):
        kept = kept[:opened]
    blank = kept.rfind(" ")
    return (kept[:blank] if blank > len(kept) // 2 else kept) + _CUT
