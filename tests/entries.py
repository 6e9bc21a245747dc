"""Entries of the log made for tests, as guard writes them."""

from collections.abc import Sequence
from typing import Any

from twiceshy.core.ids import event_id
from twiceshy.core.temporal import effective_revision_time
from twiceshy.events.chain import Admission, EntryLogged, LogPosition, StampedSettings
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stream.codec import encode
from workers.graph import Logged
from workers.guard import content_hash

SOURCE = "tests"


def entry(
    said: IncidentConcluded,
    admitted_at: int,
    *,
    ce_id: str = "1",
    ce_time: int | None = None,
    signed_by: str | None = None,
    **stamped: Any,
) -> EntryLogged:
    """The entry of an incident's event; ``stamped`` are settings."""
    return EntryLogged(
        event_id=event_id(said.tenant, SOURCE, ce_id, encode(said), signed=signed_by is not None),
        tenant=said.tenant,
        kind="incident",
        ce_source=SOURCE,
        ce_id=ce_id,
        revised_at=effective_revision_time(ce_time, admitted_at),
        admitted_at=admitted_at,
        settings=StampedSettings(**{"origin_trust": 0.3, **stamped}),
        admission=Admission(how="clean", signed_by=signed_by),
        content_hash=content_hash(said),
        incident=said,
    )


def placed(entries: Sequence[EntryLogged], first: int = 0) -> list[Logged]:
    """Entries at consecutive places of the log."""
    return [
        Logged(logged, LogPosition(partition=0, offset=number, key=f"{logged.event_id}/{number}"))
        for number, logged in enumerate(entries, start=first)
    ]
