"""Which entities a question is about: those it names outright, and those whose names its words hold."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from twiceshy.core.aliases import folded, folded_ref
from twiceshy.core.fusion import Scored
from twiceshy.core.lexical import STOPWORDS
from twiceshy.core.things import ENTITY_KEY

NAME_WORDS_MAX = 3
QUERY_WORDS_MAX = 64
ASKED_FOR = 1.0
FOUND_IN_TEXT = 0.2
"""What a name that merely occurs in the text counts for beside one that was given as an entity."""

_TRIMMED = "\"'`“”‘’„«»()[]{}<>.,:;!?…"


@dataclass(frozen=True, slots=True)
class Known:
    """An entity that memory has, and the versions of episodes that mention it, newest first (`mentions` in all)."""

    key: str
    folded: str
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


def named(entity: str, known: Known) -> bool:
    """Whether an entity of a request is this one: the same type and name, or the name alone."""
    return folded_ref(entity) == known.folded and (not ENTITY_KEY.match(entity) or _type(entity) == _type(known.key))


def _type(key: str) -> str:
    return key.partition(":")[0]


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
