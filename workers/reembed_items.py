"""one embedding model's points → reembed, what a copy of a point lacks → another's

Pure: payloads in, what is to be done out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from qdrant_client import models

from twiceshy.core.temporal import FOREVER
from twiceshy.stores.embeddings import Embedded
from twiceshy.stores.points import Item, copied

Payload = Mapping[str, Any]
Lack = Literal["point", "closing", "likeness"]
"""``likeness``: it says something else, as a copy of a generation that was dropped and folded again may."""

OF_THE_MODEL = ("has_vector", "vector_missing")


@dataclass(slots=True)
class Tally:
    """What was done to the other model's points."""

    added: int = 0
    closed: int = 0
    deleted: int = 0
    words_alone: int = 0

    @property
    def changes(self) -> int:
        return self.added + self.closed + self.deleted


def lacking(point: Payload, copy: Payload | None) -> Lack | None:
    """What is to be done so that ``copy`` says what ``point`` says. A closing is only ever added, never taken back."""
    if copy is None:
        return "point"
    if copy["vector_missing"]:
        return "likeness"
    said, says = _shared(point), _shared(copy)
    if said == says:
        return None
    return "closing" if says["t_expired"] == FOREVER and says | {"t_expired": said["t_expired"]} == said else "likeness"


def _shared(payload: Payload) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name not in OF_THE_MODEL}


def to_copy(point: models.Record, embedded: Embedded) -> Item:
    """A point's words and payload with another vector. A text without one is found by its words alone, for good."""
    return replace(copied(point), dense=embedded.vector, vector_missing=False)
