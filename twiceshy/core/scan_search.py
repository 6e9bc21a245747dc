"""Which rules match a text, and in which of the views that it is made of."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

import re2

from twiceshy.core.disguises import may_be_disguised
from twiceshy.core.letters import UnreadableError, folded_with_letters, worded
from twiceshy.core.one_pass import AUTOMATON_BYTES_MAX
from twiceshy.core.scan_patterns import Rule
from twiceshy.core.sequences import batched
from twiceshy.core.views import Budget, View

_EXPANDED_CHARS_MAX = 10_000
"""Beyond twice the text: there are ligatures that stand for eighteen letters."""
_GROUP_RULES_MAX = 18
"""Of a category. With more in one pattern each new text makes new states of it, with fewer there are more passes."""

_CHUNK_RULES = 7
"""Of a group that matches somewhere, so many are searched for at a time."""

Chunk = tuple["re2._Regexp", list[tuple[Rule, "re2._Regexp"]]]
"""A pattern that any of some rules matches, and each of them with its own. No set: that would read on after a match."""
Group = tuple["re2._Regexp", list[Chunk]]


class Page:
    """Views joined into one folded text: what a rule would match in a view alone, it matches here too."""

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views
        self.joined = "\n".join([view.text for view in views])
        self.text, self.letters = folded_with_letters(self.joined)
        if len(self.text) > 2 * len(self.joined) + _EXPANDED_CHARS_MAX:
            raise UnreadableError

    @property
    def words(self) -> str:
        """The text as rules on words read it, with as many characters. Raises UnreadableError."""
        return worded(self.text, self.letters)

    @cached_property
    def may_be_disguised(self) -> bool:
        """Whether a word of a trick may be cut up in the text, or spelled with digits."""
        return may_be_disguised(self.text)

    def where(self, start: int, end: int) -> str:
        """The field that the characters from ``start`` to ``end`` are of, or the two between which they are split."""
        # Folding makes no line and takes none away, so that the lines before a place tell the view.
        ends = list(accumulate(view.text.count("\n") + 1 for view in self.views))
        lines = (self.text.count("\n", 0, at) for at in (start, max(start, end - 1)))
        touched = {bisect_right(ends, line): None for line in lines}
        return " + ".join(_place(self.views[index]) for index in touched)


class Searcher:
    """Rules, searched many at a time: an honest text costs one search for each group of rules."""

    def __init__(self, rules: Iterable[Rule], *together: Collection[str], never_in_ascii: Collection[str] = ()) -> None:
        """``together``: categories that share a group, as their patterns have few states beside each other's.
        ``never_in_ascii``: rules that have groups of their own, the first, for which most texts are not searched."""
        shared = {category: number for number, group in enumerate(together) for category in group}
        groups: dict[tuple[int | str, bool], list[Rule]] = {}
        for rule in rules:
            name = shared.get(rule.category, rule.category), rule.name in never_in_ascii
            groups.setdefault(name, []).append(rule)
        self._groups = [
            (_group(part), never)
            for (name, never), group in sorted(groups.items(), key=lambda group: not group[0][1])
            for part in ([group] if name in shared.values() else _parts(group))
        ]

    def matches(self, text: str, budget: Budget) -> Iterator[tuple[Rule, int, int]]:
        """Each rule that matches, and the characters where it first does; not in the order of the rules."""
        data = text.encode()
        for (any_of, chunks), never_in_ascii in self._groups:
            if never_in_ascii and data.isascii():
                budget.search(data)  # what may be read is the same for all letters
            elif first := _search(any_of, data, budget):
                # Who takes the first reason that there is need not wait for the text to be read again for each rule.
                here = {
                    rule.name: _found(rule, match, data)
                    for _, rules in chunks
                    for rule, pattern in rules
                    if (match := pattern.match(data, first.start()))
                }
                yield from here.values()
                for any_of_chunk, rules in chunks:
                    others = [(rule, pattern) for rule, pattern in rules if rule.name not in here]
                    if others and _search(any_of_chunk, data, budget):
                        for rule, pattern in others:
                            if match := _search(pattern, data, budget):
                                yield _found(rule, match, data)


def _search(pattern: "re2._Regexp", data: bytes, budget: Budget) -> "re2._Match | None":
    budget.search(data)
    return pattern.search(data)


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
    return _any_of(rules), [
        (_any_of(chunk), [(rule, _compiled(rule.pattern)) for rule in chunk]) for chunk in batched(rules, _CHUNK_RULES)
    ]


def _any_of(rules: Iterable[Rule]) -> "re2._Regexp":
    return _compiled("|".join(f"(?:{rule.pattern})" for rule in rules))


def _compiled(pattern: str) -> "re2._Regexp":
    options = re2.Options()
    options.never_capture = True
    options.max_mem = AUTOMATON_BYTES_MAX
    return re2.compile(pattern, options)


def _place(view: View) -> str:
    return f"{view.where} ({view.coding})" if view.coding else view.where
