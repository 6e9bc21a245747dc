"""a quarantined item → guard → memory.log.v1, incidents.quarantined.v1, audit.v1, incidents.outcomes.v1

What is told of an item that is held, that was decided on, or that expired.
"""

from typing import Literal

from twiceshy.core.credentials import UNSIGNED_TRUST_MAX
from twiceshy.core.ids import derive
from twiceshy.core.temporal import effective_revision_time
from twiceshy.events.chain import Admission, EntryLogged
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded, IncidentQuarantined, QuarantineSettlement, QuarantineState
from twiceshy.settings import Settings
from twiceshy.stream.chain import outcome_output, tenant_output
from twiceshy.stream.records import Output
from twiceshy.stream.topics import TOPICS
from workers.entrance import audit_output, stamped

INJECTION = "prompt_injection"
BURST = "burst"

_REJECTED = {
    "deny": ("quarantine_reject", "A person looked at it, and keeps it out of memory."),
    "expire": ("quarantine_expired", "Nobody decided on it in time. It is still listed, and can be reopened."),
}


def released(item: IncidentQuarantined, by: str | None, admitted_at: int, settings: Settings) -> EntryLogged:
    """The entry of an item that was approved: what it would have been, had it been admitted.

    It came when it was held. Were its revision dated by its release, what it says would take the place of all that
    was said of the incident while it waited.
    """
    # An item that does not say how far it was trusted does not say who spoke either.
    trust = min(settings.trust(item.origin), UNSIGNED_TRUST_MAX) if item.trust is None else item.trust
    return EntryLogged(
        event_id=item.event_id,
        tenant=item.tenant,
        kind="incident",
        ce_source=item.ce_source,
        ce_id=item.ce_id,
        revised_at=effective_revision_time(item.time_ms, item.held_at),
        admitted_at=admitted_at,
        settings=stamped(settings, trust),
        admission=Admission(how="released", by=by, signed_by=item.signed_by),
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
    outputs = [told(item, identity), audit_output(audit, identity)]
    if settlement.decision in _REJECTED:
        outputs.append(_outcome(item, "rejected", *_REJECTED[settlement.decision]))
    return outputs


def held(item: IncidentQuarantined, at: int) -> list[Output]:
    """What is told of an item whose event came, at this moment, of which a person may have decided before.

    Of one that was released this tells no outcome: what memory made of its entry, the chain tells.
    """
    rules = [reason.rule for reason in item.reasons]
    audit = AuditRecorded(
        kind=BURST if all(reason.category == BURST for reason in item.reasons) else INJECTION,
        tenant=item.tenant,
        subject_id=item.item_id,
        worker="guard",
        at=at,
        detail={"rules": ", ".join(rules)},
    )
    outputs = [told(item, item.event_id), audit_output(audit, item.event_id)]
    if item.state is QuarantineState.PENDING:
        show = f"twiceshy quarantine show {item.item_id}"
        outputs.append(_outcome(item, "quarantined", rules[0], f"It is held until a person decides on it: {show}"))
    elif item.state is not QuarantineState.RELEASED:
        decision = "deny" if item.state is QuarantineState.REJECTED else "expire"
        outputs.append(_outcome(item, "rejected", *_REJECTED[decision]))
    return outputs


def told(item: IncidentQuarantined, event_id: str) -> Output:
    """An item as it stands."""
    return tenant_output(
        TOPICS.incidents_quarantined,
        item,
        tenant=item.tenant,
        key=item.item_id.encode(),
        event_id=event_id,
        worker="guard",
    )


def _outcome(
    item: IncidentQuarantined, outcome: Literal["quarantined", "rejected"], reason: str, sentence: str
) -> Output:
    made = IncidentOutcome(
        event_id=item.event_id,
        tenant=item.tenant,
        origin=item.origin,
        fingerprint=item.incident.fingerprint,
        outcome=outcome,
        reason=reason,
        detail=sentence,
    )
    return outcome_output(made, "guard")
