"""What alerting, agents and operators import: publish incidents, follow what becomes of them, ask and correct."""

from twiceshy.client.commands import MemoryCommands
from twiceshy.client.outcomes import OutcomeFollower
from twiceshy.client.prompt import render
from twiceshy.client.publisher import IncidentPublisher
from twiceshy.client.quarantine import QuarantineDecisions
from twiceshy.client.recall import RecallClient, RecallTimeoutError

__all__ = [
    "IncidentPublisher",
    "MemoryCommands",
    "OutcomeFollower",
    "QuarantineDecisions",
    "RecallClient",
    "RecallTimeoutError",
    "render",
]
