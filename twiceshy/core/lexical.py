"""Words as the lexical leg sees them: our own tokens, and BM25 term weights over them.

BM25 is Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), equation 3.15. The saturated
term frequency is computed here; the inverse document frequency is the vector store's, over the points that
the search may see. Changing anything here changes `TOKENISER_VERSION`, and so the collection.
"""

import re
import unicodedata
import zlib
from collections import Counter

TOKENISER_VERSION = 1

K1 = 1.2
B = 0.75
LENGTH_MEAN = 160.0
"""Tokens of a typical incident. A constant, so that a document's weights never depend on the others."""

TITLE_WEIGHT = 3
TOKENS_MAX = 4_096

_WORD = re.compile(r"[^\W_]+(?:[._:/@#+-][^\W_]+)*", re.UNICODE)
_PART = re.compile(r"[^\W_]+", re.UNICODE)
_STOPWORDS = frozenset(
    "a about after all also an and any are as at be because been before but by can could did do does for from had "
    "has have if in into is it its more no not of off on or our out over some such than that the their them then "
    "there these they this to too under until up very was we were what when where which while who why will with "
    "would you your".split()
)


def tokens(text: str) -> list[str]:
    """Lower-case words of ``text`` in order. A compound (``payment-api``, ``app.db``) is itself and its parts."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    found: list[str] = []
    for word in _WORD.finditer(folded):
        whole = word.group()
        parts = _PART.findall(whole)
        if len(parts) > 1:
            found.append(whole)
        found += (_singular(part) for part in parts if part not in _STOPWORDS)
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
    return weights


def query_weights(text: str) -> dict[int, float]:
    """Weight 1 for each different token of a query."""
    return {term_id(token): 1.0 for token in tokens(text)}
