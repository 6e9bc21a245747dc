"""Reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009."""

from collections.abc import Mapping, Sequence

K = 60


def fuse(rankings: Mapping[str, Sequence[str]], weights: Mapping[str, float], k: int = K) -> list[tuple[str, float]]:
    """Items by ``sum(weight / (k + rank))`` over the rankings that have them, ranks from 1, best first.

    Equal scores are ordered by their best rank in any one ranking, then by id, so that the order is total.
    """
    scores: dict[str, float] = {}
    best: dict[str, int] = {}
    for leg, ranking in rankings.items():
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + weights[leg] / (k + rank)
            best[item] = min(best.get(item, rank), rank)
    return sorted(scores.items(), key=lambda scored: (-scored[1], best[scored[0]], scored[0]))
