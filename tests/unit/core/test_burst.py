"""Bursts: what an incident is about cannot be varied for nothing, and which windows it counts in."""

import string
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.incidents import incident
from twiceshy.core.burst import SUBJECT_CHARS_MAX, Counted, counted, normalised, subjects
from twiceshy.core.burst_limits import BurstLimits
from twiceshy.events.incident import EntityMention, IncidentConcluded
from twiceshy.events.quarantine import QuarantineGroup

LIMITS = BurstLimits()
HOUR_MS = 3_600_000


def said(**changes: Any) -> IncidentConcluded:
    plain = {"title": "Disk is full", "entities": [], "facts": []}
    return incident(1, **(plain | changes))


def windows(
    asked: IncidentConcluded, *, listed: bool = False, at_ms: int | None = None, backfill: bool = False
) -> Counted:
    return counted(asked, LIMITS, listed=listed, at_ms=at_ms, backfill=backfill)


@pytest.mark.parametrize(
    "title",
    [
        "Disk 7 is full",
        "DISK 12 IS FULL",
        "Disk  42\tis full",
        "Ｄｉｓｋ １２３ is full",
        "Disk ٣ is full",
        "Di\u200bsk 7 is f\u00adull",
        "Disk 7 is full\ufe0f",
        "Disk ① is full\u2800",
    ],
)
def test_a_title_cannot_be_varied_for_nothing(title: str) -> None:
    assert subjects(said(title=title)) == ("disk # is full",)


@pytest.mark.parametrize("title", ["Disk is full", "Disk 7 is slow", "Disk 7 was full", "Disque 7 is full"])
def test_other_words_are_another_subject(title: str) -> None:
    assert subjects(said(title=title)) != ("disk # is full",)


def test_a_title_is_told_with_the_first_thing_that_was_affected_or_implicated() -> None:
    entities = [
        {"type": "change", "ref": "deploy/1", "role": "cause"},
        {"type": "service", "ref": "Payments-2", "role": "implicated"},
        {"type": "service", "ref": "ledger", "role": "affected"},
    ]
    assert subjects(said(entities=entities)) == ("disk is full @ service:payments-#",)


def test_each_fact_is_a_subject_with_its_predicate_and_once() -> None:
    claims = [("service:a1", "pool_size"), ("service:A2", "pool_size"), ("service:a1", "owner")]
    facts = [
        {"subject": subject, "predicate": predicate, "object": str(number), "valid_from": "2026-01-01T00:00:00Z"}
        for number, (subject, predicate) in enumerate(claims)
    ]
    assert subjects(said(facts=facts)) == ("disk is full", "service:a# / pool_size", "service:a# / owner")


def test_a_title_without_words_is_a_subject() -> None:
    assert subjects(said(title="\u200b\u2060")) == ("(no words)",)


def test_what_is_too_long_to_read_is_not_taken_for_another_one() -> None:
    long, other = subjects(said(title="x" * 499)), subjects(said(title="x" * 500))
    assert len(long[0]) == len(other[0]) == SUBJECT_CHARS_MAX
    assert long != other


TEXTS = st.text() | st.text(st.sampled_from(string.printable + "\u200b\ufe0f\u0301ﬁ½²Ⅷ①ﷺİßΣςǅ가\u1160\u3000\x85"))


@given(TEXTS)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


@given(TEXTS)
def test_a_subject_can_be_read_and_named(text: str) -> None:
    normal = normalised(text)
    assert normal.isprintable()
    assert normal == " ".join(normal.split())
    assert not any(letter.isdecimal() for letter in normal)


@given(TEXTS.filter(str.strip), TEXTS.filter(str.strip))
def test_a_subject_is_a_name_as_it_stands(title: str, thing: str) -> None:
    told = said().model_copy(update={"title": title})
    host = EntityMention.model_construct(type="host", ref=thing, role="affected")
    for subject in (*subjects(told), *subjects(told.model_copy(update={"entities": (host,)}))):
        assert QuarantineGroup(origin="pagerduty", subject=subject).subject == subject


@pytest.mark.parametrize("title", ["\u0627\u0600\u0653", "\u0915\u00ad\u093c", "\u0a32\u0a3c", "e\u0315\u0323"])
def test_letters_that_come_together_are_one_letter(title: str) -> None:
    assert unicodedata.is_normalized("NFC", normalised(title))
    assert normalised(normalised(title)) == normalised(title)


@given(st.lists(TEXTS.filter(str.strip), min_size=2, max_size=2, unique_by=normalised))
def test_different_subjects_have_different_windows(titles: list[str]) -> None:
    first, second = (windows(said().model_copy(update={"title": title})) for title in titles)
    assert first.windows[0].key != second.windows[0].key
    assert first.windows[-1] == second.windows[-1]


def test_origins_that_are_not_listed_share_their_windows() -> None:
    one, other = (said(origin={"name": name}) for name in ("pagerduty", "a-new-name"))
    assert windows(one).windows == windows(other).windows
    assert windows(one).incident != windows(other).incident
    apart = {window.key for asked in (one, other) for window in windows(asked, listed=True).windows}
    assert len(apart) == 4
    assert apart.isdisjoint(window.key for window in windows(one).windows)


def test_tenants_share_no_window() -> None:
    one, other = windows(said()), windows(said(tenant="other"))
    assert {window.key for window in one.windows}.isdisjoint(window.key for window in other.windows)


def test_revisions_are_one_incident() -> None:
    assert windows(said()).incident == windows(said(title="Disk was full")).incident
    assert windows(said()).incident != windows(said(fingerprint="another")).incident


def test_backfill_has_windows_of_its_own_one_for_each_stretch_of_event_time() -> None:
    now, soon, later = (windows(said(), at_ms=at_ms, backfill=True) for at_ms in (0, HOUR_MS - 1, HOUR_MS))
    assert now.windows == soon.windows
    told = [windows(said()), now, later]
    assert len({window.key for one in told for window in one.windows}) == 6


def test_an_origin_may_have_a_cap_of_its_own() -> None:
    assert LIMITS.of_origin(None) == LIMITS
    assert LIMITS.of_origin(9).max_per_origin == 9
    capped = counted(said(), LIMITS.of_origin(9), listed=True, at_ms=None, backfill=False)
    assert [(window.kind, window.limit) for window in capped.windows] == [("subject", 5), ("origin", 9)]
