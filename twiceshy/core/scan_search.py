"""Which rules match a text, and in which of the views that it is made of."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate

import re2

from twiceshy.core.letters import UnreadableError, folded_with_letters
from twiceshy.core.one_pass import AUTOMATON_BYTES_MAX
from twiceshy.core.scan_patterns import Rule
from twiceshy.core.views import Budget, View

_EXPANDED_CHARS_MAX = 10_000
"""Beyond twice the text: there are ligatures that stand for eighteen letters."""
_GROUP_RULES_MAX = 18
"""Of a category. With more in one pattern each new text makes new states of it, with fewer there are more passes."""

Group = tuple["re2._Regexp", list[tuple[Rule, "re2._Regexp"]]]
"""A pattern that any of some rules matches, and each of them with its own. No set: that would read on after a match."""


class Page:
    """Views joined into one folded text: what a rule would match in a view alone, it matches here too."""

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views
        self.joined = "\n".join([view.text for view in views])
        self.text, self.letters = folded_with_letters(self.joined)
        if len(self.text) > 2 * len(self.joined) + _EXPANDED_CHARS_MAX:
            raise UnreadableError

    def where(self, start: int, end: int) -> str:
        """The field that the characters from ``start`` to ``end`` are of, or the two between which they are split."""
        # Folding makes no line and takes none away, so that the lines before a place tell the view.
        ends = list(accumulate(view.text.count("\n") + 1 for view in self.views))
        lines = (self.text.count("\n", 0, at) for at in (start, max(start, end - 1)))
        touched = {bisect_right(ends, line): None for line in lines}
        return " + ".join(_place(self.views[index]) for index in touched)


class Searcher:
    """Rules, searched many at a time: an honest text costs one search for each group of rules."""

    def __init__(self, rules: Iterable[Rule], *together: Collection[str]) -> None:
        """``together``: categories that share a group, as their patterns have few states beside each other's."""
        shared = {category: number for number, group in enumerate(together) for category in group}
        groups: dict[int | str, list[Rule]] = {}
        for rule in rules:
            groups.setdefault(shared.get(rule.category, rule.category), []).append(rule)
        parts = [[group] if name in shared.values() else _parts(group) for name, group in groups.items()]
        self._groups = [_group(rules) for part in parts for rules in part]

    def matches(self, text: str, budget: Budget) -> Iterator[tuple[Rule, int, int]]:
        """Each rule that matches, and the characters where it first does."""
        data = text.encode()
        for any_of, rules in self._groups:
            budget.spend(bytes_searched=len(data))
            if first := any_of.search(data):
                # Who takes the first reason that there is need not wait for the text to be read again for each rule.
                here = [pattern.match(data, first.start()) for _, pattern in rules]
                yield from (_found(rule, match, data) for (rule, _), match in zip(rules, here, strict=True) if match)
                for (rule, pattern), known in zip(rules, here, strict=True):
                    if not known:
                        budget.spend(bytes_searched=len(data))
                        if match := pattern.search(data):
                            yield _found(rule, match, data)


def _found(rule: Rule, match: "re2._Match", data: bytes) -> tuple[Rule, int, int]:
    start, end = match.span()
    before = len(data[:start].decode())
    return rule, before, before + len(data[start:end].decode())


def _parts(rules: Sequence[Rule]) -> list[Sequence[Rule]]:
    """A category's rules in as few parts as may be, of about one size."""
    count = -(-len(rules) // _GROUP_RULES_MAX)
    size = -(-len(rules) // count)
    return [rules[first : first + size] for first in range(0, len(rules), size)]


def _group(rules: Sequence[Rule]) -> Group:
    any_of = _compiled("|".join(f"(?:{rule.pattern})" for rule in rules))
    return any_of, [(rule, _compiled(rule.pattern)) for rule in rules]


def _compiled(pattern: str) -> "re2._Regexp":
    options = re2.Options()
    options.never_capture = True
    options.max_mem = AUTOMATON_BYTES_MAX
    return re2.compile(pattern, options)


def _place(view: View) -> str:
    return f"{view.where} ({view.coding})" if view.coding else view.where
