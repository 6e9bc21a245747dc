"""What the invalidation of an origin takes away, what it gives back, and who is turned away after it."""

import pytest

from tests.unit.core.commanded import (
    ASKED,
    NOW,
    OWNER,
    command,
    current,
    founders,
    refusal,
    remembered,
    said,
)
from tests.unit.core.recorded_tables import Tables
from tests.unit.core.temporal_histories import Entry, Purged, Unblocked, logged
from twiceshy.core.temporal import FOREVER
from twiceshy.events import chain
from twiceshy.events.common import instant


def test_purge_takes_away_what_an_origin_said_and_what_it_had_closed_is_believed_again() -> None:
    tables, result = remembered([said("p/1", "ada"), said("q/1", "eve", 5), Purged("q", NOW + 9)])
    assert tables.current() == {OWNER: [(0, FOREVER, "ada")]}
    assert (result.change, result.wide) == ("applied", True)
    assert result.counts == {
        "incidents": 1,
        "observations": 1,
        "facts_made": 1,
        "facts_expired": 2,
        "episodes_made": 0,
    }
    assert [row["incident"] for row in tables.episodes.values() if row["t_expired"] == NOW + 9] == ["q/1"]
    assert tables.incidents["q/1"]["episode_id"] == ""


def test_purge_deletes_nothing_and_is_itself_remembered() -> None:
    history = [said("p/1", "ada"), Purged("p", NOW + 9)]
    tables, _ = remembered(history)
    assert (len(tables.observations), len(tables.facts), len(tables.episodes)) == (1, 1, 1)
    [purge] = tables.purges.values()
    assert (purge["origin"], purge["since"], purge["at"], purge["block"]) == ("p", 0, NOW + 9, False)
    assert purge["unblocked_at"] == FOREVER


def test_purge_of_one_of_two_who_say_the_same_leaves_it_on_the_others_word() -> None:
    tables, _ = remembered([said("p/1", "ada"), said("q/1", "ada", 5), Purged("p", NOW + 9)])
    assert (current(tables), founders(tables)) == ({OWNER: [(5, "ada")]}, ["q/1"])


def test_purge_of_an_origin_that_said_nothing_is_applied_and_changes_nothing() -> None:
    tables, result = remembered([said("p/1", "ada"), Purged("P", NOW + 9)])
    assert current(tables) == {OWNER: [(0, "ada")]}
    assert not any(result.counts.values())


def test_older_revision_that_arrives_after_the_purge_stands() -> None:
    history = [said("p/1", "eve", ce_time=9), Purged("p", NOW + 9), said("p/1", "ada", number=20, ce_time=3)]
    tables, result = remembered(history)
    assert (result.change, current(tables)) == ("remembered", {OWNER: [(0, "ada")]})


def test_event_that_was_purged_and_is_delivered_again_stays_purged() -> None:
    history = [said("p/1", "ada"), Purged("p", NOW + 9)]
    tables, _ = remembered(history)
    [again] = tables.remember(*logged(history[:1]))
    assert (again.change, again.t_created, current(tables)) == ("remembered", NOW + 1, {})


def revised() -> list[Entry]:
    """Three revisions of one incident, learned at NOW + 1, + 2 and + 3."""
    return [
        said("p/1", owner, number=number, title=owner) for number, owner in enumerate(("ada", "bob", "eve"), start=1)
    ]


@pytest.mark.parametrize(("since", "owner"), [(4, "eve"), (3, "bob"), (2, "ada"), (1, None), (0, None), (-NOW, None)])
def test_purge_since_a_moment_gives_back_the_greatest_revision_from_before(since: int, owner: str | None) -> None:
    tables, _ = remembered([*revised(), Purged("p", NOW + 9, since=NOW + since)])
    assert current(tables) == ({OWNER: [(0, owner)]} if owner else {})
    titles = [row["body"] for row in tables.episodes.values() if row["t_expired"] == FOREVER]
    assert [f'"title":"{owner}"' in body for body in titles] == ([True] if owner else [])


def test_what_is_given_back_says_when_it_was_said_and_what_was_purged_stays_so() -> None:
    tables, _ = remembered([*revised(), Purged("p", NOW + 9, since=NOW + 3)])
    [observation] = [row for row in tables.observations.values() if row["t_retracted"] == FOREVER]
    [episode] = [row for row in tables.episodes.values() if row["t_expired"] == FOREVER]
    assert [(row["said_at"], row["t_created"]) for row in (observation, episode)] == [(NOW + 2, NOW + 9)] * 2
    assert {"source", "status", "confidence_score"} <= observation.keys()
    state = tables.incidents["p/1"]
    assert (state["event_id"], state["revised_at"], state["said_at"]) == ("p/1 2", 2, NOW + 2)


