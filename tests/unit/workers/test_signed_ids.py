"""A signed event and a copy of it without the signature are two events, wherever an event is known by its id."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.held import SOURCE as DECIDER
from tests.held import about, decision, item
from tests.incidents import incident
from tests.records import NOW, SOURCE, Clock, body, command_record, record, signed, structured
from twiceshy.client.publisher import publication
from twiceshy.core.ids import event_id
from twiceshy.errors import PoisonError
from twiceshy.events.commands import AliasRequested
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.settings import Settings
from twiceshy.stores.connection import connect
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.notes import Progress
from twiceshy.stores.quarantine import Quarantine
from twiceshy.stream.codec import encode
from twiceshy.stream.records import Record
from twiceshy.stream.signing import SIGNATURE_HEADER, Signer
from workers.entrance import wall_clock_ms
from workers.guard import GuardStage
from workers.guard_commands import GuardCommandsStage
from workers.guard_decisions import GuardDecisionsStage

TENANT = "payments"
SECRET = b"s" * 32
SAID = incident(1, TENANT, origin={"name": "pagerduty"})
ALIAS = AliasRequested(tenant=TENANT, canonical="a", alias="b", who="ada", why="One service.")
DENIED = about(TENANT, "deny", item(1, TENANT))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "all.key").write_bytes(SECRET)
    told = {"secret": f"file:{tmp_path}/all.key", "tenants": "*", "origins": "*", "commands": "*"}
    return Settings.model_validate({"tenants": (TENANT,), "credentials": {"all": told}, "credential": "all"})


def guard(settings: Settings, clock_ms: Callable[[], int] | None = None) -> GuardStage:
    """Its stores are nowhere: nothing here may ask one."""
    redis = connect("redis://127.0.0.1:1")

    async def log_end(partition: int) -> int:
        raise AssertionError

    stores = (Decisions(redis), Quarantine(redis), Progress(redis, "none"))
    return GuardStage(settings, *stores, log_end, backfill=False, clock_ms=clock_ms or Clock())


def refused(stage: Any, came: Record) -> IncidentOutcome:
    with pytest.raises(PoisonError) as raised:
        stage.decode(came)
    told = stage.give_up(came, raised.value)
    return IncidentOutcome.model_validate_json(told[0].value or b"")


@pytest.mark.parametrize("mode", [record, structured])
def test_copy_of_a_signed_incident_without_its_signature_is_another_event(
    settings: Settings, mode: Callable[..., Record]
) -> None:
    vouched, copied = (guard(settings).decode(came) for came in (signed(mode(SAID), "all", SECRET), mode(SAID)))
    assert vouched.event_id == event_id(TENANT, SOURCE, "1", encode(SAID), signed=True)
    assert copied.event_id == event_id(TENANT, SOURCE, "1", encode(SAID))
    assert (vouched.incident.origin.name, copied.incident.origin.name) == ("pagerduty", "unsigned/pagerduty")


def test_credential_may_be_replaced_and_its_events_keep_their_ids(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "new.key").write_bytes(b"n" * 32)
    told = {"secret": f"file:{tmp_path}/new.key", "previous": [f"file:{tmp_path}/all.key"]}
    changed = settings.credentials["all"].model_copy(update=told)
    rotated = guard(settings.model_copy(update={"credentials": {"all": changed}}))
    by_both = {rotated.decode(signed(record(SAID), "all", secret, NOW)).event_id for secret in (SECRET, b"n" * 32)}
    assert by_both == {event_id(TENANT, SOURCE, "1", encode(SAID), signed=True)}


def test_command_and_decision_are_other_ones_signed_than_unsigned(settings: Settings) -> None:
    redis = connect("redis://127.0.0.1:1")
    decisions, progress = Decisions(redis), Progress(redis, "none")
    nobody = settings.model_copy(update={"credentials": {}})
    for made, signing in ((settings, True), (nobody, False)):
        commands = GuardCommandsStage(made, decisions, progress, clock_ms=Clock())
        deciding = GuardDecisionsStage(made, decisions, Quarantine(redis), progress, clock_ms=Clock())
        asked, decided = command_record(ALIAS), decision(DENIED, ce_id="1")
        if signing:
            asked, decided = (signed(one, "all", SECRET) for one in (asked, decided))
        assert commands.decode(asked).event_id == event_id(TENANT, SOURCE, "1", encode(ALIAS), signed=signing)
        assert deciding.decode(decided).event_id == event_id(TENANT, DECIDER, "1", encode(DENIED), signed=signing)


def test_outcome_of_a_signed_event_that_is_refused_has_the_id_that_its_publisher_waits_for(settings: Settings) -> None:
    value = body(TENANT, title="")
    waited_for = event_id(TENANT, SOURCE, "1", value, signed=True)
    in_binary = signed(record(value), "all", SECRET)
    beside = structured(value)
    beside = replace(beside, headers={**beside.headers, SIGNATURE_HEADER: in_binary.headers[SIGNATURE_HEADER]})
    for came in (in_binary, signed(structured(value), "all", SECRET), beside, signed(record(value), "all", b"x" * 32)):
        assert refused(guard(settings), came).event_id == waited_for
    assert refused(guard(settings), record(value)).event_id == event_id(TENANT, SOURCE, "1", value)


@pytest.mark.parametrize("credential", ["all", None])
def test_publisher_waits_for_the_id_that_guard_gives(settings: Settings, credential: str | None) -> None:
    signer = Signer(settings.model_copy(update={"credential": credential}))
    waited_for, output = publication(SAID, signer, changed_at=None, backfill=False)
    came = Record(output.topic, output.partition, 0, output.key, output.value, dict(output.headers), NOW)
    # Whoever publishes signs by the machine's clock, which is not that of the tests.
    assert guard(settings, wall_clock_ms).decode(came).event_id == waited_for
    assert (SIGNATURE_HEADER in came.headers) is (credential is not None)


def test_event_of_an_unknown_tenant_is_told_so_whoever_sends_it(settings: Settings) -> None:
    strict = settings.model_copy(update={"unsigned": ()})
    other = incident(1, "paymnets", origin={"name": "pagerduty"})
    assert refused(guard(strict), record(other)).reason == "unknown_tenant"
    assert refused(guard(strict), record(SAID)).reason == "not_allowed"
    redis = connect("redis://127.0.0.1:1")
    commands = GuardCommandsStage(settings, Decisions(redis), Progress(redis, "none"), clock_ms=Clock())
    misspelt = orjson.dumps({**orjson.loads(encode(ALIAS)), "tenant": "paymnets"})
    assert refused(commands, command_record(misspelt)).reason == "unknown_tenant"
    assert refused(commands, command_record(ALIAS)).reason == "not_allowed"
