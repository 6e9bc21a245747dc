"""Words of a trick in disguise: cut up by signs and tags, with digits for letters, or in letters that look alike."""

from collections.abc import Iterator

import re2

from twiceshy.core.letters import LEET
from twiceshy.core.one_pass import one_pass
from twiceshy.core.views import WITHIN_WORDS

_WORDS = (
    "ignore disregard forget override instruct prompt previous system pretend assistant reveal always never secret user"
).split()
"""Words of which there are more in a trick out of its disguise."""
_ALL_WORDS = one_pass(_WORDS)
_SIGNS_OF = {letter: "".join(sign for sign, other in LEET.items() if other == letter) for letter in LEET.values()}
_SIGNS = set("".join(WITHIN_WORDS)) - {"\r", "\n"}
_CUTS = f"[\r\n{re2.escape(''.join(sorted(_SIGNS)))}]"
_CUT = f"[\r\n]*[{re2.escape(''.join(sorted(_SIGNS)))}]{_CUTS}*"
"""With a sign in it: the end of a line, as between two fields, does not cut a word up by itself."""


def undisguises(text: str, plain: str) -> bool:
    """Whether ``plain``, which is ``text`` out of a disguise, has more of the words."""
    if plain == text:
        return False
    present = _ALL_WORDS.Match(plain.encode()) or ()
    return any(plain.count(word) > text.count(word) for word in map(_WORDS.__getitem__, present))


def may_be_disguised(text: str) -> bool:
    """Whether `views.unmarked` or `letters.unleeted` may put a word together: cheaper than to see whether they do."""
    return "<" in text or _DISGUISED.search(text.encode()) is not None


def _cut(word: str) -> Iterator[str]:
    """The word in parts, by where the first cut is."""
    for at in range(1, len(word)):
        yield f"{word[:at]}{_CUT}{f'{_CUTS}*'.join(word[at:])}"


def _spelled(word: str) -> Iterator[str]:
    """The word with signs for letters, by which is the first."""
    for at, letter in enumerate(word):
        if signs := _SIGNS_OF.get(letter):
            yield f"{word[:at]}[{signs}]{''.join(map(_either, word[at + 1 :]))}"


def _either(letter: str) -> str:
    return f"[{letter}{_SIGNS_OF.get(letter, '')}]"


_DISGUISED = re2.compile("|".join(form for word in _WORDS for form in (*_cut(word), *_spelled(word))))
