"""Tokens that no rule knows by name: what looks random is taken for a secret, and what reads as words is not.

A random token of letters has the letter pairs of no language. `_COMMON` holds the pairs that make up nine tenths
of all pairs in identifiers and English; a random token has three tenths of its pairs among them.
"""

from itertools import pairwise
from typing import Any

from twiceshy.core.redact_spans import GUESSED, KEPT, Rule, compiled, shape

_COMMON = frozenset(
    (ord(word[0]), ord(second))
    for word in (
        "abcdgilmnprstu baejlouy caehiklortu dadeiou eacdeflmnprstvxy fafioru geis haeio iabcdefglmnoprst ke "
        "ladefilostuy maeiop nacdefgiostu obcdflmnoprstuw paeiloprt qu racegimnorstuy sacehimopstu taehiorstuy "
        "uelmnprst vae wahi xct yp"
    ).split()
    for second in word[1:]
)
_LETTERS = frozenset((first, second) for first in range(97, 123) for second in range(97, 123))
_COMMON_SHARE_MIN = 0.6
_PAIRS_MIN = 8
_JUDGED_BYTES = 200
_BASE64_BYTES_MIN = 40
_SEGMENTS = compiled(r"[A-Za-z0-9_-]{24,}")
_RUNS = compiled(r"[A-Za-z0-9]{24,}")
_WORD = compiled(r"(?:^|/)[a-z]{2,}(?:/|$)")
_HEX = b"0123456789abcdefABCDEF-"
_DIGITS = b"0123456789"


def random_looking(token: bytes) -> bool:
    """Whether a token is more like a key than like a name: letters of both cases and digits, in no language's pairs.

    Hexadecimal is not: commits, digests and trace ids are. Nor are tokens of one case, such as ULIDs, unless they
    are as long as keys are.
    """
    token = token[:_JUDGED_BYTES]
    folded = token.lower()
    if not token.translate(None, _HEX) or token.translate(None, _DIGITS) == token:
        return False
    if len(token) < 40 and (token.upper() == token or (folded == token and len(token) < 32)):
        return False
    pairs = list(pairwise(folded))
    letters = sum(map(_LETTERS.__contains__, pairs))
    return letters >= _PAIRS_MIN and sum(map(_COMMON.__contains__, pairs)) < _COMMON_SHARE_MIN * letters


def _random(match: Any) -> tuple[int, int] | None:
    """A token, or the random part of a path or of a name; or all that is too long for a path: Base64 has slashes."""
    span: tuple[int, int] = match.span()
    token: bytes = match.group()
    slashes = b"/" in token
    if not slashes and (token.isalnum() or random_looking(token)):
        return span if random_looking(token) else None
    for parts in (_SEGMENTS, _RUNS):
        for part in parts.finditer(match.string, *span):
            if random_looking(part.group()):
                found: tuple[int, int] = part.span()
                return span if b"+" in token or token.endswith(b"=") else found
    path = token.startswith(b"/") or _WORD.search(token) is not None
    return span if slashes and not path and len(token) >= _BASE64_BYTES_MIN and random_looking(token) else None


RULES: tuple[Rule, ...] = (
    shape(
        "public",
        r"sha1|sha256|sha384|sha512|certificate-----|public|ssh-|ecdsa-",
        r"(?i:sha(?:1|256|384|512)[:-])([A-Za-z0-9+/=]+)"
        r"|(?:ssh-(?:rsa|ed25519)|ecdsa-sha2-\w+) [A-Za-z0-9+/=]+"
        r"|-----BEGIN [A-Z0-9 ]{0,20}(?:CERTIFICATE|PUBLIC KEY)-----[A-Za-z0-9+/=\s\\]*",
        rank=KEPT,
        accept=lambda match: match.span(),
    ),
    # Without a group, which would take RE2 twice as long to find in what may be half of a text.
    shape("secret", r"[a-z0-9+/_-]{24}", r"[A-Za-z0-9+/_-]{24,}(?:\.[A-Za-z0-9_-]{6,})*={0,2}", GUESSED, _random),
)
"""What is public though it looks random, and what is not public because it does."""
