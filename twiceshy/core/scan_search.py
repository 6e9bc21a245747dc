"""Which rules match a text, and in which of the views that it is made of."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import re2

from twiceshy.core.letters import UnreadableError, folded
from twiceshy.core.scan_patterns import STRONG, Rule
from twiceshy.core.views import Budget, View

_EXPANDED_CHARS_MAX = 10_000
"""Beyond twice the text: there are ligatures that stand for eighteen letters."""
_CHUNK_RULES = 7
_LONG_BYTES = 32 * 1024

Chunk = tuple["re2._Regexp", list[tuple[Rule, "re2._Regexp"]]]
"""A pattern that any of some rules matches, and each of them with its own."""

_AUTOMATON_BYTES_MAX = 32 * 1024 * 1024
"""Of one pattern. With RE2's 8 MB the states of the larger ones would be thrown away and made again."""


class Page:
    """Views joined into one folded text: what a rule would match in a view alone, it matches here too."""

    def __init__(self, views: Sequence[View]) -> None:
        self._views = views
        joined = "\n".join(view.text for view in views)
        self.text = folded(joined)
        if len(self.text) > 2 * len(joined) + _EXPANDED_CHARS_MAX:
            raise UnreadableError

    def where(self, start: int, end: int) -> str:
        """The field that the characters from ``start`` to ``end`` are of, or the two between which they are split."""
        # Folding makes no line and takes none away, so that the lines before a place tell the view.
        ends = list(accumulate(view.text.count("\n") + 1 for view in self._views))
        lines = (self.text.count("\n", 0, at) for at in (start, max(start, end - 1)))
        touched = {bisect_right(ends, line): None for line in lines}
        return " + ".join(_place(self._views[index]) for index in touched)


class Searcher:
    """Rules, searched many at a time: an honest text costs one search for all rules of a category."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        by_category: dict[str, list[Rule]] = {}
        for rule in rules:
            by_category.setdefault(rule.category, []).append(rule)
        self._categories = [(_any_of(group), _chunks(group)) for group in by_category.values()]

    def matches(self, text: str, budget: Budget) -> Iterator[tuple[Rule, int, int]]:
        """Each rule that matches, and the characters where it first does.

        Of a category that counts in full already, a long text's further rules are not searched for.
        """
        data = text.encode()
        for category, chunks in self._categories:
            if _found(category, data, budget):
                for rule, start, end in _matches(chunks, data, budget):
                    before = len(data[:start].decode())
                    yield rule, before, before + len(data[start:end].decode())
                    if rule.severity == STRONG and len(data) > _LONG_BYTES:
                        break


def _matches(chunks: Iterable[Chunk], data: bytes, budget: Budget) -> Iterator[tuple[Rule, int, int]]:
    for chunk, rules in chunks:
        if _found(chunk, data, budget):
            for rule, pattern in rules:
                if match := _found(pattern, data, budget):
                    yield rule, *match.span()


def _found(pattern: "re2._Regexp", data: bytes, budget: Budget) -> "re2._Match | None":
    budget.spend(bytes_searched=len(data))
    return pattern.search(data)


def _chunks(rules: Sequence[Rule]) -> list[Chunk]:
    chunks = [rules[first : first + _CHUNK_RULES] for first in range(0, len(rules), _CHUNK_RULES)]
    return [(_any_of(chunk), [(rule, _compiled(rule.pattern)) for rule in chunk]) for chunk in chunks]


def _any_of(rules: Iterable[Rule]) -> "re2._Regexp":
    return _compiled("|".join(f"(?:{rule.pattern})" for rule in rules))


def _compiled(pattern: str) -> "re2._Regexp":
    options = re2.Options()
    options.never_capture = True
    options.max_mem = _AUTOMATON_BYTES_MAX
    return re2.compile(pattern, options)


def _place(view: View) -> str:
    return f"{view.where} ({view.coding})" if view.coding else view.where
