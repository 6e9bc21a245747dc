"""Deciding on what is held back: approving, denying and reopening items of quarantine."""

from typing import Self, TypedDict, Unpack
from uuid import uuid4

from twiceshy.core.ids import event_id
from twiceshy.events.quarantine import QuarantineDecided, QuarantineGroup
from twiceshy.settings import Settings
from twiceshy.stream.codec import encode, event_headers
from twiceshy.stream.outputs import Outputs, tenant_partition
from twiceshy.stream.records import Output
from twiceshy.stream.signing import Signer
from twiceshy.stream.topics import TOPICS
from twiceshy.stream.trace import told_trace

SOURCE = "twiceshy/quarantine"


class About(TypedDict, total=False):
    """What is decided on, items or a group of them, and what binds the decision to what was looked at."""

    items: tuple[str, ...]
    group: QuarantineGroup
    content_hash: str
    rules_version: str
    seen_until: int


class QuarantineDecisions:
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
        # What is given is the broker's from then on; the journal is for what the workers send.
        configured = (settings or Settings()).model_copy(update={"journal": None})
        self._outputs = Outputs(configured, client_id, linger_ms=0)
        self._signer = Signer(configured)

    async def __aenter__(self) -> Self:
        """Raises TransientError when the broker does not answer."""
        await self._outputs.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._outputs.stop()

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
        body = encode(decided)
        topic, ce_id = TOPICS.quarantine_decisions, decision_id or str(uuid4())
        headers = self._signer.signed(event_headers(QuarantineDecided, event_id=ce_id, source=SOURCE), body)
        headers += told_trace(traceparent)
        partition = tenant_partition(decided.tenant, topic)
        await self._outputs.send([Output(topic.name, decided.tenant.encode(), body, headers, partition)])
        return event_id(decided.tenant, SOURCE, ce_id, body, signed=self._signer.signs)
