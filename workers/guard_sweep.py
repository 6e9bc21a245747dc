"""quarantine → guard → incidents.quarantined.v1, audit.v1, incidents.outcomes.v1

Expires what nobody has decided on in time, and says so; tells again what was changed while it was told; puts back a
quarantine that was lost. What is due stands in quarantine, so that it makes no difference who sweeps, how many do, or
when one last did.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

from twiceshy.core.ids import derive
from twiceshy.core.quarantine import changed_at, expiry_id
from twiceshy.errors import PoisonError, TransientError
from twiceshy.events.quarantine import IncidentQuarantined, QuarantineState
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.quarantine import Due, Quarantine
from twiceshy.stream.records import Output
from twiceshy.stream.topics import TOPICS
from workers.entrance import ADMITTED, wall_clock_ms
from workers.guard_settled import settled, told

SWEEP_SECONDS = 2.0
SWEPT_MAX = 100

log = structlog.get_logger()


class Sender(Protocol):
    async def send(self, outputs: Sequence[Output]) -> list[int]: ...


class Sweep:
    def __init__(
        self,
        quarantine: Quarantine,
        decisions: Decisions,
        sender: Sender,
        complete: Callable[[], Awaitable[None]],
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        """``complete`` puts quarantine back where it was lost: nothing of it would ever be due."""
        self._quarantine = quarantine
        self._decisions = decisions
        self._sender = sender
        self._complete = complete
        self._clock_ms = clock_ms

    async def run(self, stopping: asyncio.Event) -> None:
        """Sweeps every few seconds, until ``stopping``."""
        while not stopping.is_set():
            swept = 0
            try:
                swept = await self.sweep()
            except TransientError as error:
                log.warning("waiting", worker="guard", reason=str(error))
            if swept < SWEPT_MAX:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), SWEEP_SECONDS)

    async def sweep(self) -> int:
        """Expires some of what is due, and tells of it; how many items there were to tell of.

        One that dies in between leaves what it has expired for the next one to tell of.

        Raises:
            TransientError: a store or the broker is away.
        """
        await self._complete()
        if due := await self._quarantine.due(self._clock_ms(), SWEPT_MAX):
            await self._expire(due)
        untold = await self._quarantine.untold(SWEPT_MAX)
        if not untold:
            return 0
        for item in untold:
            await self._tell(item)
        await self._quarantine.note_told(untold)
        return len(untold)

    async def _tell(self, item: IncidentQuarantined) -> None:
        # What no broker takes can never be told, and keeps none of the others from it.
        try:
            await self._sender.send(_outputs(item))
        except PoisonError as error:
            log.error("item_untold", worker="guard", item_id=item.item_id, tenant=item.tenant, reason=error.code)
            return
        log.info("item_told", worker="guard", item_id=item.item_id, tenant=item.tenant, state=item.state.value)

    async def _expire(self, due: Sequence[Due]) -> None:
        # In the tenant's one order with what people decide: whichever is earlier there counts.
        asked = [(one.tenant, expiry_id(one.item_id, one.expires_at), ADMITTED) for one in due]
        places = await self._decisions.decide(asked, self._clock_ms())
        await self._quarantine.expire(due, [place.admitted_at for place in places])


def _outputs(item: IncidentQuarantined) -> list[Output]:
    """An item as it stands, with its last expiry of those that it keeps.

    It may have been reopened since: then the expiry is no longer what became of its event.
    """
    expiry = next((one for one in reversed(item.decisions) if one.decision == "expire"), None)
    if expiry is None:
        return [told(item, derive("told", item.item_id, str(changed_at(item))))]
    outputs = settled(item, expiry)
    if item.state is QuarantineState.EXPIRED:
        return outputs
    return [output for output in outputs if output.topic != TOPICS.incidents_outcomes.name]
