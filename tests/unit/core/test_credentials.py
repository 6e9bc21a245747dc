"""What a signature is over, whose it is, and which names of origins nobody has without one."""

import hmac
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core.credentials import (
    COMMAND_KINDS,
    Credential,
    Reserved,
    Said,
    Signature,
    covers,
    parse,
    sign,
    speaks,
)
from twiceshy.stream.topics import TOPICS

SECRET = b"0123456789abcdef0123456789abcdef"
SAID = Said(
    type=b"incident.concluded.v1",
    source=b"/pagerduty",
    id=b"1",
    time=b"2026-11-02T04:02:00Z",
    tenant="payments",
    origin="pagerduty",
    body=b'{"tenant":"payments"}',
)
ALERTING = Credential("alerting", (SECRET,))
SAIDS = st.builds(
    Said, *[st.binary(max_size=5)] * 4, *[st.text(max_size=3)] * 2, st.binary(max_size=9)
)  # fmt: skip
KEYS = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
TIMES = st.integers(0, 4_102_444_800_000)


def signature_of(said: Said, credential: Credential = ALERTING, at_ms: int = 1) -> Signature:
    signature = parse(sign(credential.id, credential.secrets[0], said, at_ms))
    assert signature is not None
    return signature


def test_signature_is_that_of_the_published_recipe() -> None:
    message = (
        b"2:v1,8:alerting,13:1800000000000,21:incident.concluded.v1,10:/pagerduty,1:1,20:2026-11-02T04:02:00Z,"
        b'8:payments,9:pagerduty,21:{"tenant":"payments"},'
    )
    digest = hmac.digest(SECRET, message, "sha256").hex()
    assert sign("alerting", SECRET, SAID, 1_800_000_000_000) == f"v1;key=alerting;t=1800000000000;h={digest}"


@given(SAIDS, KEYS, TIMES)
def test_signature_is_read_as_it_was_made_and_is_good_for_its_credential(said: Said, key: str, at_ms: int) -> None:
    signature = signature_of(said, Credential(key, (SECRET,)), at_ms)
    assert (signature.key, signature.at_ms) == (key, at_ms)
    assert speaks(signature, Credential(key, (SECRET,)), said)


@given(SAIDS, SAIDS)
def test_signature_is_good_for_what_was_signed_and_nothing_else(said: Said, other: Said) -> None:
    assert speaks(signature_of(said), ALERTING, other) == (said == other)


@given(SAIDS, st.sampled_from([field.name for field in fields(Said)]), st.integers(1, 4))
def test_nothing_can_be_moved_from_one_part_to_the_next(said: Said, part: str, letters: int) -> None:
    names = [field.name for field in fields(Said)]
    following = names[(names.index(part) + 1) % len(names)]
    taken = getattr(said, part)[:letters]
    as_text = taken if isinstance(taken, str) else taken.decode("latin-1")
    added = as_text if isinstance(getattr(said, following), str) else as_text.encode("latin-1", "replace")
    moved = replace(
        said, **{part: getattr(said, part)[letters:], following: getattr(said, following) + added}
    )  # fmt: skip
    assert speaks(signature_of(said), ALERTING, moved) == (moved == said)


@pytest.mark.parametrize("change", [{"key": "deploys"}, {"at_ms": 2}, {"digest": "0" * 64}])
def test_key_and_time_are_signed_too(change: dict[str, Any]) -> None:
    both = Credential("deploys", (SECRET,))
    signature = replace(signature_of(SAID), **change)
    assert not speaks(signature, ALERTING, SAID)
    assert not speaks(signature, both, SAID)


def test_signature_of_one_credential_is_not_good_for_another_with_the_same_secret() -> None:
    assert not speaks(signature_of(SAID), Credential("deploys", (SECRET,)), SAID)


def test_earlier_secret_counts_until_it_is_taken_out() -> None:
    earlier = Credential("alerting", (b"x" * 32,))
    rotated = Credential("alerting", (SECRET, *earlier.secrets))
    assert speaks(signature_of(SAID, earlier), rotated, SAID)
    assert speaks(signature_of(SAID, rotated), rotated, SAID)
    assert not speaks(signature_of(SAID, earlier), ALERTING, SAID)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v1",
        "v2;key=a;t=1;h=" + "0" * 64,
        "v1;key=A;t=1;h=" + "0" * 64,
        "v1;key=a;t=01;h=" + "0" * 64,
        "v1;key=a;t=-1;h=" + "0" * 64,
        "v1;key=a;t=1;h=" + "0" * 63,
        "v1;key=a;t=1;h=" + "F" * 64,
        "v1;key=a;t=1;h=" + "0" * 64 + "\n",
        "v1;key=a;t=१;h=" + "0" * 64,
    ],
)
def test_other_text_is_no_signature(text: str) -> None:
    assert parse(text) is None


@given(st.text())
def test_reading_a_signature_never_raises(text: str) -> None:
    parse(text)


def test_secrets_are_not_shown() -> None:
    assert SECRET.decode() not in repr(ALERTING)


def test_scope_covers_its_names_alone_unless_it_is_a_star() -> None:
    assert [covers(scope, "payments") for scope in ((), ("payments",), ("Payments",), "*")] == [
        False,
        True,
        False,
        True,
    ]


def test_kinds_of_commands_are_those_of_the_topics() -> None:
    commands = {event.removesuffix(".requested.v1") for event in TOPICS.memory_commands.events}
    assert set(COMMAND_KINDS) == {*commands, "decide"}


RESERVED = Reserved([Credential("alerting", (), origins=("pagerduty", "Café"))], ["curated"])


@pytest.mark.parametrize(
    "name",
    [
        "pagerduty",
        "PagerDuty",
        " pagerduty ",
        "ｐａｇｅｒｄｕｔｙ",
        "CAFÉ",
        "Cafe\N{COMBINING ACUTE ACCENT}",
        "curated",
    ],
)
def test_name_that_a_credential_speaks_for_is_reserved_however_it_is_spelled(name: str) -> None:
    assert name in RESERVED


@pytest.mark.parametrize("name", ["statuspage", "pagerduty2", "unsigned/pagerduty"])
def test_other_names_are_anybodys(name: str) -> None:
    assert name not in RESERVED


def test_who_may_speak_for_every_origin_leaves_no_name_to_the_unsigned() -> None:
    everybody = Reserved([Credential("operator", (), origins="*")], [])
    assert "statuspage" in everybody
    assert "unsigned/statuspage" not in everybody
