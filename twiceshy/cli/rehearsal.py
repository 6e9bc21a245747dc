"""What would become of records, as far as it can be told without sending them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from twiceshy.cli.lines import Line, Refused
from twiceshy.core.scan import scan
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import IncidentConcluded
from twiceshy.settings import Settings
from workers.entrance import AHEAD_MS_MAX


@dataclass(slots=True)
class Rehearsal:
    """Every record is counted in ``ready`` or is in one of the lists. ``repeated`` are those of the ready ones that
    name an incident as one before them does: they would be corrections of it."""

    ready: int = 0
    repeated: int = 0
    held: list[Refused] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


def rehearse(records: Iterable[Line | Refused], settings: Settings, *, now_ms: int) -> Rehearsal:
    """Reads all ``records`` and looks at each as guard would."""
    told = Rehearsal()
    seen: set[tuple[str, str, str]] = set()
    for record in records:
        if isinstance(record, Refused):
            told.refused.append(record)
        elif reason := _refusal(record.incident, settings, now_ms):
            told.refused.append(Refused(record.number, reason, record.file))
        elif findings := scan(record.incident).findings:
            reason = f"{findings[0].where or 'the event'}: {findings[0].rule} would be held back for a person to decide"
            told.held.append(Refused(record.number, reason, record.file))
        else:
            told.ready += 1
            key = (record.incident.tenant, record.incident.origin.name, record.incident.fingerprint)
            told.repeated += key in seen
            seen.add(key)
    return told


def _refusal(incident: IncidentConcluded, settings: Settings, now_ms: int) -> str | None:
    if incident.tenant not in settings.tenants:
        return f"tenant: there is none that is {incident.tenant!r}: the tenants are {', '.join(settings.tenants)}"
    if milliseconds(incident.concluded_at) > now_ms + AHEAD_MS_MAX:
        return "concluded_at: it is more than 24 h ahead of the clock"
    return None
