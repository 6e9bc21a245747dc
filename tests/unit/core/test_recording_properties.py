"""Batches and redeliveries leave no trace in a memory, and what it believes is what its live observations say."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.entries import entry
from tests.unit.core.recorded_tables import Tables
from twiceshy.core.temporal import FOREVER, believed, live
from twiceshy.events.chain import EntryLogged
from twiceshy.events.incident import IncidentConcluded

START = datetime(2026, 1, 1, tzinfo=UTC)
ADMITTED = 1_800_000_000_000


# A pool, for drawing each field of each fact costs more than all that is done with it.
FACTS = [
    {
        "subject": subject,
        "predicate": predicate,
        "object": thing,
        "holds": holds,
        "valid_from": START + timedelta(days=start),
        "valid_to": None if end is None else START + timedelta(days=end),
    }
    for subject, predicate in (("service:a", "single"), ("service:a", "many"), ("b|c", "single"))
    for thing, holds in (("x", True), ("service:a", True), ("c", True), ("x", False))
    for start, end in ((0, None), (0, 3), (2, None), (2, 6), (4, None), (5, 6))
]
MENTIONS = [{"type": "service", "ref": "a", "role": role} for role in ("affected", "resolution")]


def incidents(count: int) -> list[IncidentConcluded]:
    chance = Random(0)
    return [
        IncidentConcluded.model_validate(
            {
                "tenant": "default",
                "fingerprint": chance.choice("AB"),
                "title": chance.choice(("One", "Two")),
                "concluded_at": START,
                "origin": {"name": chance.choice("pq")},
                "facts": chance.sample(FACTS, chance.randint(0, 3)),
                "entities": chance.sample(MENTIONS, chance.randint(0, 2)),
            }
        )
        for _ in range(count)
    ]


entries = st.builds(
    entry,
    st.sampled_from(incidents(150)),
    st.integers(ADMITTED - 3, ADMITTED + 3),
    ce_id=st.sampled_from(("1", "2", "3")),
    ce_time=st.none() | st.integers(ADMITTED - 5, ADMITTED + 5),
    many_valued=st.sampled_from(((), ("many",))),
)
histories = st.lists(entries, min_size=1, max_size=10, unique_by=lambda logged: logged.event_id)


@st.composite
def delivered(draw: st.DrawFn) -> tuple[list[EntryLogged], list[list[EntryLogged]]]:
    """A history, and the same in batches, in which every entry comes for the first time in order, and some again."""
    history = draw(histories)
    again: list[EntryLogged] = []
    for number, logged in enumerate(history):
        again.append(logged)
        again += draw(st.lists(st.sampled_from(history[: number + 1]), max_size=2))
    number_of_batch = sorted(draw(st.lists(st.integers(0, 4), min_size=len(again), max_size=len(again))))
    split = groupby(zip(number_of_batch, again, strict=True), key=lambda pair: pair[0])
    return history, [[logged for _, logged in batch] for _, batch in split]


def one_by_one(history: Sequence[EntryLogged]) -> Tables:
    tables = Tables()
    for logged in history:
        tables.remember(logged)
    return tables


def told(tables: Tables) -> tuple[Any, ...]:
    """All that tables hold. The order of nodes and edges in a graph says nothing."""
    nodes = (tables.entries, tables.incidents, tables.entities, tables.episodes, tables.observations, tables.facts)
    return (tables.watermark, *nodes, sorted(map(repr, tables.edges)))


@given(delivered())
def test_batches_and_redeliveries_leave_the_memory_that_one_entry_after_the_other_leaves(
    delivery: tuple[list[EntryLogged], list[list[EntryLogged]]],
) -> None:
    history, batches = delivery
    tables = Tables()
    results = {logged.event_id: result for batch in batches for logged, result in zip_results(tables, batch)}
    alone = one_by_one(history)
    assert told(tables) == told(alone)
    assert {event_id: result.model_dump_json(exclude_defaults=True) for event_id, result in results.items()} == {
        event_id: row["result"] for event_id, row in alone.entries.items()
    }


def zip_results(tables: Tables, batch: Sequence[EntryLogged]) -> list[tuple[EntryLogged, Any]]:
    return list(zip(batch, tables.remember(*batch), strict=True))


@given(histories)
def test_versions_of_every_moment_are_what_is_believed_of_the_observations_of_that_moment(
    history: list[EntryLogged],
) -> None:
    tables = one_by_one(history)
    slots = {row["slot"] for row in tables.observations.values()}
    moments = [row["t_created"] for row in tables.entries.values()]
    for slot in slots:
        observed = [seen for seen in tables.observed() if seen.slot == slot]
        versions = [version for version in tables.versions() if version.slot == slot]
        for moment in (*moments, *(moment - 1 for moment in moments)):
            known = [v.segment for v in versions if v.t_created <= moment < v.t_expired]
            assert sorted(known, key=lambda segment: segment.start) == list(believed(live(observed, moment)))


@given(histories)
def test_one_revision_of_an_incident_is_current_and_it_is_the_greatest(history: list[EntryLogged]) -> None:
    tables = one_by_one(history)
    for key, row in tables.incidents.items():
        of_it = [e for e in history if e.incident and f"{e.incident.origin.name}/{e.incident.fingerprint}" == key]
        assert row["event_id"] == max(of_it, key=lambda logged: (logged.revised_at, logged.event_id)).event_id
        standing = [e for e in tables.episodes.values() if e["incident"] == key and e["t_expired"] == FOREVER]
        assert [episode["version_id"] for episode in standing] == [row["episode_id"]]


@given(histories)
def test_no_two_entries_share_a_transaction_time(history: list[EntryLogged]) -> None:
    stamps = [row["t_created"] for row in one_by_one(history).entries.values()]
    assert stamps == sorted(set(stamps))
    assert all(stamp >= logged.admitted_at for stamp, logged in zip(stamps, history, strict=True))
