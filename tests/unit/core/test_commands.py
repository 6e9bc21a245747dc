"""What each command but the invalidation of an origin does to a memory, and why it is refused."""

from typing import Any

import pytest

from tests.unit.core.commanded import (
    ASKED,
    CANONICAL,
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
from tests.unit.core.temporal_histories import Aliased, Purged, Superseded, Unaliased, logged
from twiceshy.core.temporal import FOREVER
from twiceshy.events import chain
from twiceshy.events.chain import LoggedCommand
from twiceshy.events.common import instant


def test_alias_makes_two_slots_one_and_counts_what_it_rewrote() -> None:
    history = [said("p/1", "ada"), said("q/1", "eve", 5, subject="service:payments")]
    tables, result = remembered([*history, Aliased("pay", "payments", NOW + 9)])
    assert current(tables) == {CANONICAL: [(0, "ada"), (5, "eve")]}
    assert (result.change, result.counts) == ("applied", {"facts_made": 1, "facts_expired": 1})
    assert result.t_created == NOW + 9


def test_alias_moves_no_observation_and_no_mention() -> None:
    history = [said("p/1", "ada"), Aliased("pay", "payments", NOW + 9)]
    tables, _ = remembered(history)
    [row] = tables.observations.values()
    assert (row["slot"], row["subject"], row["t_created"], row["t_retracted"]) == (
        OWNER,
        "service:pay",
        NOW + 1,
        FOREVER,
    )
    assert [edge["t_expired"] for kind, edge in tables.edges if kind == "MENTIONS"] == [FOREVER]


def test_alias_is_an_edge_between_the_names_as_they_were_said() -> None:
    tables, _ = remembered([Aliased("Pay ", "service:payments", NOW)])
    [(kind, edge)] = tables.edges
    assert (kind, edge["from"], edge["to"], edge["t_created"]) == ("ALIAS_OF", "Pay ", "service:payments", NOW)
    assert {row["folded"] for row in tables.entities.values()} == {"pay", "payments"}


def test_objects_compare_under_aliases_too() -> None:
    history = [said("p/1", "team-a"), said("q/1", "Team A", 5)]
    tables, _ = remembered([*history, Aliased("team-a", "Team A", NOW + 9)])
    assert tables.current() == {OWNER: [(0, FOREVER, "Team A")]}
    assert founders(tables) == ["p/1"]


def test_alias_of_objects_makes_slots_of_a_many_valued_predicate_one() -> None:
    many: dict[str, Any] = {"many_valued": ("owner",)}
    history = [said("p/1", "team-a", **many), said("q/1", "Team A", 5, holds=False, **many)]
    tables, _ = remembered(history)
    assert tables.current() == {f"{OWNER}|team-a": [(0, FOREVER, "team-a")]}
    tables, _ = remembered([*history, Aliased("team-a", "Team A", NOW + 9)])
    assert tables.current() == {f"{OWNER}|Team A": [(0, 5, "Team A")]}


def test_alias_holds_for_what_is_said_after_it() -> None:
    tables, _ = remembered([Aliased("pay", "payments", NOW), said("p/1", "ada")])
    assert current(tables) == {CANONICAL: [(0, "ada")]}
    assert [edge["to"] for kind, edge in tables.edges if kind == "SUBJECT"] == ["service:payments"]


def test_undoing_an_alias_restores_what_was() -> None:
    history = [said("p/1", "ada"), said("q/1", "eve", 5, subject="service:payments")]
    before, _ = remembered(history)
    history += [Aliased("pay", "payments", NOW + 9), Unaliased(" PAY", "Payments", NOW + 20)]
    after, result = remembered(history)
    assert before.current() == after.current()
    assert (result.change, result.counts) == ("applied", {"facts_made": 1, "facts_expired": 1})
    assert [edge["t_expired"] for kind, edge in after.edges if kind == "ALIAS_OF"] == [NOW + 20]


@pytest.mark.parametrize(
    ("alias", "canonical", "reason"),
    [
        ("PAY", "payments", "alias_known"),
        ("pay", "checkout", "alias_taken"),
        ("payments", "pay", "alias_cycle"),
        ("till", "Till", "alias_of_itself"),
    ],
)
def test_alias_that_cannot_be_made_is_refused_and_changes_nothing(alias: str, canonical: str, reason: str) -> None:
    history = [said("p/1", "ada"), Aliased("pay", "payments", NOW + 9)]
    before, _ = remembered(history)
    after = Tables()
    *_, [result] = [after.remember(entry) for entry in logged([*history, Aliased(alias, canonical, NOW + 20)])]
    assert refusal(result) == ("rejected", reason, True)
    assert (before.facts, before.edges) == (after.facts, after.edges)
    assert after.watermark == NOW + 20


@pytest.mark.parametrize(
    ("alias", "canonical"), [("pay", "checkout"), ("payments", "pay"), ("service:pay", "payments")]
)
def test_alias_that_is_not_there_cannot_be_undone(alias: str, canonical: str) -> None:
    _, result = remembered([Aliased("pay", "payments", NOW), Unaliased(alias, canonical, NOW + 1)])
    assert refusal(result) == ("rejected", "no_such_alias", True)


@pytest.mark.parametrize(
    ("target", "by", "reason"),
    [
        ("p/2", "q/1", "unknown_incident"),
        ("p/1", "q/2", "unknown_incident"),
        ("p/1", "p/1", "supersedes_itself"),
        ("r/1", "p/1", "unknown_incident"),
    ],
)
def test_supersession_of_what_is_not_remembered_is_refused(target: str, by: str, reason: str) -> None:
    history = [said("p/1", "ada"), said("q/1", "eve"), said("r/1", "joe"), Purged("r", NOW + 5)]
    tables, result = remembered([*history, Superseded(target, by, 5, NOW + 9)])
    assert refusal(result) == ("rejected", reason, True)
    assert {row["t_invalid"] for row in tables.episodes.values()} == {FOREVER}


def test_supersession_ends_an_episode_and_says_which() -> None:
    tables, result = remembered([said("p/1", "ada"), said("q/1", "eve"), Superseded("p/1", "q/1", 5, NOW + 9)])
    [reversion] = result.reversions
    assert (reversion.incident, reversion.t_invalid, result.counts) == ("p/1", 5, {"episodes_made": 1})
    assert tables.episodes[reversion.made]["t_invalid"] == 5
    assert tables.episodes[reversion.expired]["t_expired"] == NOW + 9


def test_same_supersession_again_makes_nothing() -> None:
    history = [said("p/1", "ada"), said("q/1", "eve"), *[Superseded("p/1", "q/1", 5, NOW + at) for at in (8, 9)]]
    tables, result = remembered(history)
    assert (result.change, result.reversions) == ("applied", ())
    assert len([kind for kind, _ in tables.edges if kind == "SUPERSEDES"]) == 1


def test_compaction_moves_the_horizon_and_never_back() -> None:
    tables = Tables()
    for number, before in ((1, NOW), (2, NOW - 5), (3, NOW + 3)):
        compaction = chain.Compaction(kind="compaction", before=instant(before), **ASKED)
        [result] = tables.remember(command(compaction, number))
        assert (result.change, result.t_created) == ("applied", NOW + number)
    assert tables.horizon == NOW + 3


def test_compaction_of_what_is_to_come_is_refused() -> None:
    tables = Tables()
    [result] = tables.remember(command(chain.Compaction(kind="compaction", before=instant(NOW + 100), **ASKED), 99))
    assert (refusal(result), tables.horizon) == (("rejected", "in_the_future", True), 0)


@pytest.mark.parametrize(
    "of",
    [
        chain.MistakeResolution(kind="mistake-resolution", id="x", **ASKED),
        chain.Switch(kind="switch", generation="g2", **ASKED),
    ],
)
def test_command_of_another_stage_passes_and_has_its_transaction_time(of: LoggedCommand) -> None:
    tables = Tables()
    [result] = tables.remember(command(of))
    assert (result.change, result.t_created, tables.watermark) == ("passed", NOW + 99, NOW + 99)
    assert list(tables.by_label()) == ["Entry"]


def test_command_that_comes_again_changes_nothing_and_has_the_result_that_it_had() -> None:
    history = logged([said("p/1", "ada"), Aliased("pay", "payments", NOW + 9), Purged("p", NOW + 20)])
    tables = Tables()
    results = tables.remember(*history)
    before = repr(tables)
    assert tables.remember(*reversed(history)) == results[::-1]
    assert repr(tables) == before
