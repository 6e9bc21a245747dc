"""Whether anything in memory is like what was asked for, or the question is new to it.

Two signs count, and each makes up for what the other lacks. A cosine of mean word vectors is never zero: among some
hundred incidents one is always a little like a question about a printer. The words that a question shares with what
was found are few for a true paraphrase, but a question about a printer shares hardly any.
"""

from collections.abc import Iterable, Mapping, Sized

from twiceshy.core.lexical import occurring

SHARE_WEIGHT = 0.2
"""How far the shared words move the cosine that is asked for, measured on 694 public post-mortems and 30 examples,
with 146 questions about everyday things and 100 about incidents: 3 of the former count as known, 4 of the latter
as new."""

TERMS_MAX = 20


def shared(query: Mapping[str, str], text: str) -> tuple[str, ...]:
    """The words of a query that a text has too, in the query's order. ``query`` has them by token (`spellings`)."""
    there = occurring(query, text)
    return tuple(word for token, word in query.items() if token in there)


def share(query: Sized, words: Iterable[Sized]) -> float:
    """The largest part of a query's different words that one item shares, 0 to 1."""
    return max(map(len, words), default=0) / len(query) if len(query) else 0.0


def similar(cosine: float, words: float, similarity: float) -> bool:
    """Whether the best hits are like the question.

    ``cosine`` is that of the nearest item; ``words`` is the `share`. An item with half of the words has to reach
    ``similarity``, one without any `SHARE_WEIGHT` / 2 more. One with all of them is similar: it may be an error's
    code, of which the embedder knows nothing.

    >>> similar(0.30, words=0.5, similarity=0.25), similar(0.30, words=0.0, similarity=0.25)
    (True, False)
    """
    return words == 1.0 or cosine >= similarity + SHARE_WEIGHT * (0.5 - words)
