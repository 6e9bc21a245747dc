"""Which decisions guard carries out, and which it refuses before it asks any store."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.held import SOURCE, about, decision, item
from tests.records import enveloped
from twiceshy.core.credentials import CommandKind
from twiceshy.core.ids import event_id
from twiceshy.errors import PoisonError
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded
from twiceshy.settings import CredentialSettings, Settings
from twiceshy.stores.connection import connect
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.notes import Progress
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.codec import encode
from twiceshy.stream.records import Record
from twiceshy.stream.signing import Signer
from workers.guard_decisions import GuardDecisionsStage

TENANT = "payments"
DENIED = about(TENANT, "deny", item(1, TENANT))


def stage(**settings: Any) -> GuardDecisionsStage:
    """Its stores are nowhere: nothing here may ask one."""
    redis = connect("redis://127.0.0.1:1")
    configured = Settings(tenants=(TENANT, "search"), **settings)
    return GuardDecisionsStage(configured, Decisions(redis), Quarantine(redis), Progress(redis, "none"))


@pytest.fixture
def credentials(tmp_path: Path) -> dict[str, CredentialSettings]:
    """One that may decide for a tenant, and one that may give other commands there."""
    good_for: dict[str, tuple[CommandKind, ...]] = {"reviewer": ("decide",), "operator": ("alias", "unblock")}
    made = {}
    for name, commands in good_for.items():
        (tmp_path / name).write_text(name * 10)
        made[name] = CredentialSettings(secret=f"file:{tmp_path / name}", tenants=(TENANT,), commands=commands)
    return made


def signed(record: Record, credentials: dict[str, CredentialSettings], name: str) -> Record:
    signer = Signer(Settings(credentials=credentials, credential=name))
    headers = dict(signer.signed(tuple(record.headers.items()), record.value or b""))
    return Record(record.topic, record.partition, record.offset, record.key, record.value, headers, record.timestamp_ms)


def test_decision_is_known_by_what_it_came_as() -> None:
    decoded = stage().decode(decision(DENIED, ce_id="1"))
    assert decoded.event_id == event_id(TENANT, SOURCE, "1", encode(DENIED))
    assert (decoded.decided, decoded.signed_by) == (DENIED, None)


def test_decision_of_someone_whose_name_is_a_secret_is_refused() -> None:
    name = "ghp_" + "a1B2c3D4e5F6" + "g7H8i9J0k1L2" + "m3N4o5P6q7R8"
    with pytest.raises(PoisonError, match="secret_in_key: who holds a secret") as raised:
        stage().decode(decision(DENIED.model_copy(update={"who": name})))
    assert name not in str(raised.value)


def test_decision_in_structured_mode_is_the_event_that_it_is_in_binary_mode() -> None:
    attributes = {"specversion": "1.0", "id": "1", "source": SOURCE, "type": "quarantine.decided.v1"}
    envelope = enveloped(orjson.dumps({**attributes, "data": orjson.loads(encode(DENIED))}))
    assert stage().decode(envelope) == stage().decode(decision(DENIED, ce_id="1"))


def test_decision_takes_a_credential_for_it_once_there_is_any(credentials: dict[str, CredentialSettings]) -> None:
    guarded = stage(credentials=credentials)
    assert guarded.decode(signed(decision(DENIED), credentials, "reviewer")).signed_by == "reviewer"
    for record in (decision(DENIED), signed(decision(DENIED), credentials, "operator")):
        with pytest.raises(PoisonError, match=r"not_allowed: .*decide") as refused:
            guarded.decode(record)
        told = guarded.give_up(record, refused.value)
        outcome = IncidentOutcome.model_validate_json(told[0].value or b"")
        audit = AuditRecorded.model_validate_json(told[1].value or b"")
        assert (outcome.outcome, outcome.reason, audit.kind) == ("dead_lettered", "not_allowed", "refused")


def test_credential_of_one_tenant_decides_nothing_in_another(credentials: dict[str, CredentialSettings]) -> None:
    other = decision(about("search", "approve", item(1, "search")))
    with pytest.raises(PoisonError, match=r"not_allowed: .* may not speak for tenant 'search'"):
        stage(credentials=credentials).decode(signed(other, credentials, "reviewer"))


REFUSED = {
    "schema: Name what is decided on: either items, or a group": decision(about(TENANT, "deny")),
    "schema: why: String should have at most 1000 characters": decision(
        encode(DENIED).replace(b"It was looked at.", b"x" * 1_001)
    ),
    "schema: decision": decision(encode(DENIED).replace(b'"deny"', b'"forget"')),
    "unknown_tenant: There is no tenant 'nobody'": decision(about("nobody", "deny", item(1, "nobody"))),
    "unknown_type: This topic takes quarantine.decided.v1": decision(DENIED, ce_type=b"incident.concluded.v1"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_is_no_decision_is_refused_with_a_sentence(fault: str) -> None:
    with pytest.raises(PoisonError, match=fault):
        stage().decode(REFUSED[fault])
