"""Secrets that are told by a name: names of all sorts, values that look like something else, names that stand apart."""

import orjson
import pytest

from tests.incidents import incident
from tests.unit.core.secret_samples import DIGITS, HEX, drawn
from twiceshy.core.redact import Redactor, SecretInKeyError

REDACTOR = Redactor()
WORD = "hunter" + "22x"
HEXED = drawn(32, HEX)
GITHUB = "gh" + "p_"
HALVES = (drawn(12), drawn(24))
UUID = "0b1f6471-1bf0-4dda-aec3-cb9272f09590"
DIGEST = "0123456789abcdef" * 2

NAMED = (
    "DB_PASS={}",
    "ansible_become_pass: {}",
    "helm upgrade x --set mysql.pass={}",
    "pw={}",
    "dbPass={}",
    "DB_PASSWORD_PROD={}",
    "GRAFANA_TOKEN_PROD={}",
    "SECRET_KEY_BASE={}",
    '{{"password_confirmation":"{}"}}',
    '"api_keys": "{}"',
    '{{"secrets":["{}"]}}',
    "passwords: " + drawn(9) + ", {}",
    "passwords:\n  - " + drawn(9) + "\n  - {}",
    "Passwort: {}",
    "mot de passe : {}",
    "contraseña: {}",
    "senha={}",
    "пароль: {}",
    "ПАРОЛЬ: {}",
    "密码：{}",
)
APART = (
    "- name: DB_PASSWORD\n  value: {}",
    '[{{"name":"DB_PASSWORD","value":"{}"}}]',
    "password: |\n  {}",
    "password:\n  {}",
    "**password**: {}",
    "**password:** {}",
    "`password`: `{}`",
    "password -> {}",
    "password\t{}",
    "| user | password |\n|---|---|\n| bob | {} |",
    "<key>password</key>\n<string>{}</string>",
    '<add key="DbPassword" value="{}"/>',
    'variable "db_password" {{\n default = "{}"\n}}',
    "kind: Secret\ndata:\n  db: {}",
    'apiVersion: v1\nstringData:\n  db: "{}"\nkind: Secret',
    'password = """{}"""',
    "('password', '{}')",
    "<password><![CDATA[{}]]></password>",
    "root:{}@tcp(db:3306)/x",
)
COMMANDS = (
    "docker login -u bob -p {} registry.example.com",
    "az login -u bob -p {}",
    "mongo -u a -p {} db",
    "curl \\\n  -u a:{} https://example.com",
    "redis-cli \\\n  -a {} ping",
    "AUTH {}",
    "CREATE USER a IDENTIFIED BY {};",
    "SET PASSWORD FOR a = PASSWORD('{}')",
    "keytool -list -storepass {}",
    "ldapsearch -x -w {} -b dc=x",
    "echo 'bob:{}' | chpasswd",
    "sqlplus app/{}@db",
)
ODD = (
    "$ecr3tVal",
    "Summer(2024)",
    "abc[de]fg",
    "<Summer2024>",
    "@summer",
    "/var/Summer24xyz",
    "env:Summer24x",
    "file:hunter22x",
    "op:abcd1234",
    "os.Summer24",
    "${abc}xyz",
    "ab,cd=efgh12",
)


@pytest.mark.parametrize("template", [*NAMED, *APART, *COMMANDS])
def test_what_a_name_or_a_command_says_is_a_secret_is_masked(template: str) -> None:
    secret = WORD if template not in ('"api_keys": "{}"',) else HEXED
    found = REDACTOR.text(template.format(secret))
    assert secret not in found
    assert found.startswith(template[:2].replace("{{", "{"))


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_password_that_begins_like_a_reference_is_one(value: str, quote: str) -> None:
    found = REDACTOR.text(f"password={quote}{value}{quote} was tried")
    assert found.startswith("password=")
    assert found.endswith("was tried")
    assert not [part for part in (value[3:], value[:-3]) if part in found]


def test_a_hash_of_a_password_and_a_token_in_a_sentence_are_masked() -> None:
    assert REDACTOR.text("bob:$apr1$" + drawn(8) + "$" + drawn(22)) == "bob:<password-1>"
    assert REDACTOR.text(f"auth token is {HEXED}, said bob") == "auth token is <token-1>, said bob"


