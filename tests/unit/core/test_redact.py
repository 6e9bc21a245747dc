"""Redaction: every kind of secret, who and where, the same value the same everywhere, names that stay names."""

import base64
from typing import Any

import orjson
import pytest

from tests.incidents import incident
from tests.unit.core.secret_samples import drawn, key_file, samples
from twiceshy.core.redact import Redactor, SecretInKeyError
from twiceshy.events.incident import IncidentConcluded

REDACTOR = Redactor()
TOKEN = "gh" + "p_" + drawn(36)


def masked(**changes: Any) -> IncidentConcluded:
    return REDACTOR.incident(incident(1, **changes)).incident


@pytest.mark.parametrize(("text", "secret"), [pytest.param(text, part, id=name) for name, text, part in samples()])
def test_no_part_of_a_secret_is_left_and_what_stands_around_it_is(text: str, secret: str) -> None:
    found = REDACTOR.text(f"Rotated {text} after it.")
    assert found.startswith("Rotated ")
    assert found.endswith(" after it.")
    assert not [start for start in range(len(secret) - 11) if secret[start : start + 12] in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10.1.2.3 lost 10.1.2.4:9092, then 10.1.2.3/24", "<ip-1> lost <ip-2>:9092, then <ip-1>/24"),
        ("[2001:db8::7]:443 and fe80::1%eth0 and 2001:db8::/32", "[<ip-1>]:443 and <ip-2>%eth0 and <ip-3>/32"),
        ("::ffff:10.1.2.3 at 03:10:00", "<ip-1> at 03:10:00"),
        ("mac 02:42:ac:11:00:02 or 0242.ac11.0002", "mac <mac-1> or <mac-2>"),
        ("paged alice@example.com, not git@github.com:a/b", "paged <email-1>, not git@github.com:a/b"),
        ("payments-7d9f8b6c5d-x2x4z restarted", "payments-<pod-1> restarted"),
        ("pod/fluentd-x7k2p was evicted", "pod/fluentd-<pod-1> was evicted"),
        ("ip-10-1-2-3.eu-west-1.compute.internal", "<host-1>"),
        ("arn:aws:iam::" + "123456789012:role/ci", "arn:aws:iam::<account-1>:role/ci"),
        ("123456789012" + ".dkr.ecr.eu-west-1.amazonaws.com/pay", "<account-1>.dkr.ecr.eu-west-1.amazonaws.com/pay"),
        ("user=alice host=db", "user=<user-1> host=db"),
        ("/home/alice/.ssh and C:\\Users\\alice\\x", "/home/<user-1>/.ssh and C:\\Users\\<user-1>\\x"),
        ("ssh -i key alice@bastion", "ssh -i key <user-1>@bastion"),
        ('failed for user "alice"', 'failed for user "<user-1>"'),
        ("Accepted publickey for alice from 10.1.2.3 port 22", "Accepted publickey for <user-1> from <ip-1> port 22"),
        ("call +1 (555) 123-4567 or +44 20 7946 0958", "call <phone-1> or <phone-2>"),
        ("postgres" + "://app:s3cret@db.example.com/pay", "postgres://app:<password-1>@db.example.com/pay"),
    ],
)
def test_who_and_where_are_numbered_and_what_tells_something_stays(text: str, found: str) -> None:
    assert REDACTOR.text(text) == found


def test_the_same_value_has_one_placeholder_in_every_field() -> None:
    found = masked(
        title="10.1.2.3 is away",
        summary="10.1.2.4 then 10.1.2.3",
        steps=["ping 10.1.2.3"],
        labels={"peer": "10.1.2.3", "10.1.2.4": "up"},
        links=["https://10.1.2.3:8443/graph"],
        evidence={"stack_trace": "dial tcp 10.1.2.4:5432"},
        entities=[{"type": "host", "ref": "10.1.2.3", "role": "affected"}],
        code_refs=[{"repo": "acme/ops", "path": "hosts/10.1.2.4.yaml"}],
    )
    assert found.title == "<ip-1> is away"
    assert found.summary == "<ip-2> then <ip-1>"
    assert found.steps == ("ping <ip-1>",)
    assert found.labels == {"peer": "<ip-1>", "<ip-2>": "up"}
    assert found.links == ("https://<ip-1>:8443/graph",)
    assert found.evidence is not None
    assert found.evidence.stack_trace == "dial tcp <ip-2>:5432"
    assert found.code_refs[0].path == "hosts/<ip-2>.yaml"
    assert found.entities[0].key == "host:<ip-1> (test/1)"


