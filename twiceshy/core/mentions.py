"""Which entities a question is about: those it names outright, and those whose names its words hold."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from twiceshy.core.aliases import Names, folded, folded_ref
from twiceshy.core.fusion import Scored
from twiceshy.core.lexical import STOPWORDS

NAME_WORDS_MAX = 3
QUERY_WORDS_MAX = 64
ASKED_FOR = 1.0
FOUND_IN_TEXT = 0.2
"""What a name that merely occurs in the text counts for beside one that was given as an entity."""

_TRIMMED = "\"'`“”‘’„«»()[]{}<>.,:;!?…"


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity as it was said, its folded reference, and the episodes that mention it (`mentions` in all).

    ``episodes`` are versions and when their incidents ended, the newest first.
    """

    key: str
    ref: str
    mentions: int
    episodes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Known:
    """An entity under all its names, and the versions of episodes that mention it, newest first (`mentions` in all)."""

    key: str
    mentions: int
    episodes: tuple[str, ...]


def names_in(text: str) -> list[str]:
    """Every run of up to three words of the beginning of a text, folded, without the punctuation around them."""
    words = [folded(word.strip(_TRIMMED)) for word in text.split()[:QUERY_WORDS_MAX]]
    runs = (
        " ".join(words[start : start + length])
        for length in range(1, NAME_WORDS_MAX + 1)
        for start in range(len(words) - length + 1)
    )
    return [name for name in dict.fromkeys(runs) if name.strip() and name not in STOPWORDS]


class Asked:
    """What a question names, by the names of a moment: entities that it gives, and those whose names its text holds."""

    def __init__(self, entities: Iterable[str], text: str, names: Names) -> None:
        self.names = names
        self._given: dict[str, list[str]] = {}
        self._in_text: dict[str, list[str]] = {}
        for entity in entities:
            _add(self._given, entity, names.group(entity))
        for name in names_in(text):
            # Such names are folded already.
            _add(self._in_text, name, names.together(folded_ref(name) if ":" in name else name))

    def refs(self) -> list[str]:
        """The folded references of all that is named, and of what is read together with it."""
        return list(dict.fromkeys([*self._given, *self._in_text]))

    def refs_given(self) -> list[str]:
        """Those of the entities that the question gives."""
        return list(self._given)

    def strength(self, mention: Mention) -> float:
        """How strongly the question names an entity; 0 when it does not."""
        for named, strength in ((self._given, ASKED_FOR), (self._in_text, FOUND_IN_TEXT)):
            if any(self.names.means(name, mention.key) for name in named.get(mention.ref, ())):
                return strength
        return 0.0


def _add(named: dict[str, list[str]], name: str, refs: Iterable[str]) -> None:
    for ref in refs:
        named.setdefault(ref, []).append(name)


def known(asked: Asked, mentions: Iterable[Mention]) -> dict[str, tuple[Known, float]]:
    """The entities that a question is about and how strongly it names each, by the name that they come to."""
    together: dict[str, list[Mention]] = {}
    strengths: dict[str, float] = {}
    for mention in mentions:
        if strength := asked.strength(mention):
            key = asked.names.resolved(mention.key)
            together.setdefault(key, []).append(mention)
            strengths[key] = max(strength, strengths.get(key, 0.0))
    return {key: (_merged(key, of_key), strengths[key]) for key, of_key in together.items()}


def _merged(key: str, mentions: Sequence[Mention]) -> Known:
    listed = [episode for mention in mentions for episode in mention.episodes]
    different = set(listed)
    newest_first = sorted(different, key=lambda episode: (-episode[1], episode[0]))
    count = sum(mention.mentions for mention in mentions) - (len(listed) - len(different))
    return Known(key, count, tuple(version_id for version_id, _ in newest_first))


def scored(entities: Iterable[tuple[Known, float]]) -> list[Scored]:
    """Episodes by the entities that they mention, best first; those that mention the same keep their order.

    Each entity comes with how strongly it was named, and counts for ``strength / log2(1 + mentions)``: one that
    everything mentions says little of any.
    """
    sums: dict[str, float] = {}
    for entity, strength in entities:
        worth = strength / math.log2(1 + max(1, entity.mentions))
        for episode in entity.episodes:
            sums[episode] = sums.get(episode, 0.0) + worth
    return sorted(sums.items(), key=lambda one: -one[1])
