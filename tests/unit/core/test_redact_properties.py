"""What always holds of redaction, whatever a text is made of."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.incidents import incident
from tests.unit.core.secret_samples import drawn, key_file
from twiceshy.core.redact import Redactor
from twiceshy.events.incident import IncidentConcluded

REDACTOR = Redactor([r"[a-z0-9-]+\.corp\.example"])
SECRETS = (
    "AK" + "IA" + drawn(16, "ABCDEFGHJKMNP23456"),
    "gh" + "p_" + drawn(36),
    "gl" + "pat-" + drawn(20),
    "xo" + "xb-" + drawn(12, "0123456789") + "-" + drawn(24),
    "ey" + "J" + drawn(20) + "." + "ey" + "J" + drawn(20) + "." + drawn(43),
    drawn(40),
    key_file(),
)
PLACES = ("10.1.2.3", "10.1.2.4", "2001:db8::7", "alice@example.com", "02:42:ac:11:00:02", "db-1.corp.example")
AROUND = (
    *(" ", "  ", "\n", ", ", ": ", "=", "/", "@", "://", "-", ".", "v", "<", ">", '"', "'", "\\n", "\\", "(", "&", ";"),
    *("\u200b", "\u200d", "\ufe0f", "\\u200b"),
    *(
        "password=",
        "token: ",
        "user=",
        "for user ",
        "ssh ",
        "version ",
        "https://",
        "é",
        "<ip-1>",
        "<secret-2>",
        "pod/",
    ),
)
PLAIN = ("checkout", "returned", "502", "for", "12", "minutes", "after", "deploy", "4711", "p99", "rose", "OOMKilled")

pieces = st.sampled_from((*SECRETS, *PLACES, *AROUND, *PLAIN))
texts = st.lists(st.one_of(pieces, st.text(max_size=4)), max_size=14).map("".join)
names = st.lists(st.sampled_from((*PLACES, *PLAIN, *SECRETS[:3])), min_size=1, max_size=4).map(" ".join)


@st.composite
def incidents(draw: st.DrawFn, some: st.SearchStrategy[str] = texts) -> IncidentConcluded:
    labels = st.dictionaries(st.sampled_from(("region", "api_key", "10.1.2.3", "<ip-1>", "who")), some, max_size=3)
    refs = draw(st.lists(names, max_size=2))
    changes: dict[str, Any] = {
        "title": (draw(some)[:300] or "x").strip() or "x",
        "summary": draw(some),
        "details": draw(some),
        "steps": draw(st.lists(some, max_size=2)),
        "labels": draw(labels),
        "entities": [{"type": "host", "ref": ref, "role": "affected"} for ref in refs],
        "links": [
            f"https://example.com/{number}?q={draw(names).replace(' ', '+')}"
            for number in range(draw(st.integers(0, 2)))
        ],
    }
    return incident(draw(st.integers(1, 9)), **changes)


@given(incidents())
def test_masking_twice_is_masking_once(event: IncidentConcluded) -> None:
    once = REDACTOR.incident(event).incident
    again = REDACTOR.incident(once)
    assert again.masked == {}
    assert again.incident is once


@given(incidents())
def test_what_is_masked_is_still_a_valid_incident(event: IncidentConcluded) -> None:
    found = REDACTOR.incident(event).incident
    assert IncidentConcluded.model_validate_json(found.model_dump_json()) == found
    assert (found.tenant, found.fingerprint, found.origin.name) == (event.tenant, event.fingerprint, event.origin.name)


@given(st.lists(st.sampled_from((*SECRETS, *PLACES, *PLAIN)), min_size=1, max_size=12), st.sampled_from(" \n,;|"))
def test_no_masked_value_is_left_and_the_same_value_has_the_same_placeholder(words: list[str], between: str) -> None:
    text = between.join(words)
    found = REDACTOR.incident(incident(1, summary=text, details=text, labels={"all": text})).incident
    assert not [word for word in (*SECRETS, *PLACES) if word in found.model_dump_json()]
    assert found.summary == found.details == found.labels["all"]
    placeholders = dict(zip(words, (found.summary or "").split(between), strict=True))
    assert len(set(placeholders.values())) == len(set(words))


@given(incidents(st.lists(st.sampled_from(PLAIN)).map(" ".join)).filter(lambda event: "10.1" not in str(event)))
def test_what_holds_nothing_sensitive_is_not_touched(event: IncidentConcluded) -> None:
    plain = event.model_copy(update={"entities": (), "labels": {}, "links": ()})
    assert REDACTOR.incident(plain).incident is plain


@given(texts)
def test_a_text_that_was_masked_is_not_masked_again(text: str) -> None:
    once = REDACTOR.text(text)
    assert REDACTOR.text(once) == once


@given(incidents())
def test_a_dead_letter_that_was_masked_is_not_masked_again(event: IncidentConcluded) -> None:
    once = REDACTOR.body(event.model_dump_json().encode())
    assert once is not None
    assert REDACTOR.body(once) == once
