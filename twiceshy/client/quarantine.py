"""Deciding on what is held back: approving, denying and reopening items of quarantine."""

from typing import TypedDict, Unpack

from twiceshy.client.connected import Giving
from twiceshy.events.quarantine import QuarantineDecided, QuarantineGroup
from twiceshy.settings import Settings
from twiceshy.stream.topics import TOPICS

SOURCE = "twiceshy/quarantine"


class About(TypedDict, total=False):
    """What is decided on, items or a group of them, and what binds the decision to what was looked at."""

    items: tuple[str, ...]
    group: QuarantineGroup
    content_hash: str
    rules_version: str
    seen_until: int


class QuarantineDecisions(Giving):
    """Gives decisions. An async context: inside, it is connected.

    Each method decides on ``items``, by their ids, or on a ``group``, what an origin says about a subject, and returns
    the decision's event id, once the broker has it on all replicas. What came of it is told by `OutcomeFollower` under
    that id: ``applied`` with numbers (``items_left``: give it again), or ``rejected`` with a reason. ``who`` decides,
    and ``why``, is kept with the items. A decision with the ``decision_id`` of an earlier one, and the same otherwise,
    is that one. Where the settings name a ``credential``, decisions are signed with it.

    Raises, all of them:
        ValidationError: a field is not what the decision's schema says.
        TransientError: the broker did not acknowledge it in time. Give it again, with the same ``decision_id``.
    """

    def __init__(self, settings: Settings | None = None, *, client_id: str = "twiceshy-quarantine") -> None:
        super().__init__(settings, client_id, topic=TOPICS.quarantine_decisions, source=SOURCE)

    async def approve(
        self, *, tenant: str, who: str, why: str, decision_id: str | None = None, **about: Unpack[About]
    ) -> str:
        """Lets pending items into memory."""
        decided = QuarantineDecided(tenant=tenant, decision="approve", who=who, why=why, **about)
        return await self.give(decided, decision_id=decision_id)

    async def deny(
        self, *, tenant: str, who: str, why: str, decision_id: str | None = None, **about: Unpack[About]
    ) -> str:
        """Keeps pending items out of memory. They stay listed."""
        decided = QuarantineDecided(tenant=tenant, decision="deny", who=who, why=why, **about)
        return await self.give(decided, decision_id=decision_id)

    async def reopen(
        self, *, tenant: str, who: str, why: str, decision_id: str | None = None, **about: Unpack[About]
    ) -> str:
        """Makes items that were denied, or that expired, pending again, for a time to live anew."""
        decided = QuarantineDecided(tenant=tenant, decision="reopen", who=who, why=why, **about)
        return await self.give(decided, decision_id=decision_id)

    async def give(
        self, decided: QuarantineDecided, *, decision_id: str | None = None, traceparent: str | None = None
    ) -> str:
        """Gives a decision of any kind. ``traceparent`` is the W3C trace context of the caller."""
        return await self._given(decided, decision_id, traceparent)