def test_how_many_different_values_were_masked_is_told() -> None:
    found = REDACTOR.incident(incident(1, summary=f"10.1.2.3, 10.1.2.4, 10.1.2.3 with {TOKEN}"))
    assert found.masked == {"ip": 2, "github-token": 1}


def test_an_incident_with_nothing_to_mask_is_the_same_object() -> None:
    plain = incident(1)
    assert REDACTOR.incident(plain).incident is plain
    assert REDACTOR.incident(plain).masked == {}


def test_a_placeholder_that_came_in_is_made_to_look_like_none() -> None:
    found = masked(title="<ip-1> is away", summary="10.1.2.3 says <ip-2>, <build-1> and <password-7>")
    assert found.title == "‹ip-1› is away"
    assert found.summary == "<ip-1> says ‹ip-2›, <build-1> and ‹password-7›"


def test_a_text_that_was_masked_before_keeps_its_placeholders_and_gets_new_numbers() -> None:
    assert REDACTOR.text("<ip-2> is away, 10.1.2.3 is not") == "<ip-2> is away, <ip-3> is not"


def test_a_secret_that_something_gave_away_is_masked_where_nothing_does() -> None:
    secret = drawn(12)
    found = masked(summary=f"password={secret}", steps=[f"tried {secret} by hand"])
    assert found.steps == ("tried <password-1> by hand",)


def test_a_password_that_is_a_word_does_not_take_the_word_with_it() -> None:
    found = masked(title="postgres is away", summary="POSTGRES_PASSWORD=" + "postgres")
    assert found.title == "postgres is away"
    assert found.summary == "POSTGRES_PASSWORD=<password-1>"


def test_a_label_or_a_fact_that_is_named_like_a_secret_holds_one() -> None:
    fact = {"subject": "service:db", "predicate": "admin_password", "object": "swordfish"}
    found = masked(
        labels={"apiKey": "swordfish-7", "secret_name": "db"},
        facts=[{**fact, "valid_from": "2026-01-01T00:00:00Z"}],
    )
    assert found.labels == {"apiKey": "<secret-1>", "secret_name": "db"}
    assert found.facts[0].object == "<password-1>"


def test_masked_entities_and_subjects_of_two_incidents_are_two() -> None:
    entity = {"type": "host", "ref": "10.1.2.3", "role": "affected"}
    fact = {"subject": "host:10.1.2.3", "predicate": "pool_size", "object": "20", "valid_from": "2026-01-01T00:00:00Z"}
    one, other = (REDACTOR.incident(incident(number, entities=[entity], facts=[fact])).incident for number in (1, 2))
    assert one.entities[0].key == one.facts[0].subject == "host:<ip-1> (test/1)"
    assert other.entities[0].key == other.facts[0].subject == "host:<ip-1> (test/2)"


def test_a_fingerprint_that_holds_an_address_stays_a_key_and_is_not_shown_elsewhere() -> None:
    entity = {"type": "host", "ref": "10.1.2.3", "role": "affected"}
    found = masked(fingerprint="10.1.2.3:9100/2026-11-02", entities=[entity])
    assert found.fingerprint == "10.1.2.3:9100/2026-11-02"
    assert found.entities[0].ref == "<ip-1> (2026-01-01T00:01:00+00:00)"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"fingerprint": f"deploy/{TOKEN}"}, "fingerprint"),
        ({"origin": {"name": f"ci {TOKEN}"}}, "origin.name"),
        ({"supersedes": [{"origin": "ci", "fingerprint": TOKEN}]}, "supersedes.0.fingerprint"),
        ({"entities": [{"type": "gl" + "pat-" + "a1" * 12, "ref": "ci", "role": "cause"}]}, "entities.0.type"),
    ],
)
def test_a_secret_in_a_name_that_has_to_stay_is_refused_and_not_repeated(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(SecretInKeyError, match=f"^{field} holds a secret") as refused:
        masked(**changes)
    assert TOKEN not in str(refused.value)


def test_a_password_that_is_also_the_fingerprint_is_refused() -> None:
    secret = drawn(14)
    with pytest.raises(SecretInKeyError):
        masked(fingerprint=secret, summary=f"password={secret}")


def test_internal_hosts_are_what_their_patterns_match() -> None:
    found = Redactor([r"[a-z0-9-]+\.corp\.example"]).text("db-1.corp.example:5432 and db.example.com")
    assert found == "<host-1>:5432 and db.example.com"


def test_a_pattern_of_hosts_that_is_none_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="is no pattern of internal host names"):
        Redactor(["(?=db)"])


