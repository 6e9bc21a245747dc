"""What alerting and agents import: publish incidents, follow what becomes of them, ask the memory."""

from twiceshy.client.outcomes import OutcomeFollower
from twiceshy.client.publisher import IncidentPublisher
from twiceshy.client.recall import RecallClient, RecallTimeoutError

__all__ = ["IncidentPublisher", "OutcomeFollower", "RecallClient", "RecallTimeoutError"]
