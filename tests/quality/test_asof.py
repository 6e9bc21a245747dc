"""Whether as-of answers over other people's facts are right, whatever the order in which the facts arrive.

The questions lie beside the checkout of a developer, not in it.
"""

import random

import pytest

from bench.temporal_data import TEMPORAL, Answers, Collection, always_latest, core, overwriting, read_collections
from tests.requirements import skip_or_fail


@pytest.fixture(scope="module")
def collections() -> dict[str, Collection]:
    if not TEMPORAL.exists():
        skip_or_fail("the public questions as of a time are not on this machine")
    return {collection.name: collection for collection in read_collections()}


def share(collection: Collection, answers: Answers) -> float:
    return sum(collection.right(asked, answers(asked)) for asked in collection.questions) / len(collection.questions)


@pytest.mark.parametrize(("name", "goal"), [("situatedqa", 0.94), ("yago15k", 0.99)])
def test_what_is_believed_answers_rightly_in_any_order(
    collections: dict[str, Collection], name: str, goal: float
) -> None:
    collection = collections[name]
    for seed in range(3):
        facts = random.Random(seed).sample(collection.facts, len(collection.facts))
        believed = share(collection, core(facts, many_valued=collection.many_valued))
        assert believed >= goal
        assert believed > max(share(collection, always_latest(facts)), share(collection, overwriting(facts))) + 0.1