def test_a_field_that_masking_made_too_long_is_cut_between_words_and_says_so() -> None:
    found = masked(title=" ".join(f"a{number}@b.co" for number in range(50)))
    assert len(found.title) <= 500
    assert found.title.endswith("<email-46>…")


def test_a_link_stays_a_link() -> None:
    link = "https://status.example.com/i/42?access_token" + f"={drawn(24)}&tab=1"
    assert masked(links=[link]).links == ("https://status.example.com/i/42?access_token=<token-1>&tab=1",)


def test_a_link_of_which_nothing_is_left_is_left_out() -> None:
    link = "https://example.com/" + drawn(24)
    assert masked(links=[link, "https://example.com/"], labels={"token": link}).links == ("https://example.com/",)


def test_more_than_can_be_looked_at_is_masked_whole_and_the_rest_value_by_value() -> None:
    crowd = " ".join(f"10.{number // 256}.{number % 256}.7" for number in range(3_000))
    found = masked(title="10.1.2.3 is away", details=crowd)
    assert found.title == "<ip-1> is away"
    assert found.details == "<text-1>"


def test_a_dead_letter_that_is_json_is_masked_in_keys_and_values() -> None:
    body = {"a": {"10.1.2.4": None}, "t": ["10.1.2.3", [{"password": "swordfish", "pin": 1}]], "api_key": 123456789}
    found = REDACTOR.body(orjson.dumps(body))
    assert found is not None
    assert orjson.loads(found) == {
        "a": {"<ip-2>": None},
        "t": ["<ip-1>", [{"password": "<password-1>", "pin": 1}]],
        "api_key": "<secret-1>",
    }


def test_a_dead_letter_with_a_key_file_in_json_is_masked() -> None:
    key = key_file()
    found = REDACTOR.body(orjson.dumps({"details": f'{{"private_key": {orjson.dumps(key).decode()}}}'}))
    assert found is not None
    assert key.splitlines()[1] not in found.decode()
    assert b"<private-key-1>" in found


def test_a_dead_letter_with_nothing_to_mask_is_the_same_bytes() -> None:
    body = b'{"title":  "slow", "n": 1.50}'
    assert REDACTOR.body(body) is body


def test_a_dead_letter_that_is_no_json_is_withheld_if_it_holds_a_secret() -> None:
    assert REDACTOR.body(f'{{"title": "{TOKEN}'.encode()) is None
    assert REDACTOR.body(f'{{"title": "{TOKEN}'.encode("utf-16")) is None
    assert REDACTOR.body(b'{"title": "10.1.2.3') == b'{"title": "10.1.2.3'
    assert REDACTOR.body(b"\xff\xfe\x00") == b"\xff\xfe\x00"


def test_a_dead_letter_that_is_nested_too_deep_is_withheld() -> None:
    assert REDACTOR.body(b'{"a":' * 1_000 + b"1" + b"}" * 1_000) is None


def test_what_an_event_encloses_in_base64_is_masked_too() -> None:
    enclosed = base64.b64encode(orjson.dumps({"title": f"with {TOKEN}"})).decode()
    found = REDACTOR.body(orjson.dumps({"specversion": "1.0", "data_base64": enclosed}))
    assert found is not None
    assert base64.b64decode(orjson.loads(found)["data_base64"]) == b'{"title":"with <github-token-1>"}'