@pytest.mark.parametrize(
    "labels", [{"db_pass": WORD}, {"Passwort": WORD}, {"pw": WORD}, {"name": "DB_PASSWORD", "value": WORD}]
)
def test_a_label_that_is_named_like_a_secret_in_any_of_these_ways_holds_one(labels: dict[str, str]) -> None:
    assert WORD not in REDACTOR.incident(incident(1, labels=labels)).incident.model_dump_json()


@pytest.mark.parametrize(
    "body", [{"password": {"value": WORD}}, {"db_pass": WORD}, {"a": [{"name": "DB_PASSWORD", "value": WORD}]}]
)
def test_a_dead_letter_whose_names_stand_apart_is_masked(body: dict[str, object]) -> None:
    found = REDACTOR.body(orjson.dumps(body))
    assert found is not None
    assert b"<password-1>" in found


@pytest.mark.parametrize("unseen", ["\u2060\u200d", "\ufe0f", "\x1b[0m", "\x08", "\x00", "\u0301", "\\u200b"])
def test_what_cannot_be_seen_does_not_split_a_secret(unseen: str) -> None:
    found = REDACTOR.incident(incident(1, summary=f"with {unseen.join((GITHUB + HALVES[0], HALVES[1]))} it failed"))
    assert found.incident.summary == "with <github-token-1> it failed"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10.1\ufe0f.2.3 is away", "<ip-1> is away"),
        ("\uff11\uff10．1．2．\uff13 is away", "<ip-1> is away"),
        ("paged bob＠ex.com today", "paged <email-1> today"),
        ("ｇｈｐ_" + HALVES[0] + HALVES[1] + " leaked", "<github-token-1> leaked"),
        ("password＝" + WORD + " was", "password＝<password-1> was"),
        ("password\u00a0=\u00a0" + WORD + " was", "password\u00a0=\u00a0<password-1> was"),
        ("\x1b[31mpassword\x1b[0m=" + WORD, "\x1b[31mpassword\x1b[0m=<password-1>"),
    ],
)
def test_wide_letters_and_blanks_are_read_as_plain_ones_and_stay_beside_a_value(text: str, found: str) -> None:
    assert REDACTOR.text(text) == found


@pytest.mark.parametrize(
    "fingerprint",
    [
        '{}:{alertname="CertExpiry", secret="payments-tls-1"}',
        "token=expired",
        "user-password=reset",
        "payments/secret: rotate-v2",
        f"api-{UUID}",
        f"sdk-{UUID}",
        f"TASK{DIGEST}0",
        f"key-{DIGEST}",
        f"{DIGEST}-us1",
        "sk-payments-checkout-service-1",
    ],
)
def test_a_fingerprint_that_is_an_alert_or_an_id_is_not_refused(fingerprint: str) -> None:
    found = REDACTOR.incident(incident(1, fingerprint=fingerprint, summary=fingerprint)).incident
    assert found.fingerprint == fingerprint


def test_a_fingerprint_with_a_name_that_was_taken_for_a_secret_is_not_refused() -> None:
    told = incident(1, fingerprint="cert-expiry/payments-db-prod-2", summary="The secret: payments-db-prod-2 was stale")
    assert REDACTOR.incident(told).incident.fingerprint == "cert-expiry/payments-db-prod-2"


def test_a_fingerprint_with_a_token_in_wide_letters_is_refused() -> None:
    with pytest.raises(SecretInKeyError):
        REDACTOR.incident(incident(1, fingerprint="ｇｈｐ_" + HALVES[0] + HALVES[1]))


def test_a_thing_of_the_incident_is_no_user() -> None:
    entity = {"type": "service", "ref": "checkout", "role": "affected"}
    summary = "it failed for user checkout failed, for user alice failed"
    found = REDACTOR.incident(incident(1, summary=summary, entities=[entity])).incident
    assert found.summary == "it failed for user checkout failed, for user <user-1> failed"


def test_a_number_that_is_called_is_a_phone_without_a_plus_too() -> None:
    number = "-".join((drawn(3, DIGITS), "123", "4567"))
    assert REDACTOR.text(f"call {number} now") == "call <phone-1> now"


def test_a_sentence_in_wide_letters_is_no_secret() -> None:
    wide = " ".join(map(chr, (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B), *range(0xFF10, 0xFF1A), 0xFF1A, 0xFF0C)))
    told = incident(1, title="決済が遅い", summary=wide, fingerprint=wide)
    assert REDACTOR.incident(told).incident == told
