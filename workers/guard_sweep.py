"""quarantine → guard → incidents.quarantined.v1, audit.v1, incidents.outcomes.v1

Expires what nobody has decided on in time, and says so. What is due stands in quarantine, so that it makes no
difference who sweeps, how many do, or when one last did.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from twiceshy.core.quarantine import expiry_id
from twiceshy.errors import TransientError
from twiceshy.events.quarantine import IncidentQuarantined, QuarantineSettlement
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.quarantine import Due, Quarantine
from twiceshy.stream.records import Output
from workers.entrance import ADMITTED, wall_clock_ms
from workers.guard_settled import settled

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
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self._quarantine = quarantine
        self._decisions = decisions
        self._sender = sender
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
        if due := await self._quarantine.due(self._clock_ms(), SWEPT_MAX):
            await self._expire(due)
        untold = await self._quarantine.untold(SWEPT_MAX)
        if not untold:
            return 0
        await self._sender.send([output for item in untold for output in settled(item, _expiry(item))])
        await self._quarantine.note_told(untold)
        for item in untold:
            log.info("expired", worker="guard", item_id=item.item_id, tenant=item.tenant)
        return len(untold)

    async def _expire(self, due: Sequence[Due]) -> None:
        # In the tenant's one order with what people decide: whichever is earlier there counts.
        asked = [(one.tenant, expiry_id(one.item_id, one.expires_at), ADMITTED) for one in due]
        places = await self._decisions.decide(asked, self._clock_ms())
        await self._quarantine.expire(due, [place.admitted_at for place in places])


def _expiry(item: IncidentQuarantined) -> QuarantineSettlement:
    """The last time that an item expired; it may have been reopened since."""
    return next(one for one in reversed(item.decisions) if one.decision == "expire")
