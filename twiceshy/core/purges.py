"""What was taken away because of who said it.

A purge never deletes. It closes what its origin said, at its own stamp; and whatever moment of the past is asked
about, what was purged is withheld.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from twiceshy.core.temporal import FOREVER

TRUST_FLOOR = 0.1
"""No more is trusted what derives from an incident that was purged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """All that ``origin`` said and memory learned in ``[since, at)`` is purged, where ``at`` is the purge's stamp.

    With ``block`` the origin's incidents are turned away in ``[at, unblocked_at)``.
    """

    origin: str
    since: int
    at: int
    block: bool
    unblocked_at: int = FOREVER


def purged(purges: Iterable[Purge], origin: str | None, t_created: int) -> bool:
    """Whether what ``origin`` said, and memory learned at ``t_created``, was taken away."""
    return any(purge.origin == origin and purge.since <= t_created < purge.at for purge in purges)


def hides(purges: Iterable[Purge], known_at: int) -> bool:
    """Whether what memory believed at ``known_at`` can lack something that was taken away later."""
    return any(purge.since <= known_at < purge.at for purge in purges)


def blocked(purges: Iterable[Purge], origin: str, at: int) -> bool:
    """Whether an incident of ``origin`` is turned away at the transaction time ``at``."""
    return any(p.block and p.origin == origin and p.at <= at < p.unblocked_at for p in purges)
