"""Where a text holds what has to be masked: rules, and the spans that they find together.

Every pattern is RE2's, which is linear in the text whatever the text is: `re` can be made to hang by who writes it.
Texts are UTF-8 here, so that a span is an offset that needs no counting.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from operator import not_
from typing import Any, NamedTuple

import re2

from twiceshy.core.one_pass import one_pass

FIELD_END = b"\n\0\n"
"""What stands between the fields of an event when they are searched as one text. No rule's value spans it."""

CANDIDATES_MAX = 500
"""So many places are looked at in an event. More are no incident, and looking would cost the others their time."""


class Span(NamedTuple):
    """Bytes ``start`` to ``end`` of a text are a value of ``kind``. A lower rank is the surer finding."""

    start: int
    end: int
    kind: str
    rank: int


EXACT, NAMED, PERSONAL, KEPT, GUESSED = range(5)
"""The ranks: the value's own shape; a name beside it; who and where; what is public; what merely looks random."""

SECRET_RANKS = frozenset((EXACT, NAMED, GUESSED))

Accept = Callable[[Any], tuple[int, int] | None]
Find = Callable[[bytes], Iterator[Span | None]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What finds the values of a kind.

    ``hint`` tells cheaply that there may be something to find in the text in lower case: literals, separated by ``|``,
    or, where a value has no letters of its own, a short pattern. ``find`` yields None for a candidate that turned out
    to be no value, so that candidates can be counted.
    """

    hint: str
    find: Find


class TooManyError(ValueError):
    """A text has more candidates than are looked at (`CANDIDATES_MAX`)."""


def compiled(pattern: str) -> Any:
    """The RE2 pattern, whose complaints go into the exception and not to standard error."""
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern.encode(), options)


def has_digit(text: bytes) -> bool:
    return len(text.translate(None, b"0123456789")) < len(text)


def first_group(match: Any) -> tuple[int, int]:
    span: tuple[int, int] = match.span(1)
    return span


def shape(kind: str, hint: str, pattern: str, rank: int = EXACT, accept: Accept = first_group) -> Rule:
    """The rule of a pattern whose first group is the value, unless ``accept`` says otherwise (None: it is none)."""
    expression = compiled(pattern)

    def find(text: bytes) -> Iterator[Span | None]:
        # Counted before any of them is looked at, which may take long.
        matches = list(islice(expression.finditer(text), CANDIDATES_MAX + 1))
        if len(matches) > CANDIDATES_MAX:
            raise TooManyError
        for match in matches:
            accepted = accept(match)
            yield Span(*accepted, kind, rank) if accepted else None

    return Rule(hint, find)


_LITERAL = r"[A-Za-z0-9 _./:@=<>~%$(<,\"'\x{A0}-\x{FFFF}-]+"
_LITERALS = compiled(rf"{_LITERAL}(?:\|{_LITERAL})*")


class Rules:
    """Rules that look through a text together."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        literal = [bool(_LITERALS.fullmatch(rule.hint.encode())) for rule in rules]
        self._literal = list(compress(rules, literal))
        self._others = list(compress(rules, map(not_, literal)))
        literals = ["|".join(map(re2.escape, rule.hint.split("|"))) for rule in self._literal]
        patterns = [rule.hint for rule in self._others]
        # Apart from each other: one pass over both kinds can be made to remember too much.
        self._literals, self._patterns = one_pass(literals), one_pass(patterns)
        self._any = compiled("|".join(f"(?:{hint})" for hint in (*literals, *patterns)))

    def may_find(self, text: bytes) -> bool:
        """Whether there may be a span in a text: what is cheaper to know first where there is none in most."""
        return self._any.search(text.lower()) is not None

    def _hinted(self, text: bytes) -> Iterator[Rule]:
        folded = text.lower()
        yield from map(self._literal.__getitem__, sorted(self._literals.Match(folded) or ()))
        yield from map(self._others.__getitem__, sorted(self._patterns.Match(folded) or ()))

    def spans(self, text: bytes) -> list[Span]:
        """Every span that any rule finds, in the order of the rules. Raises `TooManyError`."""
        by_rule: list[list[Span]] = []
        candidates = 0
        # The last ones first, which find most: where that is too much, the others need not look.
        for rule in reversed(list(self._hinted(text))):
            found: list[Span] = []
            for span in rule.find(text):
                candidates += 1
                if candidates > CANDIDATES_MAX:
                    raise TooManyError
                if span is not None and span.end > span.start:
                    found.append(span)
            by_rule.append(found)
        return [span for found in reversed(by_rule) for span in found]


def settled(spans: Iterable[Span]) -> list[Span]:
    """Spans that do not overlap, in the order of the text.

    Where secrets overlap, all of what they cover is one secret, named after the longest of them: half a secret is
    one. Anything else gives way to what is surer.
    """
    surest: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.rank, span.start, -span.end)):
        at = bisect_right(surest, span.start, key=lambda other: other.start)
        first = at - 1 if at and surest[at - 1].end > span.start else at
        last = first
        while last < len(surest) and surest[last].start < span.end:
            last += 1
        if first == last:
            surest.insert(first, span)
        elif span.rank <= NAMED and all(other.rank <= NAMED for other in surest[first:last]):
            covered = [*surest[first:last], span]
            longest = max(covered, key=lambda other: (other.end - other.start, -other.rank))
            start, end = min(other.start for other in covered), max(other.end for other in covered)
            surest[first:last] = [Span(start, end, longest.kind, longest.rank)]
    return [span for span in surest if span.rank != KEPT]
