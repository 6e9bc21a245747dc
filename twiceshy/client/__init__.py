"""What alerting, agents and operators import: publish incidents, follow what becomes of them, ask and correct."""

from typing import TYPE_CHECKING, Any

from twiceshy.client.commands import MemoryCommands
from twiceshy.client.outcomes import OutcomeFollower
from twiceshy.client.publisher import IncidentPublisher
from twiceshy.client.quarantine import QuarantineDecisions
from twiceshy.client.recall import RecallClient, RecallTimeoutError

if TYPE_CHECKING:
    from twiceshy.client.prompt import render

__all__ = [
    "IncidentPublisher",
    "MemoryCommands",
    "OutcomeFollower",
    "QuarantineDecisions",
    "RecallClient",
    "RecallTimeoutError",
    "render",
]


def __getattr__(name: str) -> Any:
    # It brings every rule of redaction with it, for which whoever publishes or asks has no use.
    if name == "render":
        from twiceshy.client.prompt import render

        return render
    raise AttributeError(f"module 'twiceshy.client' has no attribute {name!r}")
