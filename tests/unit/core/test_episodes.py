"""What supersedes an incident: from when on, by whose word, and in whichever order the two arrive."""

from collections.abc import Sequence
from itertools import permutations

import pytest

from tests.unit.core.counterexamples import counterexample
from tests.unit.core.recorded_tables import Tables
from tests.unit.core.temporal_histories import Entry, Published, Purged, Superseded, logged
from twiceshy.core.temporal import FOREVER

NOW = 1_000
OLD, NEW, NEWER = "pagerduty/old", "grafana/new", "curated/newer"


def said(
    incident: str, starts_at: int, *supersedes: str, trust: float = 0.3, title: str = "It broke", number: int = 1
) -> Entry:
    return Published(
        incident,
        f"{incident} {number}",
        NOW + number,
        ce_time=number,
        trust=trust,
        title=title,
        starts_at=starts_at,
        supersedes=supersedes,
    )


def remembered(*history: Entry) -> Tables:
    """The tables after a history; each is one for which the oracle is asked too."""
    tables = Tables()
    for entry in logged(history):
        tables.remember(entry)
    assert counterexample(history) is None
    return tables


def holds(tables: Tables) -> dict[str, tuple[int, int]]:
    """By incident, the start and the end of the current version of its episode."""
    return {
        row["incident"]: (row["t_valid"], row["t_invalid"])
        for row in tables.episodes.values()
        if row["t_expired"] == FOREVER
    }


def edges(tables: Tables) -> list[tuple[str, str, int, str]]:
    """Successor, target, start and status of the edges that are believed."""
    return sorted(
        (
            *(str(tables.episodes[edge[end]]["incident"]) for end in ("from", "to")),
            edge["t_valid"],
            edge["status"],
        )
        for kind, edge in tables.edges
        if kind == "SUPERSEDES" and edge["t_expired"] == FOREVER
    )


def test_incident_that_is_superseded_holds_until_its_successor_begins() -> None:
    tables = remembered(said(OLD, 2), said(NEW, 9, OLD))
    assert holds(tables) == {OLD: (2, 9), NEW: (9, FOREVER)}
    assert edges(tables) == [(NEW, OLD, 9, "active")]


def test_successor_that_arrives_first_ends_the_incident_when_that_arrives() -> None:
    tables = remembered(said(NEW, 9, OLD), said(OLD, 2))
    assert holds(tables) == {OLD: (2, 9), NEW: (9, FOREVER)}
    assert edges(tables) == [(NEW, OLD, 9, "active")]


def test_version_that_ends_takes_the_mentions_with_it() -> None:
    tables = remembered(said(OLD, 2), said(NEW, 9, OLD))
    current = {row["version_id"] for row in tables.episodes.values() if row["t_expired"] == FOREVER}
    mentioned = [
        (edge["t_valid"], edge["t_invalid"], edge["t_expired"] == FOREVER)
        for kind, edge in tables.edges
        if kind in ("MENTIONS", "RESOLVED_BY") and tables.episodes[edge["from"]]["incident"] == OLD
    ]
    assert sorted(mentioned) == [*[(2, 9, True)] * 2, *[(2, FOREVER, False)] * 2]
    assert len(current) == 2


def test_reversion_says_which_version_took_the_place_of_which() -> None:
    tables = Tables()
    first, second = logged([said(OLD, 2), said(NEW, 9, OLD)])
    [before], [after] = tables.remember(first), tables.remember(second)
    [reversion] = after.reversions
    assert (reversion.incident, reversion.expired, reversion.t_valid, reversion.t_invalid) == (
        *(OLD, before.episode_id),
        *(2, 9),
    )
    made = tables.episodes[reversion.made]
    assert (made["copy_of"], made["said_at"], made["source"]) == (before.episode_id, before.t_created, first.event_id)


@pytest.mark.parametrize("order", permutations(range(2)))
def test_successor_that_is_trusted_less_contests_and_changes_nothing(order: Sequence[int]) -> None:
    both = [said(OLD, 2, trust=0.9), said(NEW, 9, OLD, trust=0.3)]
    tables = remembered(*(both[number] for number in order))
    assert holds(tables) == {OLD: (2, FOREVER), NEW: (9, FOREVER)}
    assert edges(tables) == [(NEW, OLD, 9, "contested")]
    assert len(tables.episodes) == 2


def test_successor_that_is_trusted_as_much_counts() -> None:
    assert holds(remembered(said(OLD, 2, trust=0.9), said(NEW, 9, OLD, trust=0.9)))[OLD] == (2, 9)


def test_target_that_comes_to_be_trusted_more_holds_again() -> None:
    corrected = said(OLD, 2, trust=0.9, title="It broke indeed", number=2)
    tables = remembered(said(OLD, 2), said(NEW, 9, OLD), corrected)
    assert holds(tables)[OLD] == (2, FOREVER)
    assert edges(tables) == [(NEW, OLD, 9, "contested")]


