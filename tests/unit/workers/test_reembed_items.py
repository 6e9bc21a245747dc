"""What a copy of a point lacks."""

from typing import Any

import pytest
from qdrant_client import models

from twiceshy.core.temporal import FOREVER
from twiceshy.stores.embeddings import Embedded
from twiceshy.stores.points import LEXICAL, to_point
from workers.reembed_items import Lack, lacking, to_copy

POINT: dict[str, Any] = {
    "version_id": "v",
    "tenant": "default",
    "generation": "g1",
    "kind": "episode",
    "t_valid": 1,
    "t_invalid": FOREVER,
    "t_created": 5,
    "t_expired": FOREVER,
    "has_vector": True,
    "vector_missing": False,
    "text": "Checkout was slow.",
}
CLOSED = {"t_expired": 9}


@pytest.mark.parametrize(
    ("point", "copy", "lack"),
    [
        ({}, None, "point"),
        ({}, {}, None),
        (CLOSED, CLOSED, None),
        (CLOSED, {}, "closing"),
        # A closing is never taken back and never moved: such a copy is of something else.
        ({}, CLOSED, "likeness"),
        (CLOSED, {"t_expired": 8}, "likeness"),
        ({"text": "Said otherwise."}, {}, "likeness"),
        (CLOSED, {"text": "Said otherwise."}, "likeness"),
        ({"trust": 0.5}, {}, "likeness"),
        # Whether there is a vector is each model's own affair.
        ({"has_vector": False, "vector_missing": True}, {}, None),
        ({}, {"has_vector": False}, None),
        ({}, {"has_vector": False, "vector_missing": True}, "likeness"),
    ],
)
def test_copy_lacks_what_it_does_not_say(point: dict[str, Any], copy: dict[str, Any] | None, lack: Lack | None) -> None:
    assert lack == lacking(POINT | point, None if copy is None else POINT | copy)


@pytest.mark.parametrize("vector", [[0.6, 0.8], None])
def test_copy_has_the_words_and_the_payload_and_its_own_vector(vector: list[float] | None) -> None:
    words = models.SparseVector(indices=[3, 7], values=[0.5, 2.0])
    missing = {**POINT, "has_vector": False, "vector_missing": True}
    point = models.Record(id="1", payload=missing, vector={LEXICAL: words})
    copy = to_point(to_copy(point, Embedded(vector, None if vector else "It has no meaning.")))
    assert {**POINT, "has_vector": vector is not None} == copy.payload
    assert copy.vector == {LEXICAL: words} | ({"dense": vector} if vector else {})
