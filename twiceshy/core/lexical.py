"""Words as the lexical leg sees them: our own tokens, and BM25 term weights over them.

BM25 is Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), equation 3.15. The saturated
term frequency is computed here; the inverse document frequency is the vector store's, over the points that
the search may see. Changing anything here changes `TOKENISER_VERSION`, and so the collection.

A title is a term of its own as well, whole: alerts are pasted into questions, and "elevated error rates" is
otherwise found in every second incident but the one that is called so.
"""

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable

TOKENISER_VERSION = 1

K1 = 1.2
B = 0.75
LENGTH_MEAN = 230.0
"""Tokens of an average post-mortem. A constant, so that a document's weights never depend on the others."""

TITLE_WEIGHT = 3
TOKENS_MAX = 4_096

TITLE_CHARS_MAX = 500
QUERY_LINES_MAX = 16
WHOLE_TITLE_WEIGHT = 3.0
"""A line that is a title weighs so many times what its words could weigh together."""

VERBATIM_WEIGHT = 0.25
"""What the very letters add to a whole title: they decide between "ORES" and "ores"."""

_WORD = re.compile(r"[^\W_]+(?:[._:/@#+-][^\W_]+)*", re.UNICODE)
_PART = re.compile(r"[^\W_]+", re.UNICODE)
STOPWORDS = frozenset(
    "a about above after again all also am an and any are as at be because been before being below between both but "
    "by can could did do does doing don during each ever few for from get got had has have having he her here hers "
    "him his how i if in into is it its just let ll many may me might mine more most much must my no nor not of off "
    "on once only or our ours out over own please re s same shall she should so some such t than that the their "
    "theirs them then there these they this those through to too under until up us ve very was we were what when "
    "where which while who whom whose why will with would yet you your yours".split()
)


def tokens(text: str) -> list[str]:
    """Lower-case words of ``text`` in order. A compound (``payment-api``, ``app.db``) is itself and its parts."""
    return [token for token, _ in _words(text)]


def spellings(text: str) -> dict[str, str]:
    """The different tokens of ``text`` in order, each with the word that it comes from, in lower case.

    >>> spellings("queries to Redis")
    {'query': 'queries', 'redi': 'redis'}
    """
    found: dict[str, str] = {}
    for token, word in _words(text):
        found.setdefault(token, word)
    return found


def occurring(query_tokens: Iterable[str], text: str) -> set[str]:
    """Those of a query's tokens that ``text`` has, without making all of the text's own tokens for it."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    parts = {_singular(part) for part in set(_PART.findall(folded))}
    # A compound is there when its letters are: it is no single part, but its own are searched for besides.
    return {token for token in query_tokens if token in parts or (not token.isalnum() and token in folded)}


def _words(text: str) -> list[tuple[str, str]]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    found: list[tuple[str, str]] = []
    for word in _WORD.finditer(folded):
        whole = word.group()
        parts = _PART.findall(whole)
        if len(parts) > 1:
            found.append((whole, whole))
        found += ((_singular(part), part) for part in parts if part not in STOPWORDS)
        if len(found) >= TOKENS_MAX:
            break
    return found


def _singular(word: str) -> str:
    """The S-stemmer of Harman, "How effective is suffixing?" (1991): plural endings alone."""
    if len(word) > 4 and word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


def term_id(token: str) -> int:
    """A token's dimension in the sparse vector: 32 bits, so two tokens of 100,000 share one about once."""
    return zlib.crc32(token.encode("utf-8", "surrogatepass"))


def document_weights(title: str, text: str) -> dict[int, float]:
    """Saturated term frequencies of a document by term id; a title's word counts `TITLE_WEIGHT` times."""
    counted: Counter[str] = Counter(tokens(text))
    for token in tokens(title):
        counted[token] += TITLE_WEIGHT
    length = sum(counted.values())
    norm = K1 * (1 - B + B * length / LENGTH_MEAN)
    weights: dict[int, float] = {}
    for token, count in counted.items():
        term = term_id(token)
        weights[term] = weights.get(term, 0.0) + count * (K1 + 1) / (count + norm)
    for term, weight in _title_terms(title).items():
        weights[term] = weights.get(term, 0.0) + weight
    return weights


def query_weights(text: str) -> dict[int, float]:
    """Weight 1 for each different token of a query, and more for each line that may be a whole title."""
    weights = {term_id(token): 1.0 for token in tokens(text)}
    for line in text.splitlines()[:QUERY_LINES_MAX]:
        if len(line) <= TITLE_CHARS_MAX:
            words = max(1, len(set(tokens(line))))
            weights |= dict.fromkeys(_title_terms(line), WHOLE_TITLE_WEIGHT * words)
    return weights


def _title_terms(title: str) -> dict[int, float]:
    """A whole title as two terms: its words, and its letters. No token has a control character, so none is one."""
    words = " ".join(_PART.findall(unicodedata.normalize("NFKC", title).casefold()))
    letters = " ".join(unicodedata.normalize("NFC", title).split())
    return {term_id(f"\x1f{words}"): 1.0, term_id(f"\x1e{letters}"): VERBATIM_WEIGHT} if words else {}
