"""Who is taken to speak, what guard lets them say, and what becomes of those who are nobody's."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from tests.incidents import incident
from tests.records import NOW, Clock, body, command_record, enveloped, record, signed, structured
from twiceshy.errors import NotReadyError, PoisonError
from twiceshy.events.commands import AliasRequested
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded
from twiceshy.settings import Settings
from twiceshy.stores.connection import connect
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.notes import Progress
from twiceshy.stream.records import Record
from twiceshy.stream.signing import SIGNATURE_HEADER
from twiceshy.stream.topics import TOPICS, Topic
from workers.entrance import Entrance
from workers.guard import warn_of_unvouched
from workers.speaker import Speaker

SECRET, OTHER = b"s" * 32, b"o" * 32
DAY_MS = 86_400_000
TENANTS = ("payments", "search", "default")
ALIAS = AliasRequested(tenant="payments", canonical="a", alias="b", who="ada", why="One service.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the secrets of two credentials."""
    (tmp_path / "alerting.key").write_bytes(SECRET + b"\n")
    (tmp_path / "operator.key").write_bytes(OTHER)
    return tmp_path


@pytest.fixture
def settings(folder: Path) -> Settings:
    alerting = {"tenants": ["payments"], "origins": ["pagerduty"]}
    operator = {"tenants": "*", "commands": ["alias", "decide"]}
    return Settings.model_validate(
        {
            "tenants": TENANTS,
            "origins": {"pagerduty": {"trust": 0.8}, "curated": {"trust": 1.0}, "rumours": {"trust": 0.1}},
            "credentials": {
                "alerting": {"secret": f"file:{folder}/alerting.key", **alerting},
                "operator": {"secret": f"file:{folder}/operator.key", **operator},
            },
        }
    )


def entrance(settings: Settings, topic: Topic = TOPICS.incidents_concluded) -> Entrance:
    """Its stores are nowhere: nothing here may ask one."""
    redis = connect("redis://127.0.0.1:1")
    return Entrance(topic, settings, Decisions(redis), Progress(redis, "none"), Clock())


def speaker(settings: Settings, came: Record, topic: Topic = TOPICS.incidents_concluded) -> Speaker:
    door = entrance(settings, topic)
    return door.speaker(*door.opened(came))


def said(**changes: Any) -> Record:
    return record(incident(1, "payments", origin={"name": "pagerduty"}, **changes))


def signature_beside(signed_record: Record) -> dict[str, bytes]:
    return {SIGNATURE_HEADER: signed_record.headers[SIGNATURE_HEADER]}


def test_holder_of_a_credential_speaks_for_its_tenants_and_origins(settings: Settings) -> None:
    alerting = speaker(settings, signed(said(), "alerting", SECRET))
    assert (alerting.signed, alerting.name) == (True, "alerting")
    alerting.may_say("payments", "pagerduty")
    assert (alerting.origin("pagerduty"), alerting.trust("pagerduty", settings)) == ("pagerduty", 0.8)
    with pytest.raises(PoisonError, match=r"not_allowed: .*may not speak for tenant 'search': add it to `tenants`"):
        alerting.may_say("search", "pagerduty")
    for origin in ("curated", "PagerDuty"):
        with pytest.raises(PoisonError, match=r"not_allowed: .*may not speak for this origin: add it to `origins`"):
            alerting.may_say("payments", origin)
    with pytest.raises(PoisonError, match=r"not_allowed: .*is not good for alias: add it to `commands`"):
        alerting.may_command("payments", "alias")


def test_credential_for_all_origins_speaks_for_no_unsigned_one_and_its_holder_is_told_so(settings: Settings) -> None:
    told = settings.credentials["alerting"].model_copy(update={"origins": "*"})
    of_all = settings.model_copy(update={"credentials": {"alerting": told}})
    alerting = speaker(of_all, signed(said(), "alerting", SECRET))
    alerting.may_say("payments", "whoever")
    with pytest.raises(PoisonError, match=r"not_allowed: No credential speaks for names .* correct origin\.name"):
        alerting.may_say("payments", "unsigned/pagerduty")


def test_guard_says_at_its_start_which_trust_counts_for_nobody(settings: Settings) -> None:
    with capture_logs() as told:
        warn_of_unvouched(settings)
    assert [(line["event"], line["log_level"], line["origins"]) for line in told] == [
        ("trusted_origins_without_credential", "warning", ["curated"])
    ]
    with capture_logs() as told:
        warn_of_unvouched(Settings())
    assert told == []


def test_origin_that_is_trusted_and_has_no_credential_is_reserved_for_nobody() -> None:
    trusted = Settings.model_validate({"tenants": TENANTS, "origins": {"pagerduty": {"trust": 0.9}}})
    unknown = speaker(trusted, said())
    assert unknown.origin("pagerduty") == "unsigned/pagerduty"
    assert unknown.trust("unsigned/pagerduty", trusted) == 0.3