def test_revision_that_said_the_same_as_the_one_before_goes_without_a_version() -> None:
    same = [said("p/1", "ada"), said("p/1", "ada", number=2)]
    tables, result = remembered([*same, Purged("p", NOW + 9, since=NOW + 2)])
    assert (len(tables.facts), len(tables.episodes)) == (1, 1)
    assert result.counts["episodes_made"] == result.counts["facts_made"] == 0
    assert tables.incidents["p/1"]["event_id"] == "p/1 1"


def test_content_that_came_back_after_a_correction_is_given_back_as_it_first_was() -> None:
    history = [*revised(), said("p/1", "ada", number=4, title="ada")]
    tables, _ = remembered([*history, Purged("p", NOW + 9, since=NOW + 2)])
    [episode] = [row for row in tables.episodes.values() if row["t_expired"] == FOREVER]
    assert (episode["source"], episode["said_at"], current(tables)) == ("p/1 1", NOW + 1, {OWNER: [(0, "ada")]})


def test_two_purges_take_one_after_the_other() -> None:
    history = [*revised(), Purged("p", NOW + 9, since=NOW + 3), Purged("p", NOW + 10, since=NOW + 2)]
    tables, _ = remembered(history)
    assert current(tables) == {OWNER: [(0, "ada")]}
    assert current(remembered([*history, Purged("p", NOW + 11)])[0]) == {}


def test_what_was_given_back_once_can_be_given_back_again() -> None:
    history = [*revised(), Purged("p", NOW + 9, since=NOW + 2), said("p/1", "joe", number=20, title="joe")]
    tables, _ = remembered([*history, Purged("p", NOW + 30, since=NOW + 20)])
    assert current(tables) == {OWNER: [(0, "ada")]}
    assert [row["said_at"] for row in tables.observations.values() if row["t_retracted"] == FOREVER] == [NOW + 1]


def test_revision_between_what_was_given_back_and_what_was_purged_is_the_greatest() -> None:
    history = [*revised(), Purged("p", NOW + 9, since=NOW + 2)]
    tables, result = remembered([*history, said("p/1", "joe", number=20, ce_time=2)])
    assert (result.change, current(tables)) == ("corrected", {OWNER: [(0, "joe")]})


def test_incident_whose_earlier_episode_was_compacted_away_does_not_come_back() -> None:
    tables = Tables()
    for entry in logged(revised()):
        tables.remember(entry)
    tables.remember(command(chain.Compaction(kind="compaction", before=instant(NOW + 4), **ASKED), 4))
    [purge] = logged([Purged("p", NOW + 9, since=NOW + 3)])
    tables.remember(purge)
    assert (current(tables), tables.incidents["p/1"]["episode_id"]) == ({}, "")


def test_blocked_origin_is_turned_away_and_others_are_not() -> None:
    history: list[Entry] = [Purged("p", NOW, block=True), said("p/1", "ada")]
    tables, result = remembered(history)
    assert refusal(result) == ("rejected", "origin_blocked", True)
    assert (tables.facts, tables.episodes, tables.observations) == ({}, {}, {})
    assert current(remembered([*history, said("q/1", "eve")])[0]) == {OWNER: [(0, "eve")]}


def test_unblocked_origin_is_heard_again_and_what_it_said_meanwhile_stays_away() -> None:
    history = [Purged("p", NOW, block=True), said("p/1", "ada"), Unblocked("p", NOW + 9), said("p/2", "eve", number=20)]
    tables, result = remembered(history)
    assert (result.change, current(tables)) == ("remembered", {OWNER: [(0, "eve")]})
    assert [purge["unblocked_at"] for purge in tables.purges.values()] == [NOW + 9]


def test_unblock_ends_every_block_of_its_origin() -> None:
    blocks = [Purged("p", NOW, block=True), Purged("p", NOW + 1, block=True), Purged("q", NOW + 2, block=True)]
    tables, _ = remembered([*blocks, Unblocked("p", NOW + 3)])
    assert [purge["unblocked_at"] for purge in tables.purges.values()] == [NOW + 3, NOW + 3, FOREVER]


@pytest.mark.parametrize(
    "before",
    [[], [Purged("p", NOW)], [Purged("q", NOW, block=True)], [Purged("p", NOW, block=True), Unblocked("p", NOW)]],
)
def test_origin_that_is_not_blocked_cannot_be_unblocked(before: list[Entry]) -> None:
    _, result = remembered([*before, Unblocked("p", NOW + 9)])
    assert refusal(result) == ("rejected", "not_blocked", True)
