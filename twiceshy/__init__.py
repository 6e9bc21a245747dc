"""Twiceshy: a memory for incidents, built on Kafka.

from twiceshy import IncidentPublisher, RecallClient
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twiceshy.client import (
        IncidentPublisher,
        MemoryCommands,
        OutcomeFollower,
        QuarantineDecisions,
        RecallClient,
        RecallTimeoutError,
        render,
    )

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
    # The client brings a Kafka library with it, for which `twiceshy --help` has no use.
    if name in __all__:
        from twiceshy import client

        return getattr(client, name)
    raise AttributeError(f"module 'twiceshy' has no attribute {name!r}")
