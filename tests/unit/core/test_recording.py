"""What an entry does to a memory: revisions, facts, late news, and nothing when it comes again."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.entries import entry
from tests.unit.core.recorded_tables import Tables
from twiceshy.core.recording import current, record
from twiceshy.core.temporal import FOREVER
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import IncidentConcluded

DAY = datetime(2026, 3, 1, tzinfo=UTC)
NOW = milliseconds(DAY + timedelta(days=30))
POOL = "fact|service:payments|pool_size"


def day(number: int) -> int:
    return milliseconds(DAY + timedelta(days=number))


def said(fingerprint: str = "A", *facts: dict[str, Any], origin: str = "pagerduty", **fields: Any) -> IncidentConcluded:
    return IncidentConcluded.model_validate(
        {
            "tenant": "default",
            "fingerprint": fingerprint,
            "title": "Checkout times out",
            "concluded_at": DAY,
            "origin": {"name": origin},
            "facts": facts,
            **fields,
        }
    )


def fact(thing: str, start: int = 0, end: int | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "subject": "service:payments",
        "predicate": "pool_size",
        "object": thing,
        "valid_from": DAY + timedelta(days=start),
        "valid_to": None if end is None else DAY + timedelta(days=end),
        **fields,
    }


def test_first_revision_is_remembered_with_its_facts() -> None:
    tables = Tables()
    [result] = tables.remember(entry(said("A", fact("20")), NOW))
    assert (result.change, result.t_created, result.t_valid, result.expired) == ("remembered", NOW, day(0), ())
    assert [made.slot for made in result.facts_made] == [POOL]
    assert tables.current() == {POOL: [(day(0), FOREVER, "20")]}
    assert tables.episodes[result.episode_id or ""]["t_expired"] == FOREVER


def test_same_content_again_is_reaffirmed_and_makes_no_version() -> None:
    tables = Tables()
    [first] = tables.remember(entry(said("A", fact("20")), NOW))
    [again] = tables.remember(entry(said("A", fact("20")), NOW + 5, ce_id="2"))
    assert (again.change, again.episode_id, again.t_created) == ("reaffirmed", first.episode_id, NOW + 5)
    assert (again.facts_made, again.facts_expired, again.expired) == ((), (), ())
    assert len(tables.episodes) == len(tables.facts) == 1
    assert tables.incidents["pagerduty/A"]["event_id"] == entry(said("A", fact("20")), 0, ce_id="2").event_id
    assert sorted(row["t_retracted"] for row in tables.observations.values()) == [NOW + 5, FOREVER]


def test_same_content_is_the_same_in_whichever_offset_its_times_are_told() -> None:
    tables = Tables()
    tables.remember(entry(said("A", fact("20")), NOW))
    elsewhere = said("A", fact("20"), concluded_at="2026-03-01T05:30:00+05:30")
    [again] = tables.remember(entry(elsewhere, NOW + 5, ce_id="2"))
    assert again.change == "reaffirmed"


def test_correction_expires_the_episode_and_takes_back_what_the_earlier_revision_said() -> None:
    tables = Tables()
    mentions = [{"type": "service", "ref": "payments", "role": "affected"}]
    [first] = tables.remember(entry(said("A", fact("20"), fact("eu", predicate="region"), entities=mentions), NOW))
    [second] = tables.remember(entry(said("A", fact("30")), NOW + 5, ce_id="2"))
    assert (second.change, second.expired) == ("corrected", (first.episode_id,))
    assert tables.current() == {POOL: [(day(0), FOREVER, "30")]}
    assert {ref.slot for ref in second.facts_expired} == {POOL, "fact|service:payments|region"}
    assert [edge["t_expired"] for kind, edge in tables.edges if kind == "MENTIONS"] == [NOW + 5]
    [expired] = [row for row in tables.facts.values() if row["object"] == "20"]
    [made] = [row for row in tables.facts.values() if row["object"] == "30"]
    assert (expired["superseded_by"], made["supersedes"]) == ([made["version_id"]], [expired["version_id"]])
    assert expired["invalidated_by_event"] == entry(said("A", fact("30")), 0, ce_id="2").event_id


def test_content_that_comes_back_after_a_correction_is_a_correction_too() -> None:
    tables = Tables()
    for number, pool in enumerate(("20", "30", "20")):
        [result] = tables.remember(entry(said("A", fact(pool)), NOW + number, ce_id=str(number)))
    assert result.change == "corrected"
    assert tables.current() == {POOL: [(day(0), FOREVER, "20")]}
    assert len(tables.episodes) == 3


def test_older_revision_that_arrives_late_is_kept_and_believed_at_no_time() -> None:
    tables = Tables()
    [newer] = tables.remember(entry(said("A", fact("30")), NOW, ce_time=NOW - 1))
    late = entry(said("A", fact("20")), NOW + 5, ce_id="2", ce_time=NOW - 2)
    [stale] = tables.remember(late)
    assert (stale.change, stale.t_created, stale.episode_id) == ("stale", NOW + 5, newer.episode_id)
    assert tables.current() == {POOL: [(day(0), FOREVER, "30")]}
    [kept] = [row for row in tables.observations.values() if row["event_id"] == late.event_id]
    assert kept["t_retracted"] == kept["t_created"] == NOW + 5
    assert not current(tables.load(), late)


def test_revisions_of_one_moment_are_ordered_by_event_id() -> None:
    one, other = (entry(said("A", fact(pool)), NOW, ce_id=pool, ce_time=NOW - 1) for pool in ("20", "30"))
    lesser, greater = sorted((one, other), key=lambda logged: logged.event_id)
    forth, back = Tables(), Tables()
    assert [result.change for result in forth.remember(lesser, greater)] == ["remembered", "corrected"]
    assert [result.change for result in back.remember(greater, lesser)] == ["remembered", "stale"]
    assert forth.current() == back.current()


def test_duplicate_changes_nothing_and_gets_the_result_that_it_had() -> None:
    tables = Tables()
    first, second = entry(said("A", fact("20")), NOW), entry(said("A", fact("30")), NOW + 5, ce_id="2")
    results = tables.remember(first, second)
    before = repr(tables)
    assert tables.remember(first, second, first) == [*results, results[0]]
    assert repr(tables) == before


def test_many_valued_predicate_holds_several_objects_side_by_side() -> None:
    tables = Tables()
    tables.remember(entry(said("A", fact("eu"), fact("us", 1)), NOW, many_valued=("pool_size",)))
    assert tables.current() == {f"{POOL}|eu": [(day(0), FOREVER, "eu")], f"{POOL}|us": [(day(1), FOREVER, "us")]}


def test_nothing_holds_from_where_an_incident_says_so() -> None:
    tables = Tables()
    tables.remember(entry(said("A", fact("20")), NOW), entry(said("B", fact("20", 3, holds=False)), NOW + 5))
    assert tables.current() == {POOL: [(day(0), day(3), "20")]}


def test_late_news_is_a_bounded_segment_and_leaves_the_current_fact_alone() -> None:
    tables = Tables()
    tables.remember(entry(said("A", fact("20", 0)), NOW), entry(said("B", fact("30", 10)), NOW + 1))
    [late] = tables.remember(entry(said("C", fact("40", 5)), NOW + 2))
    expected = [(day(0), day(5), "20"), (day(5), day(10), "40"), (day(10), FOREVER, "30")]
    assert tables.current() == {POOL: expected}
    assert (len(late.facts_made), len(late.facts_expired)) == (2, 1)


def test_another_incident_that_says_the_same_makes_no_version_and_keeps_it_when_the_first_takes_it_back() -> None:
    tables = Tables()
    tables.remember(entry(said("A", fact("20")), NOW), entry(said("B", fact("20", 2)), NOW + 1))
    assert len(tables.facts) == 1
    tables.remember(entry(said("A"), NOW + 2, ce_id="2"))
    assert tables.current() == {POOL: [(day(2), FOREVER, "20")]}


@pytest.mark.parametrize("confidences", [(0.5, 0.9), (0.9, 0.5)])
def test_of_what_an_event_says_twice_the_more_confident_is_what_a_version_has(confidences: tuple[float, float]) -> None:
    tables = Tables()
    tables.remember(entry(said("A", *(fact("20", confidence=confidence) for confidence in confidences)), NOW))
    assert [row["confidence_score"] for row in tables.facts.values()] == [0.9]


def test_end_beyond_the_last_moment_is_an_open_end() -> None:
    tables = Tables()
    tables.remember(entry(said("A", fact("20", valid_to="9999-12-31T23:59:59.999999Z")), NOW))
    assert tables.current() == {POOL: [(day(0), FOREVER, "20")]}


def test_clock_that_jumps_back_cannot_reorder_what_was_learned() -> None:
    tables = Tables()
    [first, second] = tables.remember(entry(said("A"), NOW), entry(said("B"), NOW - 100_000))
    [third] = tables.remember(entry(said("C"), NOW + 1))
    assert [first.t_created, second.t_created, third.t_created] == [NOW, NOW + 1, NOW + 2]


@pytest.mark.parametrize(
    ("started", "concluded", "t_valid"),
    [(-2, -1, day(-2)), (None, -1, day(-1)), (None, 60, NOW), (50, 60, NOW)],
)
def test_episode_begins_when_it_started_and_never_after_it_was_admitted(
    started: int | None, concluded: int, t_valid: int
) -> None:
    times: dict[str, Any] = {"concluded_at": DAY + timedelta(days=concluded)}
    if started is not None:
        times["started_at"] = DAY + timedelta(days=started)
    [result] = Tables().remember(entry(said("A", **times), NOW))
    assert result.t_valid == t_valid


def test_resolutions_and_mentions_are_different_edges_and_each_mention_counts_once() -> None:
    tables = Tables()
    mention = {"type": "change", "ref": "deploy/1", "role": "cause"}
    tables.remember(entry(said("A", entities=[mention, mention, {**mention, "role": "resolution"}]), NOW))
    assert [(kind, edge["to"]) for kind, edge in tables.edges] == [
        ("MENTIONS", "change:deploy/1"),
        ("RESOLVED_BY", "change:deploy/1"),
    ]
    assert tables.entities["change:deploy/1"]["entity_type"] == "change"


def test_object_that_names_an_entity_is_linked_and_a_literal_is_not() -> None:
    tables = Tables()
    facts = [fact("service:ledger", predicate="calls"), fact("https://x.test/", predicate="docs"), fact("20")]
    tables.remember(entry(said("A", *facts), NOW))
    assert [edge["to"] for kind, edge in tables.edges if kind == "OBJECT"] == ["service:ledger"]


def test_entry_of_another_kind_passes_and_has_its_transaction_time() -> None:
    tables = Tables()
    other = entry(said("A"), NOW).model_copy(update={"kind": "alias", "incident": None})
    [result] = tables.remember(other)
    assert (result.change, result.t_created, result.episode_id) == ("passed", NOW, None)
    assert not current(tables.load(), other)
    assert (len(tables.entries), len(tables.episodes)) == (1, 0)


def test_same_names_of_different_origins_are_different_incidents() -> None:
    tables = Tables()
    results = tables.remember(entry(said("A"), NOW), entry(said("A", origin="grafana"), NOW + 1))
    assert [result.change for result in results] == ["remembered", "remembered"]


def test_recording_adds_to_the_memory_that_it_was_given() -> None:
    memory = Tables().load()
    logged = entry(said("A", fact("20")), NOW)
    assert record(memory, logged) is record(memory, logged)
    assert memory.watermark == NOW
    assert current(memory, logged)
