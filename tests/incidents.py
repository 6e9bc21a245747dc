"""Incidents made for tests: seeded, various, and valid."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from twiceshy.events.incident import CauseCategory, IncidentConcluded, MistakeCategory

NO_BURSTS = {"max_per_subject": 1_000_000, "max_per_origin": 1_000_000}
"""Settings of guard for tests that publish many incidents alike and are about something else."""

_WHAT = ("times out", "returns 502", "loses writes", "is slow", "restarts", "drops messages", "rejects logins")
_WHY = ("a pool that was too small", "an expired certificate", "a full disk", "a bad deploy", "a network partition")
_SERVICES = ("checkout", "search", "ledger", "mailer", "gateway", "catalogue")
_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


def incident(number: int, tenant: str = "default", **changes: Any) -> IncidentConcluded:
    """The incident of a number: always the same one."""
    chance = random.Random(number)
    service, what, why = (chance.choice(choices) for choices in (_SERVICES, _WHAT, _WHY))
    concluded_at = _BEGINNING + timedelta(minutes=number)
    body: dict[str, Any] = {
        "tenant": tenant,
        "fingerprint": f"test/{number}",
        "title": f"{service} {what} ({number})",
        "summary": f"{service} {what}: users saw errors for {chance.randint(2, 90)} minutes.",
        "concluded_at": concluded_at,
        "started_at": concluded_at - timedelta(minutes=chance.randint(1, 300)),
        "origin": {"name": chance.choice(("pagerduty", "statuspage"))},
        "entities": [
            {"type": "service", "ref": service, "role": "affected"},
            {"type": "change", "ref": f"deploy/{number % 50}", "role": "cause"},
        ],
        "cause": {"category": chance.choice(list(CauseCategory)), "statement": f"It was {why}."},
        "resolution": f"Rolled back deploy {number % 50}.",
        "facts": [
            {
                "subject": f"service:{service}",
                "predicate": "pool_size",
                "object": str(chance.randint(1, 4) * 10),
                "valid_from": concluded_at - timedelta(hours=chance.randint(0, 50)),
            }
        ],
        "steps": [f"kubectl rollout undo deploy/{service}"],
    }
    if chance.random() < 0.3:
        body["mistakes"] = [
            {"category": chance.choice(list(MistakeCategory)), "statement": f"Nothing told us of {why}."}
        ]
    return IncidentConcluded.model_validate(body | changes)