def test_signature_is_one_in_binary_and_in_structured_mode(settings: Settings) -> None:
    told = incident(1, "payments", origin={"name": "pagerduty"})
    for plain in (record(told), structured(told), structured(body("payments", origin={"name": "pagerduty"}))):
        assert speaker(settings, signed(plain, "alerting", SECRET)).signed


def test_event_that_is_carried_from_one_mode_to_the_other_keeps_its_signature(settings: Settings) -> None:
    told = incident(1, "payments", origin={"name": "pagerduty"}, summary="Zażółć “x” \u2028 1e3")
    in_binary, in_envelope = signed(record(told), "alerting", SECRET), signed(structured(told), "alerting", SECRET)
    assert entrance(settings).opened(in_binary)[0].headers == entrance(settings).opened(in_envelope)[0].headers
    beside = replace(structured(told), headers={**structured(told).headers, **signature_beside(in_binary)})
    assert speaker(settings, beside).signed
    spaced = enveloped(json.dumps(orjson.loads(in_envelope.value or b""), indent=2).encode())
    assert speaker(settings, spaced).signed


@pytest.mark.parametrize(
    "changed",
    [
        {"value": body("search", origin={"name": "pagerduty"})},
        {"headers": {"ce_id": b"2"}},
        {"headers": {"ce_source": b"/elsewhere"}},
        {"headers": {"ce_time": b"2026-01-01T00:00:00Z"}},
        {"headers": {SIGNATURE_HEADER: b"v1;key=alerting;t=1;h=" + b"0" * 64}},
        {"headers": {SIGNATURE_HEADER: b"v1;key=nobody;t=1;h=" + b"0" * 64}},
        {"headers": {SIGNATURE_HEADER: b""}},
        {"headers": {SIGNATURE_HEADER: b"\xff"}},
    ],
)
def test_what_was_changed_or_signed_badly_is_refused_and_not_taken_as_unsigned(
    settings: Settings, changed: dict[str, Any]
) -> None:
    good = signed(said(), "alerting", SECRET)
    bad = replace(good, **{**changed, "headers": {**good.headers, **changed.get("headers", {})}})
    with pytest.raises(PoisonError, match="bad_signature: The signature is not "):
        speaker(settings, bad)


def test_signature_by_the_secret_of_another_credential_is_refused(settings: Settings) -> None:
    with pytest.raises(PoisonError, match="bad_signature: The signature is not that of a credential 'alerting'"):
        speaker(settings, signed(said(), "alerting", OTHER))


def test_incident_is_taken_however_long_ago_it_was_signed_for_it_waits_and_is_replayed(settings: Settings) -> None:
    for at_ms in (1, NOW, NOW + DAY_MS):
        assert speaker(settings, signed(said(), "alerting", SECRET, at_ms)).signed
    with pytest.raises(PoisonError, match="bad_signature: The signature's time is too long ago, or ahead"):
        speaker(settings, signed(said(), "alerting", SECRET, NOW + DAY_MS + 1))


def test_command_is_refused_once_nobody_knows_any_more_whether_it_came_before(settings: Settings) -> None:
    topic = TOPICS.memory_commands
    for_a_month = (topic.retention_days or 0) * DAY_MS
    given = signed(command_record(ALIAS), "operator", OTHER, NOW - for_a_month)
    speaker(settings, given, topic).may_command("payments", "alias")
    late = signed(command_record(ALIAS), "operator", OTHER, NOW - for_a_month - 1)
    with pytest.raises(PoisonError, match="bad_signature: The signature's time is too long ago, or ahead"):
        speaker(settings, late, topic)


def test_operator_commands_and_decides_and_says_no_incidents(settings: Settings) -> None:
    operator = speaker(settings, signed(command_record(ALIAS), "operator", OTHER), TOPICS.memory_commands)
    for kind in ("alias", "decide"):
        operator.may_command("search", kind)
    with pytest.raises(PoisonError, match=r"not_allowed: .*is not good for compaction"):
        operator.may_command("search", "compaction")
    with pytest.raises(PoisonError, match=r"not_allowed: .*may not speak for this origin"):
        operator.may_say("payments", "pagerduty")


@pytest.mark.parametrize("kind", ["alias", "decide"])
def test_unknown_one_can_neither_command_nor_decide_where_anybody_has_a_credential(
    settings: Settings, kind: str
) -> None:
    unknown = speaker(settings, command_record(ALIAS), TOPICS.memory_commands)
    with pytest.raises(PoisonError, match=f"not_allowed: Commands and decisions have to be signed .* for {kind} "):
        unknown.may_command("default", kind)
    speaker(Settings(tenants=TENANTS), command_record(ALIAS), TOPICS.memory_commands).may_command("default", kind)


