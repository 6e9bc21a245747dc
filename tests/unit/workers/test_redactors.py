"""What names an event is kept without a secret, by the patterns of its own tenant."""

from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core.redact import Redactor
from twiceshy.events.common import TEXT_CHARS_MAX
from twiceshy.settings import Settings
from twiceshy.stream.codec import Attributes
from workers.redactors import Redactors

TOKEN = "ghp_" + "a1B2c3D4e5F6" + "g7H8i9J0k1L2" + "m3N4o5P6q7R8"
REDACTORS = Redactors(Settings(tenants=("a", "b"), internal_hosts={"a": (r"[a-z0-9-]+\.corp\.example",)}))


def named(tenant: str, *, source: str = "/pagerduty", id: str = "1") -> Attributes:  # noqa: A002 - as CloudEvents has it
    return REDACTORS.attributes(tenant, Attributes(id=id, source=source, type="incident.concluded.v1", time_ms=7))


def test_id_and_source_are_masked_and_the_rest_stays() -> None:
    about = named("a", source=f"https://bot:{TOKEN}@example.test", id=TOKEN)
    assert TOKEN not in about.source + about.id
    assert (about.type, about.time_ms) == ("incident.concluded.v1", 7)


def test_hosts_of_one_tenant_are_no_others() -> None:
    assert "db7.corp.example" not in named("a", source="//db7.corp.example/alerts").source
    assert named("b", source="//db7.corp.example/alerts").source == "//db7.corp.example/alerts"


@given(st.uuids())
def test_uuid_is_no_secret_to_redaction_either(identity: object) -> None:
    assert named("a", id=str(identity)).id == str(identity)
    assert Redactor().text(str(identity)) == str(identity)


def test_reason_stays_within_its_length() -> None:
    crowded = "10.0.0.1 " * (TEXT_CHARS_MAX // 9)
    assert len(REDACTORS.text("a", crowded)) <= TEXT_CHARS_MAX
    assert REDACTORS.text("a", "It was ours.") == "It was ours."
