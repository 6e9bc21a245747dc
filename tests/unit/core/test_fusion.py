"""Fusion: what each leg's place and score count for, and that the order is total."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core.fusion import K, Scored, fuse, ranks

SCORES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.01, 100.0), max_size=8)


def best_first(scores: dict[str, float]) -> list[Scored]:
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))


def order(fused: list[Scored]) -> list[str]:
    return [item for item, _ in fused]


def test_a_leg_alone_keeps_its_order() -> None:
    assert order(fuse({"words": [("c", 3.0), ("a", 2.0), ("b", 1.0)]}, {"words": 1.0})) == ["c", "a", "b"]


def test_a_score_is_weight_by_share_of_the_best_by_rank() -> None:
    fused = dict(fuse({"words": [("a", 4.0), ("b", 1.0)], "meaning": [("b", 0.5)]}, {"words": 1.0, "meaning": 0.7}))
    assert fused["a"] == pytest.approx(1 / (K + 1))
    assert fused["b"] == pytest.approx(0.25 / (K + 2) + 0.7 / (K + 1))


def test_what_two_legs_find_goes_before_what_one_finds() -> None:
    legs = {"words": [("a", 5.0), ("b", 4.9)], "meaning": [("b", 0.9), ("c", 0.8)]}
    assert order(fuse(legs, {"words": 1.0, "meaning": 0.7}))[0] == "b"


def test_a_hit_far_better_than_the_others_of_its_leg_stays_first() -> None:
    """The title itself was found: that others are liked by two legs must not push it down."""
    legs = {
        "words": [("title", 60.0), *((f"other {n}", 6.0 - n / 10) for n in range(10))],
        "meaning": [*((f"other {n}", 0.5) for n in range(10)), ("title", 0.2)],
        "graph": [(f"other {n}", 1.0) for n in range(10)],
    }
    assert order(fuse(legs, {"words": 1.0, "meaning": 0.7, "graph": 0.2}))[0] == "title"


def test_equal_scores_have_the_same_rank() -> None:
    assert ranks([("a", 2.0), ("b", 2.0), ("c", 1.0)]) == [1, 1, 3]
    fused = dict(fuse({"graph": [("a", 1.0), ("b", 1.0)]}, {"graph": 1.0}))
    assert fused["a"] == fused["b"]


def test_equal_sums_are_in_the_order_in_which_a_leg_had_them() -> None:
    assert order(fuse({"graph": [("newest", 1.0), ("older", 1.0), ("oldest", 1.0)]}, {"graph": 1.0})) == [
        "newest",
        "older",
        "oldest",
    ]


def test_a_score_that_is_not_positive_is_no_hit() -> None:
    assert fuse({"meaning": [("a", 0.0), ("b", -0.2)]}, {"meaning": 1.0}) == []


def test_nothing_gives_nothing() -> None:
    assert fuse({}, {}) == []
    assert fuse({"words": []}, {"words": 1.0}) == []


@given(SCORES, SCORES)
def test_every_item_comes_once_and_best_first(words: dict[str, float], meaning: dict[str, float]) -> None:
    fused = fuse({"words": best_first(words), "meaning": best_first(meaning)}, {"words": 1.0, "meaning": 0.7})
    assert sorted(order(fused)) == sorted(words.keys() | meaning.keys())
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


@given(SCORES, SCORES)
def test_the_scale_of_a_leg_does_not_matter(words: dict[str, float], meaning: dict[str, float]) -> None:
    weights = {"words": 1.0, "meaning": 0.7}
    one = fuse({"words": best_first(words), "meaning": best_first(meaning)}, weights)
    scaled = [(item, score * 8) for item, score in best_first(words)]
    other = fuse({"words": scaled, "meaning": best_first(meaning)}, weights)
    assert order(one) == order(other)