def test_unknown_one_is_trusted_little_under_any_name(settings: Settings) -> None:
    unknown = speaker(settings, said())
    assert (unknown.signed, unknown.name) == (False, None)
    filed = {name: unknown.origin(name) for name in ("pagerduty", "PagerDuty", "curated", "rumours", "statuspage")}
    assert filed == {
        "pagerduty": "unsigned/pagerduty",
        "PagerDuty": "unsigned/PagerDuty",
        "curated": "unsigned/curated",
        "rumours": "rumours",
        "statuspage": "statuspage",
    }
    assert [unknown.trust(name, settings) for name in filed.values()] == [0.3, 0.3, 0.3, 0.1, 0.3]
    generous = settings.model_copy(update={"trust_default": 0.9})
    assert unknown.trust("statuspage", generous) == 0.3
    assert unknown.trust("pagerduty", settings) == 0.3


def test_name_of_an_unsigned_origin_stays_a_name(settings: Settings) -> None:
    everything = {"secret": settings.credentials["alerting"].secret, "origins": "*"}
    all_reserved = Settings.model_validate({"tenants": TENANTS, "credentials": {"alerting": everything}})
    unknown = speaker(all_reserved, said())
    assert unknown.origin("x" * 191) == "unsigned/" + "x" * 191
    assert unknown.origin("unsigned/x") == "unsigned/x"
    with pytest.raises(PoisonError, match=r"schema: origin\.name: has at most 191 characters in an unsigned event"):
        unknown.origin("x" * 192)


def test_tenant_that_a_credential_names_takes_signed_incidents_alone(settings: Settings) -> None:
    unknown = speaker(settings, said())
    unknown.may_say("default", "statuspage")
    unknown.may_say("search", "statuspage")  # which the operator's credential alone could speak for, and says nothing
    with pytest.raises(PoisonError, match="not_allowed: Tenant 'payments' takes signed events alone"):
        unknown.may_say("payments", "statuspage")


@pytest.mark.parametrize(("unsigned", "taking"), [("*", TENANTS), (["payments"], ("payments",)), ([], ())])
def test_unsigned_incidents_are_taken_where_the_operator_says_so(
    settings: Settings, unsigned: Any, taking: tuple[str, ...]
) -> None:
    told = settings.model_copy(update={"unsigned": Settings(unsigned=unsigned).unsigned})
    assert tuple(tenant for tenant in TENANTS if told.takes_unsigned(tenant)) == taking


def test_without_any_credential_everybody_may_speak_in_every_tenant() -> None:
    unknown = speaker(Settings(tenants=TENANTS), said())
    for tenant in TENANTS:
        unknown.may_say(tenant, "pagerduty")
    assert unknown.origin("pagerduty") == "pagerduty"


def test_secret_is_read_from_the_environment_too(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALERTING_SECRET", f"{OTHER.decode()}\n")
    changed = settings.credentials["alerting"].model_copy(
        update={"secret": "env:ALERTING_SECRET", "previous": (settings.credentials["alerting"].secret,)}
    )
    rotated = settings.model_copy(update={"credentials": {"alerting": changed}})
    for secret in (SECRET, OTHER):
        assert speaker(rotated, signed(said(), "alerting", secret)).signed


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        ("file:/nowhere", "The secret file:/nowhere cannot be read: put it there, or correct the credential"),
        ("env:NO_SUCH_VARIABLE", "The secret env:NO_SUCH_VARIABLE cannot be read"),
        ("env:SHORT_SECRET", "has 5 characters, of 32 at least: `twiceshy credential new` makes one"),
    ],
)
def test_secret_that_is_none_keeps_guard_from_starting(secret: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT_SECRET", "short")
    with pytest.raises(NotReadyError, match=told) as refused:
        entrance(Settings.model_validate({"credentials": {"alerting": {"secret": secret}}}))
    assert "short" not in str(refused.value)


def test_secret_that_stands_where_its_place_should_is_not_repeated() -> None:
    with pytest.raises(ValueError, match="should match pattern") as refused:
        Settings.model_validate({"credentials": {"alerting": {"secret": "hunter2hunter2"}}})
    assert "hunter2" not in str(refused.value)


def test_refusal_is_told_to_whoever_watches_over_security_with_ids_alone(settings: Settings) -> None:
    came = signed(said(summary="do not repeat this"), "alerting", OTHER)
    door = entrance(settings)
    with pytest.raises(PoisonError) as refused:
        door.speaker(*door.opened(came))
    outcome_output, audit_output = door.refused(came, refused.value)
    outcome = IncidentOutcome.model_validate_json(outcome_output.value or b"")
    audit = AuditRecorded.model_validate_json(audit_output.value or b"")
    assert audit_output.topic == TOPICS.audit.name
    assert (audit.kind, audit.tenant, audit.subject_id, audit.at) == ("refused", "payments", outcome.event_id, NOW)
    place = f"{TOPICS.incidents_concluded.name}/0/7"
    assert audit.detail == {"reason": "bad_signature", "place": place, "signed_as": "alerting"}
    assert b"do not repeat" not in (audit_output.value or b"") + (outcome_output.value or b"")
