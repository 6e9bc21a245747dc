"""How rules are written.

A rule on words is matched on what `letters.worded` makes of a text: words, and between them signs of four kinds: stops,
line's ends, colons and blanks. A blank in a rule stands for any gap but a stop, so that a rule keeps to one sentence:

    phrase("(ignore|forget) <3>(previous|prior) (instructions|rules)")

``<3>`` stands for up to three words of any kind. A rule on markup is matched on the folded text itself. Patterns are
RE2's: no lookaround, no back references, and time that is linear in the text. They count words and not characters, and
name no Unicode classes, which keeps the automata small: a large one can be made to thrash by a hostile text.
"""

from collections.abc import Mapping
from dataclasses import dataclass

MEDIUM = 1
STRONG = 2
LINE = 2
"""The score from which on an incident is held: one strong category, or two of medium strength."""

GAP = r"(?:[\x20\n:]+)"
LETTER = r"[^\x20\n:.]"


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, what it shows, and how strongly. Of a category the strongest rule counts, once."""

    name: str
    category: str
    severity: int
    pattern: str


def up_to(count: int) -> str:
    """At most so many words, each with the gap after it."""
    return f"(?:{LETTER}+{GAP}){{0,{count}}}"


def gapped(text: str) -> str:
    """The pattern of words: blanks as gaps, <3> as up to three words."""
    pattern = text.replace(" ", GAP)
    for count in range(1, 10):
        pattern = pattern.replace(f"<{count}>", up_to(count))
    return f"(?:{pattern})"


def phrase(text: str) -> str:
    return rf"\b{gapped(text)}\b"


def sentence(text: str) -> str:
    """A phrase that begins a sentence, a line or what a colon announces, or is asked for: an order, where the same
    words further in would be a report."""
    return rf"(?:^|[.\n:] *|\b{gapped('(please|then|and|also|now|must|should|shall|always) ')}){gapped(text)}\b"


def category(name: str, strong: Mapping[str, str], medium: Mapping[str, str] | None = None) -> tuple[Rule, ...]:
    """The rules of a category from their names and patterns."""
    weighed = [(STRONG, strong), (MEDIUM, medium or {})]
    return tuple(Rule(rule, name, weight, text) for weight, rules in weighed for rule, text in rules.items())
