"""memory.commands.v1 and recall.feedback.v1: what operators ask for, and what agents say of a recall."""

from typing import Literal

from twiceshy.events.common import Event, Id, Instant, Name, Slug, Tenant, Text
from twiceshy.events.incident import IncidentRef


class Command(Event):
    """Who asks for what, and why."""

    tenant: Tenant
    who: Name
    why: Text


class AliasRequested(Command):
    """``alias`` is another name of ``canonical``: a name, or a type and a name (``service:payments``)."""

    canonical: Name
    alias: Name


class UnaliasRequested(Command):
    canonical: Name
    alias: Name


class SupersedeRequested(Command):
    incident: IncidentRef
    by: IncidentRef
    at: Instant


class OriginInvalidationRequested(Command):
    """Takes away what an origin has said before this, or what memory learned of it from ``since`` on."""

    origin: Name
    since: Instant | None = None
    block: bool = False


class UnblockRequested(Command):
    """Lets an origin speak again that an invalidation with ``block`` turned away."""

    origin: Name


class CompactionRequested(Command):
    """Drops versions that memory had stopped believing by ``before``; what was known then cannot be asked any more."""

    before: Instant


class MistakeResolutionRequested(Command):
    id: Id


class ModeChangeRequested(Command):
    mode: Literal["active", "shadow"]


class SwitchRequested(Command):
    generation: Slug


class FeedbackGiven(Event):
    tenant: Tenant
    item_id: Id
    verdict: Literal["used", "helped", "did_not_help", "harmful"]
    who: Name
    request_id: Id | None = None
