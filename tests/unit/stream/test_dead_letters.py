"""A dead letter has no secret: not in its value, its key, its headers or its reason."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.records import body, record, signed, structured
from tests.unit.stream.deliveries import Surroundings, events
from twiceshy.core.redact import Redactor
from twiceshy.errors import PoisonError
from twiceshy.stream.dead_letters import dead_letter
from twiceshy.stream.records import Output, Record
from twiceshy.stream.replaying import original_of
from twiceshy.stream.signing import SIGNATURE_HEADER

TOKEN = "ghp_" + "a1B2c3D4e5F6" + "g7H8i9J0k1L2" + "m3N4o5P6q7R8"
PLAIN = record(body("default", title=""))
REASON = PoisonError("schema", "title: must not be blank")


def letter(of: Record) -> Output:
    return dead_letter(of, "guard", REASON, 1, Redactor())


def everything(made: Output) -> bytes:
    headers = b"".join(name.encode() + value for name, value in made.headers)
    return made.key + (made.value or b"") + headers


def test_value_without_a_secret_is_as_it_came() -> None:
    came = record(body("default", title=""))
    made = letter(came)
    assert (made.key, made.value) == (came.key, came.value)
    assert dict(made.headers).items() >= came.headers.items()
    assert not {"dlq_withheld", "dlq_redacted"} & dict(made.headers).keys()


def test_value_that_is_json_is_redacted() -> None:
    came = record(body("default", title="", summary=f"Pushed with {TOKEN} from 10.0.0.7."))
    made = letter(came)
    assert made.value != b""
    assert b"Pushed with <" in (made.value or b"")
    assert TOKEN.encode() not in everything(made)
    assert b"10.0.0.7" not in everything(made)


@pytest.mark.parametrize("made", [record, structured])
def test_letter_says_that_a_signature_is_no_longer_good_for_what_it_has(made: Callable[..., Record]) -> None:
    changed = made(body("default", title="", summary=f"Pushed with {TOKEN}."))
    assert dict(letter(changed).headers)["dlq_redacted"] == b"secret"
    noted = made(body("default", title=""))
    noted = replace(noted, headers={**noted.headers, "note": TOKEN.encode()})
    assert "dlq_redacted" not in dict(letter(noted).headers)


def test_value_in_an_envelope_is_redacted() -> None:
    came = structured(body("default", title="", summary=f"Pushed with {TOKEN}."))
    assert TOKEN.encode() not in everything(letter(came))


def test_value_that_is_no_json_is_withheld_when_it_holds_a_secret_and_else_as_it_came() -> None:
    with_secret, without = (letter(record(value)) for value in (b'{"title": "' + TOKEN.encode(), b'{"title": "x'))
    assert (with_secret.value, dict(with_secret.headers)["dlq_withheld"]) == (b"", b"secret")
    assert without.value == b'{"title": "x'


@pytest.mark.parametrize(
    "headers", [{"note": f"with {TOKEN}".encode()}, {f"x-{TOKEN}": b"1"}, {"note": b"\xff " + TOKEN.encode()}]
)
def test_headers_are_redacted(headers: dict[str, bytes]) -> None:
    came = replace(PLAIN, headers={**PLAIN.headers, **headers})
    assert TOKEN.encode() not in everything(letter(came))


SPLIT = TOKEN[:9] + "\u200b" + TOKEN[9:]


@pytest.mark.parametrize(
    "headers", [{"traceparent": TOKEN}, {"content-type": f"text/{TOKEN}"}, {SIGNATURE_HEADER: TOKEN}, {"note": SPLIT}]
)
def test_header_is_kept_as_it_came_for_its_form_and_not_for_its_name(headers: dict[str, str]) -> None:
    came = replace(PLAIN, headers={**PLAIN.headers, **{name: text.encode() for name, text in headers.items()}})
    assert TOKEN[9:].encode() not in everything(letter(came))


def test_credential_that_is_a_secret_is_not_told() -> None:
    key = TOKEN.lower()
    came = replace(PLAIN, headers={**PLAIN.headers, SIGNATURE_HEADER: f"v1;key={key};t=1;h={'0f' * 32}".encode()})
    assert key.encode() not in everything(letter(came))


def test_trace_and_signature_and_type_are_as_they_came() -> None:
    traced = record(body("default", title=""), traceparent=f"00-{'4b' * 16}-{'a1' * 8}-01".encode())
    came = signed(traced, "alerting", b"s" * 32)
    assert {"traceparent", "content-type", SIGNATURE_HEADER} <= came.headers.keys()
    assert dict(letter(came).headers).items() >= came.headers.items()


@pytest.mark.parametrize("text", [f"Pushed with {SPLIT}.", f"Pushed with {TOKEN[:9]}\\u200b{TOKEN[9:]}."])
def test_secret_that_invisible_characters_split_is_masked_wherever_it_stands(text: str) -> None:
    of_json = body("default", title="", summary=text)
    for came in (record(of_json), structured(of_json), record(b'{"title": "' + text.encode())):
        assert TOKEN[9:].encode() not in everything(letter(came))
    assert TOKEN[9:] not in Redactor().text(text)


@pytest.mark.parametrize("came", [replace(PLAIN, key=TOKEN.encode()), record(PLAIN.value, ce_id=TOKEN.encode())])
def test_letter_whose_ids_are_cut_still_finds_its_original(came: Record) -> None:
    made = letter(came)
    assert TOKEN.encode() not in everything(made)
    assert dict(made.headers)["dlq_withheld"] == b"secret"
    found = Record(made.topic, 0, 0, made.key, made.value, dict(made.headers), came.timestamp_ms + 1)
    assert original_of(found, came)


def test_letter_is_written_whatever_redaction_stumbles_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumbling(_: Redactor, __: bytes) -> bytes:
        raise RecursionError

    monkeypatch.setattr(Redactor, "body", stumbling)
    made = letter(record(body("default", title="", summary=TOKEN)))
    assert (made.key, made.value) == (b"", b"")
    assert dict(made.headers)["dlq_reason"] == b"schema"


async def test_reason_that_quotes_a_secret_is_redacted_wherever_it_is_told() -> None:
    around = Surroundings(faults={("handle", b"a"): [PoisonError("schema", f"x-{TOKEN}: unknown")] * 3})
    await around.deliver(events(b"a"))
    sent = around.of("sent")
    assert sent
    assert not [output for output in sent if TOKEN.encode() in everything(output)]
