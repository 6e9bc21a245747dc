"""incident.outcome.v1: what became of an event."""

from typing import Annotated, Literal

from pydantic import Field

from twiceshy.events.common import Event, Id, Instant, Name, Slug, Tenant, Text


class IncidentOutcome(Event):
    """Published by guard for what it holds or refuses, by whoever dead-letters, else by embed.

    Consumers drop repeats by (event_id, outcome).
    """

    event_id: Id
    tenant: Tenant | None
    origin: Name | None = None
    fingerprint: Name | None = None
    outcome: Literal[
        "remembered",
        "reaffirmed",
        "corrected",
        "stale",
        "applied",
        "passed",
        "quarantined",
        "rejected",
        "dead_lettered",
    ]
    current: bool = False
    known_at: Instant | None = None
    vector: Annotated[bool | None, Field(description="false: found by its words alone, for now")] = None
    reason: Annotated[Slug | None, Field(description="a code, for what was not remembered")] = None
    detail: Text | None = None
    skipped: tuple[Slug, ...] = ()
    counts: Annotated[dict[Slug, int], Field(description="what a command did, in numbers")] = {}
    took_ms: dict[Slug, float] = {}
