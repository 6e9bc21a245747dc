"""Giving operators' commands: aliases, supersessions, purges and what else corrects a memory."""

from datetime import datetime

from twiceshy.client.connected import Giving
from twiceshy.events.commands import (
    AliasRequested,
    Command,
    CompactionRequested,
    MistakeResolutionRequested,
    OriginInvalidationRequested,
    SupersedeRequested,
    SwitchRequested,
    UnaliasRequested,
    UnblockRequested,
)
from twiceshy.events.incident import IncidentRef
from twiceshy.settings import Settings
from twiceshy.stream.topics import TOPICS

SOURCE = "twiceshy/commands"


class MemoryCommands(Giving):
    """Gives commands. An async context: inside, it is connected.

    Each method returns the command's event id, once the broker has it on all replicas; what came of it is told by
    `OutcomeFollower` under that id (``applied``, or ``rejected`` with a reason). ``who`` asks, and ``why``, is kept in
    the log. The same command twice is two commands, unless both have the same ``command_id``: then the second changes
    nothing and has the first one's outcome, so that a command can be given again safely. Where the settings name a
    ``credential``, commands are signed with it; guard takes no unsigned one once it knows any credential.

    Raises, all of them:
        ValidationError: a field is not what the command's schema says.
        TransientError: the broker did not acknowledge it in time. Give it again, with the same ``command_id``.
    """

    def __init__(self, settings: Settings | None = None, *, client_id: str = "twiceshy-commands") -> None:
        super().__init__(settings, client_id, topic=TOPICS.memory_commands, source=SOURCE)

    async def alias(
        self, *, tenant: str, canonical: str, alias: str, who: str, why: str, command_id: str | None = None
    ) -> str:
        """Makes ``alias`` another name of ``canonical``: a name, or a type and a name (``service:payments``)."""
        command = AliasRequested(tenant=tenant, canonical=canonical, alias=alias, who=who, why=why)
        return await self.give(command, command_id=command_id)

    async def unalias(
        self, *, tenant: str, canonical: str, alias: str, who: str, why: str, command_id: str | None = None
    ) -> str:
        """Undoes an alias: both are names of their own again, and what was said of each is as it was said."""
        command = UnaliasRequested(tenant=tenant, canonical=canonical, alias=alias, who=who, why=why)
        return await self.give(command, command_id=command_id)

    async def supersede(
        self,
        *,
        tenant: str,
        incident: IncidentRef,
        by: IncidentRef,
        at: datetime,
        who: str,
        why: str,
        command_id: str | None = None,
    ) -> str:
        """Says that from ``at`` on ``incident`` no longer holds: ``by`` has taken its place."""
        command = SupersedeRequested(tenant=tenant, incident=incident, by=by, at=at, who=who, why=why)
        return await self.give(command, command_id=command_id)

    async def invalidate_by_origin(
        self,
        *,
        tenant: str,
        origin: str,
        who: str,
        why: str,
        since: datetime | None = None,
        block: bool = False,
        command_id: str | None = None,
    ) -> str:
        """Takes away what ``origin`` has said, or what memory learned of it from ``since`` on; with ``block`` its
        later incidents are turned away too."""
        command = OriginInvalidationRequested(tenant=tenant, origin=origin, since=since, block=block, who=who, why=why)
        return await self.give(command, command_id=command_id)

    async def unblock(self, *, tenant: str, origin: str, who: str, why: str, command_id: str | None = None) -> str:
        """Lets an origin speak again that was blocked. What was taken away stays so."""
        return await self.give(UnblockRequested(tenant=tenant, origin=origin, who=who, why=why), command_id=command_id)

    async def compact(self, *, tenant: str, before: datetime, who: str, why: str, command_id: str | None = None) -> str:
        """Drops versions that memory had stopped believing by ``before``: what was known then cannot be asked after."""
        command = CompactionRequested(tenant=tenant, before=before, who=who, why=why)
        return await self.give(command, command_id=command_id)

    async def resolve(self, *, tenant: str, mistake_id: str, who: str, why: str, command_id: str | None = None) -> str:
        """Closes an open mistake, by the id that recall gives it: it no longer makes a rule."""
        command = MistakeResolutionRequested(tenant=tenant, id=mistake_id, who=who, why=why)
        return await self.give(command, command_id=command_id)

    async def switch(self, *, tenant: str, generation: str, who: str, why: str, command_id: str | None = None) -> str:
        """Makes ``generation``, a build of the tenant's memory, the one that is used."""
        command = SwitchRequested(tenant=tenant, generation=generation, who=who, why=why)
        return await self.give(command, command_id=command_id)

    async def give(self, command: Command, *, command_id: str | None = None, traceparent: str | None = None) -> str:
        """Gives a command of any kind. ``traceparent`` is the W3C trace context of the caller."""
        return await self._given(command, command_id, traceparent)