@pytest.mark.parametrize("order", permutations(range(3)))
def test_of_several_successors_the_one_that_begins_first_ends_the_incident(order: Sequence[int]) -> None:
    three = [said(OLD, 2), said(NEW, 9, OLD), said(NEWER, 5, OLD)]
    tables = remembered(*(three[number] for number in order))
    assert holds(tables)[OLD] == (2, 5)
    assert edges(tables) == [(NEWER, OLD, 5, "active"), (NEW, OLD, 9, "active")]


def test_successor_that_began_before_leaves_the_incident_no_time() -> None:
    assert holds(remembered(said(OLD, 5), said(NEW, 2, OLD)))[OLD] == (5, 5)


def test_correction_of_the_successor_moves_the_end() -> None:
    tables = remembered(said(OLD, 2), said(NEW, 9, OLD), said(NEW, 12, OLD, number=2))
    assert holds(tables)[OLD] == (2, 12)
    assert edges(tables) == [(NEW, OLD, 12, "active")]


def test_successor_that_says_so_no_longer_takes_it_back() -> None:
    tables = remembered(said(OLD, 2), said(NEW, 9, OLD), said(NEW, 9, number=2))
    assert holds(tables)[OLD] == (2, FOREVER)
    assert edges(tables) == []


def test_purge_of_the_successor_gives_the_incident_its_time_again() -> None:
    tables = remembered(said(OLD, 2), said(NEW, 9, OLD), Purged("grafana", NOW + 50))
    assert holds(tables) == {OLD: (2, FOREVER)}
    assert edges(tables) == []


def test_target_that_was_purged_is_ended_again_when_it_comes_again() -> None:
    history = [said(OLD, 2), said(NEW, 9, OLD), Purged("pagerduty", NOW + 50)]
    tables = remembered(*history)
    assert (holds(tables), edges(tables)) == ({NEW: (9, FOREVER)}, [])
    tables = remembered(*history, said(OLD, 2, number=60))
    assert (holds(tables)[OLD], edges(tables)) == ((2, 9), [(NEW, OLD, 9, "active")])


def test_chain_ends_each_incident_where_the_next_begins() -> None:
    tables = remembered(said(NEWER, 12, NEW), said(OLD, 2), said(NEW, 9, OLD))
    assert holds(tables) == {OLD: (2, 9), NEW: (9, 12), NEWER: (12, FOREVER)}


def test_two_that_supersede_each_other_end_each_other() -> None:
    tables = remembered(said(OLD, 2, NEW), said(NEW, 9, OLD))
    assert holds(tables) == {OLD: (2, 9), NEW: (9, 9)}


def test_incident_does_not_supersede_itself() -> None:
    tables = remembered(said(OLD, 2, OLD))
    assert (holds(tables), edges(tables)) == ({OLD: (2, FOREVER)}, [])


def test_person_ends_an_incident_whatever_it_is_trusted() -> None:
    tables = remembered(said(OLD, 2, trust=1.0), said(NEW, 9), Superseded(OLD, NEW, 7, NOW + 10))
    assert holds(tables)[OLD] == (2, 7)
    assert edges(tables) == [(NEW, OLD, 7, "active")]


def test_word_of_a_person_outlives_corrections_of_the_successor_and_not_its_purge() -> None:
    history = [said(OLD, 2), said(NEW, 9), Superseded(OLD, NEW, 7, NOW + 10), said(NEW, 8, title="Again", number=20)]
    assert holds(remembered(*history))[OLD] == (2, 7)
    history += [Purged("grafana", NOW + 30), said(NEW, 9, number=40)]
    assert holds(remembered(*history))[OLD] == (2, FOREVER)


def test_claim_that_counts_is_one_edge_with_the_same_claim_that_does_not() -> None:
    history = [said(OLD, 2, trust=0.9), said(NEW, 9, OLD), Superseded(OLD, NEW, 9, NOW + 10)]
    tables = remembered(*history)
    assert (holds(tables)[OLD], edges(tables)) == ((2, 9), [(NEW, OLD, 9, "active")])
    tables = remembered(*history, said(NEW, 9, OLD, title="It broke again", number=20))
    assert (holds(tables)[OLD], edges(tables)) == ((2, 9), [(NEW, OLD, 9, "active")])


def test_edges_of_other_successors_stay_as_they_are() -> None:
    tables = remembered(said(OLD, 2), said(NEW, 9, OLD))
    before = edges_of(tables)
    tables.remember(*logged([said(NEWER, 12, OLD)]))
    assert edges_of(tables).items() >= before.items()


def edges_of(tables: Tables) -> dict[str, int]:
    return {edge["version_id"]: edge["t_expired"] for kind, edge in tables.edges if kind == "SUPERSEDES"}


@pytest.mark.parametrize("successor", ["pagerduty/new", "pagerduty/renewed"])
def test_purge_of_both_since_a_moment_gives_each_back_as_it_was(successor: str) -> None:
    history = [
        said(OLD, 2),
        said(successor, 9, OLD, number=2),
        said(successor, 12, OLD, title="Again", number=50),
        said(OLD, 3, title="Again", number=51),
    ]
    tables = remembered(*history, Purged("pagerduty", NOW + 60, since=NOW + 50))
    assert holds(tables) == {OLD: (2, 9), successor: (9, FOREVER)}
