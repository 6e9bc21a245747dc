"""a change of a quarantined item → guard → memory.log.v1, incidents.quarantined.v1, audit.v1, incidents.outcomes.v1

What is told of an item that was decided on, or that expired.
"""

from twiceshy.core.ids import derive
from twiceshy.core.temporal import effective_revision_time
from twiceshy.events.chain import Admission, EntryLogged
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded, IncidentQuarantined, QuarantineSettlement
from twiceshy.settings import Settings
from twiceshy.stream.chain import outcome_output, tenant_output
from twiceshy.stream.records import Output
from twiceshy.stream.topics import TOPICS
from workers.entrance import audit_output, stamped

_REJECTED = {
    "deny": ("quarantine_reject", "A person looked at it, and keeps it out of memory."),
    "expire": ("quarantine_expired", "Nobody decided on it in time. It is still listed, and can be reopened."),
}


def released(item: IncidentQuarantined, by: str | None, admitted_at: int, settings: Settings) -> EntryLogged:
    """The entry of an item that was approved: what it would have been, had it been admitted.

    It came when it was held. Were its revision dated by its release, what it says would take the place of all that
    was said of the incident while it waited.
    """
    trust = settings.trust(item.origin) if item.trust is None else item.trust
    return EntryLogged(
        event_id=item.event_id,
        tenant=item.tenant,
        kind="incident",
        ce_source=item.ce_source,
        ce_id=item.ce_id,
        revised_at=effective_revision_time(item.time_ms, item.held_at),
        admitted_at=admitted_at,
        settings=stamped(settings, trust),
        admission=Admission(how="released", by=by),
        masked=item.masked,
        risky=item.risky,
        content_hash=item.content_hash,
        backfill=item.backfill,
        incident=item.incident,
    )


def by(who: str | None, signed_by: str | None) -> dict[str, str]:
    """Who decided, for the audit: the name that was told, and the credential, which is proved."""
    told = {"who": who, "credential": signed_by}
    return {name: value for name, value in told.items() if value is not None}


def settled(item: IncidentQuarantined, settlement: QuarantineSettlement, signed_by: str | None = None) -> list[Output]:
    """What is told of a change of an item, which may have been changed again since: the item as it stands.

    ``signed_by`` is the credential that the decision was signed with.
    """
    identity = derive("settled", item.item_id, settlement.event_id)
    detail = {"decision": settlement.decision, "decision_id": settlement.event_id, "origin": item.origin}
    audit = AuditRecorded(
        kind="expiry" if settlement.decision == "expire" else "decision",
        tenant=item.tenant,
        subject_id=item.item_id,
        worker="guard",
        at=settlement.at,
        detail={**detail, **by(settlement.who, signed_by)},
    )
    outputs = [
        tenant_output(
            TOPICS.incidents_quarantined,
            item,
            tenant=item.tenant,
            key=item.item_id.encode(),
            event_id=identity,
            worker="guard",
        ),
        audit_output(audit, identity),
    ]
    if settlement.decision in _REJECTED:
        reason, sentence = _REJECTED[settlement.decision]
        outcome = IncidentOutcome(
            event_id=item.event_id,
            tenant=item.tenant,
            origin=item.origin,
            fingerprint=item.incident.fingerprint,
            outcome="rejected",
            reason=reason,
            detail=sentence,
        )
        outputs.append(outcome_output(outcome, "guard"))
    return outputs
