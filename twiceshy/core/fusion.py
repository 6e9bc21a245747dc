"""Reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009; each rank counts by how near it is to the best.

A rank alone says nothing of how good a hit is. A leg that found one item by its title, and others by a word they
share with the question, would give the second place nearly as much as the first, and two such legs would carry any
item past the one that was asked for. So a leg's ``1 / (k + rank)`` is multiplied by the item's score as a share of the
leg's best one.
"""

from collections.abc import Mapping, Sequence

K = 10
"""Ranks from 1 to about this count for much. Cormack's 60 is for lists of a thousand; here a reply has five items."""

Scored = tuple[str, float]
"""An item and its score in one leg. The scores of a leg are comparable with one another and with nothing else."""


def fuse(legs: Mapping[str, Sequence[Scored]], weights: Mapping[str, float], k: int = K) -> list[Scored]:
    """Items by ``sum(weight * score / best / (k + rank))`` over the legs that found them, best first.

    Each leg's items come best first. Ranks are from 1, and equal scores of a leg have the same rank, for they do
    not tell the items apart. A score that is not positive counts as not found. Equal sums are ordered by the best
    place in any leg, then by id, so that the order is total.

    >>> fuse({"words": [("a", 4.0), ("b", 1.0)], "meaning": [("b", 0.5)]}, {"words": 1.0, "meaning": 0.5})[0][0]
    'a'
    """
    sums: dict[str, float] = {}
    places: dict[str, int] = {}
    for leg, scored in legs.items():
        best = max((score for _, score in scored), default=0.0)
        for place, (rank, (item, score)) in enumerate(zip(ranks(scored), scored, strict=True)):
            if score > 0:
                sums[item] = sums.get(item, 0.0) + weights[leg] * score / best / (k + rank)
                places[item] = min(places.get(item, place), place)
    return sorted(sums.items(), key=lambda fused: (-fused[1], places[fused[0]], fused[0]))


def ranks(scored: Sequence[Scored]) -> list[int]:
    """The rank from 1 of each item, best first as they come: one more than the number of better ones.

    >>> ranks([("a", 0.9), ("b", 0.9), ("c", 0.2)])
    [1, 1, 3]
    """
    ranked: list[int] = []
    for place, (_, score) in enumerate(scored):
        ranked.append(ranked[-1] if place and score == scored[place - 1][1] else place + 1)
    return ranked
