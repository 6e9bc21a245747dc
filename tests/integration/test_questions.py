"""Questions about what memory holds, and recall, over real stores: both axes of time, names, purges, successors."""

import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.memory import Memory, memory
from twiceshy import render
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.items import Episode, Fact, Item, Lesson, Playbook, Rule
from twiceshy.events.recall import (
    AliasesReplied,
    AliasesRequested,
    EntitiesReplied,
    EntitiesRequested,
    HistoryReplied,
    HistoryRequested,
    ItemsReplied,
    ItemsRequested,
    RecallReplied,
    ValueReplied,
    ValueRequested,
)

TENANTS = tuple(f"team-{number}" for number in range(60))
TRUSTED, USUAL, LITTLE = 0.9, 0.3, 0.05
ORIGINS = {"curated": {"trust": TRUSTED}, "rumours": {"trust": LITTLE}, "handbook": {"trust": 1.0}}
FAR = 10_000


def day(number: float) -> datetime:
    """The days of these tests are numbered."""
    return datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=number)


@pytest.fixture(scope="module")
async def memory_of_all() -> AsyncIterator[Memory]:
    async with memory(tenants=TENANTS, origins=ORIGINS, many_valued=("depends_on",)) as empty:
        yield empty


@pytest.fixture(scope="module")
def unused() -> Iterator[str]:
    return iter(TENANTS)


@pytest.fixture
def team(memory_of_all: Memory, unused: Iterator[str]) -> "Team":
    """An empty memory of its own for each test."""
    return Team(memory_of_all, next(unused))


@dataclass
class Team:
    memory: Memory
    tenant: str

    async def say(self, learned: float, fingerprint: str, *facts: Any, origin: str = "pagerduty", **told: Any) -> None:
        """An incident that memory learns of on a day, with facts."""
        incident = {
            "tenant": self.tenant,
            "fingerprint": fingerprint,
            "title": f"The case {fingerprint}",
            "concluded_at": day(1),
            "origin": {"name": origin},
            "facts": facts,
        }
        [outcome] = await self.memory.remember(IncidentConcluded.model_validate(incident | told), at=day(learned))
        assert outcome.known_at == day(learned)

    async def order(self, given: float, kind: str, **fields: Any) -> None:
        outcome = await self.memory.command(kind, tenant=self.tenant, given_at=day(given), **fields)
        assert (outcome.outcome, outcome.known_at) == ("applied", day(given)), outcome

    async def value(
        self, subject: str, predicate: str, as_of: float = FAR, known_at: float | None = None
    ) -> ValueReplied:
        reply = await self.memory.put(
            ValueRequested(
                tenant=self.tenant,
                subject=subject,
                predicate=predicate,
                as_of=day(as_of),
                known_at=None if known_at is None else day(known_at),
            )
        )
        assert isinstance(reply, ValueReplied)
        return reply

    async def held(self, subject: str, predicate: str, as_of: float = FAR, known_at: float | None = None) -> list[str]:
        reply = await self.value(subject, predicate, as_of, known_at)
        assert reply.status == "ok", reply
        return [fact.object for fact in reply.facts]

    async def history(self, subject: str, predicate: str) -> HistoryReplied:
        reply = await self.memory.put(HistoryRequested(tenant=self.tenant, subject=subject, predicate=predicate))
        assert isinstance(reply, HistoryReplied)
        assert reply.status == "ok", reply
        return reply

    async def entities(self, fingerprint: str, **when: Any) -> EntitiesReplied:
        asked = EntitiesRequested(tenant=self.tenant, origin="pagerduty", fingerprint=fingerprint, **when)
        reply = await self.memory.put(asked)
        assert isinstance(reply, EntitiesReplied)
        return reply

    async def fetch(self, *ids: str) -> ItemsReplied:
        reply = await self.memory.put(ItemsRequested(tenant=self.tenant, ids=ids))
        assert isinstance(reply, ItemsReplied)
        assert reply.status == "ok", reply
        return reply

    async def aliases(self, known_at: float | None = None) -> AliasesReplied:
        asked = AliasesRequested(tenant=self.tenant, known_at=None if known_at is None else day(known_at))
        reply = await self.memory.put(asked)
        assert isinstance(reply, AliasesReplied)
        return reply

    async def ask(self, query: str = "", **fields: Any) -> RecallReplied:
        for axis in ("as_of", "known_at"):
            if axis in fields:
                fields[axis] = day(fields[axis])
        reply = await self.memory.ask(query, tenant=self.tenant, **fields)
        assert (reply.status, reply.partial) == ("ok", False), reply
        return reply

    async def found(self, query: str = "", **fields: Any) -> list[str]:
        return [episode.fingerprint for episode in (await self.ask(query, **fields)).results]


def fact(said: str, valid_from: float, valid_to: float | None = None, **told: Any) -> dict[str, Any]:
    """Of alice, who works somewhere, if nothing else is told."""
    return {
        "subject": "person:alice",
        "predicate": "works_at",
        "object": said,
        "valid_from": day(valid_from),
        "valid_to": None if valid_to is None else day(valid_to),
        **told,
    }


ALICE = ("person:alice", "works_at")


async def test_worked_example(team: Team) -> None:
    await team.say(100, "one", fact("acme", 100))
    await team.say(205, "two", fact("beta", 200))
    await team.say(300, "three", fact("gamma", 150))
    for as_of, known_at, expected in (
        (120, 400, ["acme"]),
        (180, 400, ["gamma"]),
        (180, 250, ["acme"]),
        (250, 203, ["acme"]),
        (250, 400, ["beta"]),
        (250, 99, []),
    ):
        assert await team.held(*ALICE, as_of, known_at) == expected, (as_of, known_at)
        recalled = await team.ask(entities=["person:alice"], as_of=as_of, known_at=known_at)
        assert [told.object for told in recalled.facts] == expected, (as_of, known_at)


async def test_correction_of_the_start_is_believed_in_its_place(team: Team) -> None:
    await team.say(100, "one", fact("acme", 100))
    await team.say(205, "two", fact("beta", 200))
    await team.say(300, "two", fact("gamma", 150))
    assert await team.held(*ALICE, 250) == ["gamma"]
    assert await team.held(*ALICE, 250, 299) == ["beta"]


async def test_what_was_not_taken_back_holds_after_an_exception_until_nothing_does(team: Team) -> None:
    await team.say(100, "one", fact("acme", 100))
    await team.say(200, "two", fact("acme", 100, 300))
    assert await team.held(*ALICE, 400) == ["acme"]
    await team.say(400, "three", fact("acme", 300, holds=False))
    assert await team.held(*ALICE, 400) == []
    assert await team.held(*ALICE, 400, 399) == ["acme"]


async def test_the_same_said_again_makes_no_version_and_reaffirms(team: Team) -> None:
    await team.say(100, "one", fact("acme", 100))
    await team.say(200, "two", fact("acme", 160))
    [version] = (await team.history(*ALICE)).versions
    assert (version.founder, version.reaffirmed_by, version.access_count) == (
        "pagerduty/one",
        ("pagerduty/two",),
        1,
    )
    assert len(version.rests_on) == 2
    assert (version.t_valid, version.t_invalid, version.t_expired) == (day(100), None, None)


async def test_a_fact_stays_on_the_word_of_whoever_is_left(team: Team) -> None:
    await team.say(100, "one", fact("acme", 100), origin="curated")
    await team.say(150, "two", fact("acme", 100), origin="rumours")
    assert [told.trust for told in (await team.value(*ALICE)).facts] == [TRUSTED]
    await team.order(200, "origin-invalidation", origin="curated")
    for known_at in (None, 160):
        reply = await team.value(*ALICE, known_at=known_at)
        assert [(told.object, told.origin, told.trust) for told in reply.facts] == [("acme", "rumours", LITTLE)]
        assert reply.withheld == ()
    assert (await team.value(*ALICE, known_at=120)).facts == ()


async def test_a_history_is_told_from_its_beginning_with_who_closed_what(team: Team) -> None:
    await team.say(100, "one", fact("acme", 100))
    await team.say(205, "two", fact("beta", 200))
    reply = await team.history(*ALICE)
    first, second, third = reply.versions
    assert [(v.object, v.t_valid, v.t_invalid, v.ingested_at, v.t_expired) for v in reply.versions] == [
        ("acme", day(100), None, day(100), day(205)),
        ("acme", day(100), day(200), day(205), None),
        ("beta", day(200), None, day(205), None),
    ]
    assert set(first.superseded_by) == {second.id, third.id}
    assert second.supersedes == third.supersedes == (first.id,)
    assert (first.invalidated_at, first.invalidated_by_event) == (day(205), third.source)
    assert (reply.known_at, reply.truncated, reply.names) == (day(205), False, ("person:alice",))
    assert [version.withheld for version in reply.versions] == [None, None, None]


async def test_a_subject_without_a_type_means_each_of_that_name(team: Team) -> None:
    owner = {"predicate": "owner", "valid_from": day(1)}
    said = [{"subject": f"{kind}:Ledger", "object": kind, **owner} for kind in ("service", "datastore")]
    await team.say(10, "one", *said, {"subject": "ledger", "object": "nobody", **owner})
    assert sorted(await team.held("ledger", "owner")) == ["datastore", "nobody", "service"]
    assert await team.held("service:ledger", "owner") == ["service"]
    assert await team.held("team:ledger", "owner") == []
    assert len((await team.history("LEDGER", "owner")).versions) == 3


async def test_many_objects_hold_side_by_side_and_end_one_by_one(team: Team) -> None:
    parts: dict[str, Any] = {"subject": "service:shop", "predicate": "depends_on"}
    await team.say(10, "one", fact("db", 1, **parts), fact("cache", 1, **parts))
    await team.say(20, "two", fact("db", 15, holds=False, **parts))
    assert await team.held("service:shop", "depends_on") == ["cache"]
    assert await team.held("service:shop", "depends_on", 14) == ["cache", "db"]


# Aliases


async def test_aliases_are_made_and_undone_in_every_read(team: Team) -> None:
    owner: dict[str, Any] = {"subject": "service:payments-svc", "predicate": "owner"}
    entity = {"type": "service", "role": "affected"}
    await team.say(
        10, "old-name", fact("team-a", 10, **owner), entities=[{"ref": "payments-svc", **entity}], concluded_at=day(1)
    )
    await team.say(20, "new-name", entities=[{"ref": "payments", **entity}], concluded_at=day(2))
    assert await team.held("service:payments", "owner") == []
    await team.order(30, "alias", canonical="payments", alias="payments-svc")
    await team.order(40, "alias", canonical="payments-svc", alias="Payments API")
    for name in ("service:payments", "payments-svc", "Payments API", "service:Payments API"):
        reply = await team.value(name, "owner")
        assert [(told.subject, told.object) for told in reply.facts] == [("service:payments", "team-a")], name
        assert {"Payments API", "payments", "payments-svc"} <= set(reply.names)
        recalled = await team.ask(entities=[name])
        assert [one.fingerprint for one in recalled.results] == ["new-name", "old-name"]
        assert recalled.unknown_entities == ()
        assert [one.why.entities for one in recalled.results] == [("service:payments",)] * 2
        assert [told.object for told in recalled.facts] == ["team-a"]
    assert await team.found(entities=["service:payments"], known_at=25) == ["new-name"]
    assert (await team.ask(entities=["Payments API"], known_at=25)).unknown_entities == ("Payments API",)
    assert await team.held("service:payments", "owner", known_at=25) == []
    assert await team.held("service:payments-svc", "owner", known_at=25) == ["team-a"]
    await team.order(50, "unalias", canonical="payments", alias="payments-svc")
    assert await team.held("service:payments", "owner") == []
    assert await team.held("Payments API", "owner") == ["team-a"]
    assert await team.held("service:payments", "owner", known_at=45) == ["team-a"]
    assert await team.found(entities=["payments"]) == ["new-name"]
    assert await team.found(entities=["Payments API"]) == ["old-name"]


async def test_a_history_is_read_under_every_name_of_the_moment(team: Team) -> None:
    owner: dict[str, Any] = {"predicate": "owner"}
    await team.say(10, "one", fact("team-a", 10, subject="service:pay", **owner))
    await team.say(20, "two", fact("team-b", 20, subject="service:payments", **owner))
    assert [v.object for v in (await team.history("service:pay", "owner")).versions] == ["team-a"]
    await team.order(30, "alias", canonical="service:payments", alias="service:pay")
    expected = [
        ("service:pay", "team-a", day(10), None, day(30)),
        ("service:payments", "team-a", day(10), day(20), None),
        ("service:payments", "team-b", day(20), None, None),
    ]
    for name in ("service:pay", "service:payments"):
        versions = (await team.history(name, "owner")).versions
        told = [(v.subject, v.object, v.t_valid, v.t_invalid, v.t_expired) for v in versions]
        assert sorted(told, key=str) == sorted(expected, key=str)
        assert all(version.rests_on and version.trust == USUAL for version in versions)
    await team.order(40, "unalias", canonical="service:payments", alias="service:pay")
    assert [(v.object, v.t_expired) for v in (await team.history("service:pay", "owner")).versions] == [
        ("team-a", day(30)),
        ("team-a", None),
    ]


async def test_aliases_are_listed_with_what_they_come_to(team: Team) -> None:
    await team.order(10, "alias", canonical="payments", alias="payments-svc")
    await team.order(20, "alias", canonical="payments-svc", alias="pay")
    await team.order(30, "unalias", canonical="payments", alias="payments-svc")
    listed = [(one.alias, one.canonical, one.resolved, one.since) for one in (await team.aliases(known_at=25)).aliases]
    assert listed == [("payments-svc", "payments", "payments", day(10)), ("pay", "payments-svc", "payments", day(20))]
    assert [(one.alias, one.resolved) for one in (await team.aliases()).aliases] == [("pay", "payments-svc")]
    assert (await team.aliases(known_at=5)).aliases == ()


# What an incident mentions


async def test_entities_of_an_incident_are_those_of_its_version_of_the_moment(team: Team) -> None:
    first = [{"type": "service", "ref": "shop", "role": "affected"}]
    second = [*first, {"type": "change", "ref": "rollback/1", "role": "resolution"}]
    await team.say(10, "one", entities=first, started_at=day(0.5))
    await team.say(20, "one", entities=second, started_at=day(0.5))
    await team.order(30, "alias", canonical="storefront", alias="shop")
    reply = await team.entities("one")
    assert [(e.key, e.role, e.canonical) for e in reply.entities] == [
        ("change:rollback/1", "resolution", None),
        ("service:shop", "affected", "service:storefront"),
    ]
    assert [(e.t_valid, e.t_invalid, e.ingested_at) for e in reply.entities] == [(day(0.5), None, day(20))] * 2
    [shown] = (await team.fetch(reply.episode_id or "")).items
    assert isinstance(shown, Episode)
    assert shown.fingerprint == "one"
    earlier = await team.entities("one", known_at=day(15))
    assert [(e.key, e.canonical) for e in earlier.entities] == [("service:shop", None)]
    assert (await team.entities("one", as_of=day(0.4))).entities == ()
    nobody = await team.entities("nobody")
    assert (nobody.status, nobody.episode_id, nobody.entities) == ("ok", None, ())


# Purges


async def test_what_was_purged_is_withheld_from_every_read_of_every_moment(team: Team) -> None:
    told: dict[str, Any] = {
        "title": "The quagmire cache lost its keys",
        "resolution": "Restarted.",
        "steps": ["restart"],
        "mistakes": [{"category": "missing-alert", "statement": "Nothing alerted."}],
        "entities": [
            {"type": "service", "ref": "cache", "role": "affected"},
            {"type": "person", "ref": "alice", "role": "implicated"},
        ],
    }
    for number, origin in enumerate(("pagerduty", "pagerduty", "curated")):
        await team.say(10 + number, f"f{number}", fact("acme" if number < 2 else "beta", 100 + 100 * (number > 1)),
                       origin=origin, **told)  # fmt: skip
    before = await team.ask("quagmire cache", limit=10)
    assert sorted(one.fingerprint for one in before.results) == ["f0", "f1", "f2"]
    assert (len(before.lessons), len(before.playbooks), len(before.mistakes), len(before.rules)) == (3, 3, 3, 1)
    assert await team.held(*ALICE, 150) == ["acme"]
    ids = [item.id for part in (before.results, before.lessons, before.playbooks, before.mistakes) for item in part]
    ids += [item.id for item in (*before.rules, *(await team.value(*ALICE, 150)).facts)]
    assert (await team.fetch(*ids)).missing_ids == ()
    await team.order(20, "origin-invalidation", origin="pagerduty")
    for known_at in (None, 15):
        when: dict[str, Any] = {} if known_at is None else {"known_at": known_at}
        for question in ({"query": "quagmire cache"}, {"entities": ["service:cache"]}):
            reply = await team.ask(**question, **when, limit=10)
            assert [one.fingerprint for one in reply.results] == ["f2"]
            for part in (reply.lessons, reply.playbooks, reply.mistakes):
                assert [item.origin for item in part] == ["curated"]
            assert reply.rules == ()
            assert [told.object for told in reply.facts] == ["beta"]
            assert reply.withheld == (("origin_purge",) if known_at else ())
        value = await team.value(*ALICE, 150, known_at)
        assert (value.facts, value.withheld) == ((), ("origin_purge",) if known_at else ())
        gone = await team.entities("f0", **{axis: day(at) for axis, at in when.items()})
        assert (gone.entities, gone.episode_id) == ((), None)
        assert gone.withheld == (("origin_purge",) if known_at else ())
    kept = {item.id for part in (before.results, before.lessons, before.playbooks, before.mistakes) for item in part
            if item.origin == "curated"}  # fmt: skip
    fetched = await team.fetch(*ids)
    assert {item.id for item in fetched.items} == kept
    assert fetched.missing_ids == tuple(item_id for item_id in ids if item_id not in kept)
    assert fetched.withheld == ("origin_purge",)
    assert [(v.object, v.withheld) for v in (await team.history(*ALICE)).versions] == [
        *[("acme", "origin_purge")] * 3,
        ("beta", None),
    ]


async def test_what_a_purge_leaves_is_what_was_said_before_it_began(team: Team) -> None:
    await team.say(10, "one", fact("acme", 1), title="The heron gateway melted", resolution="Cooled.")
    await team.say(30, "one", fact("beta", 1), title="The heron gateway melted", resolution="Poisoned.")
    await team.order(40, "origin-invalidation", origin="pagerduty", since=day(20))
    for known_at, resolution in ((None, "Cooled."), (15, "Cooled."), (35, None)):
        reply = await team.ask("heron gateway melted", **({} if known_at is None else {"known_at": known_at}))
        assert [one.resolution for one in reply.results] == ([resolution] if resolution else [])
        assert [f"“{resolution}”" in lesson.text for lesson in reply.lessons] == ([True] if resolution else [])
        assert await team.held(*ALICE, known_at=known_at) == (["acme"] if resolution else [])
    assert [(v.object, v.withheld) for v in (await team.history(*ALICE)).versions] == [
        ("acme", None),
        ("beta", "origin_purge"),
        ("acme", None),
    ]


async def test_what_derives_from_a_purged_incident_is_trusted_little(team: Team) -> None:
    def after(fingerprint: str, origin: str = "curated") -> dict[str, Any]:
        return {"derived_from": [{"origin": origin, "fingerprint": fingerprint}], "resolution": "Drained."}

    await team.say(10, "source", title="The walrus broker stalled")
    await team.say(20, "first", title="The walrus broker stalled", origin="curated", **after("source", "pagerduty"))
    await team.say(30, "second", fact("acme", 1), title="The walrus broker", origin="curated", **after("first"))
    await team.say(40, "other", fact("acme", 2), title="The walrus broker", origin="curated", resolution="Drained.")
    assert {one.trust for one in (await team.ask("walrus broker")).results} == {USUAL, TRUSTED}
    await team.order(50, "origin-invalidation", origin="pagerduty")
    await team.say(60, "late", title="The walrus broker", origin="curated", **after("source", "pagerduty"))
    reply = await team.ask("walrus broker", limit=10)
    trusts = {one.fingerprint: one.trust for one in reply.results}
    assert trusts == {"first": 0.1, "second": 0.1, "late": 0.1, "other": TRUSTED}
    by_id = {one.id: one.trust for one in reply.results}
    assert len(reply.lessons) == 4
    assert all(lesson.trust == by_id[lesson.rests_on[0]] for lesson in reply.lessons)
    shown = (await team.fetch(*by_id, *(lesson.id for lesson in reply.lessons))).items
    assert {item.id: item.trust for item in shown} == by_id | {one.id: one.trust for one in reply.lessons}
    assert [told.trust for told in (await team.value(*ALICE)).facts] == [TRUSTED]
    assert [told.trust for told in (await team.value(*ALICE, known_at=35)).facts] == [0.1]


# Contested


async def test_a_fact_that_displaced_what_is_trusted_more_is_contested(team: Team) -> None:
    await team.say(10, "sure", fact("acme", 100), origin="curated")
    await team.say(20, "maybe", fact("beta", 200), origin="rumours")
    [told] = (await team.value(*ALICE, 250)).facts
    assert (told.object, told.contested) == ("beta", True)
    [claim] = told.contested_by
    assert (claim.object, claim.holds, claim.origin, claim.trust, claim.valid_from, claim.valid_to) == (
        "acme",
        True,
        "curated",
        TRUSTED,
        day(100),
        None,
    )
    [before] = (await team.value(*ALICE, 150)).facts
    assert (before.object, before.contested) == ("acme", False)
    [recalled] = (await team.ask(entities=["person:alice"])).facts
    assert (recalled.id, recalled.contested_by) == (told.id, told.contested_by)
    [fetched] = (await team.fetch(told.id)).items
    assert isinstance(fetched, Fact)
    assert fetched.contested_by == told.contested_by
    assert [version.contested for version in (await team.history(*ALICE)).versions] == [False, False, True]
    await team.say(30, "maybe-not", fact("beta", 200), origin="curated")
    assert [told.contested for told in (await team.value(*ALICE, 250)).facts] == [False]


async def test_where_nothing_holds_by_little_trust_the_displaced_is_told(team: Team) -> None:
    await team.say(10, "sure", fact("acme", 100), origin="curated")
    await team.say(20, "maybe", fact("acme", 200, holds=False), origin="rumours")
    reply = await team.value(*ALICE, 250)
    assert (reply.facts, [claim.object for claim in reply.contested_by]) == ((), ["acme"])
    assert (await team.value(*ALICE, 150)).contested_by == ()
    await team.say(30, "surely-not", fact("acme", 200, holds=False), origin="curated")
    assert (await team.value(*ALICE, 250)).contested_by == ()


async def test_no_reply_lets_little_trust_win_over_full_trust_unseen(team: Team) -> None:
    await team.say(10, "sure", fact("acme", 100), fact("20", 100, predicate="pool_size"), origin="handbook")
    await team.say(20, "doubt", fact("beta", 200), fact("20", 200, predicate="pool_size", holds=False))
    reply = await team.ask(entities=["person:alice"])
    [told] = reply.facts
    assert (told.object, told.trust, told.contested) == ("beta", USUAL, True)
    assert [(claim.object, claim.origin, claim.trust) for claim in told.contested_by] == [("acme", "handbook", 1.0)]
    [denied] = reply.denied
    assert (denied.subject, denied.predicate) == ("person:alice", "pool_size")
    assert denied.denied_by is not None
    assert (denied.denied_by.origin, denied.denied_by.trust, denied.denied_by.holds) == ("pagerduty", USUAL, False)
    assert [(claim.object, claim.origin, claim.trust) for claim in denied.contested_by] == [("20", "handbook", 1.0)]
    prompt = render(reply)
    assert "> It was: person:alice works_at beta" in prompt
    assert "> Contested: the origin “handbook”, which is trusted more (1.00), said that from" in prompt
    assert "> Of “person:alice” “pool_size” nothing held, by the word of the origin “pagerduty” (trust 0.30)." in prompt
    assert (await team.ask(entities=["person:alice"], known_at=15)).denied == ()
    assert (await team.ask(entities=["person:alice"], as_of=150)).denied == ()
    await team.order(30, "origin-invalidation", origin="pagerduty")
    assert (await team.ask(entities=["person:alice"])).denied == ()


async def test_what_is_rightly_denied_or_over_is_no_contest(team: Team) -> None:
    await team.say(10, "sure", fact("acme", 100), fact("20", 100, valid_to=150, predicate="pool_size"))
    await team.say(20, "over", fact("acme", 200, holds=False), origin="curated")
    reply = await team.ask(entities=["person:alice"])
    assert (reply.facts, reply.denied) == ((), ())


async def test_one_of_many_objects_is_denied_by_itself(team: Team) -> None:
    said = [fact(name, 100, predicate="depends_on") for name in ("db", "cache")]
    await team.say(10, "sure", *said, origin="curated")
    await team.say(20, "doubt", fact("db", 200, predicate="depends_on", holds=False), origin="rumours")
    reply = await team.ask(entities=["person:alice"])
    assert [told.object for told in reply.facts] == ["cache"]
    assert [[claim.object for claim in denied.contested_by] for denied in reply.denied] == [["db"]]


# In how many incidents, of how many origins


async def test_a_fact_says_by_how_many_incidents_and_origins_it_was_seen(team: Team) -> None:
    await team.say(10, "first", fact("acme", 100))
    await team.say(20, "second", fact("acme", 120))
    await team.say(30, "third", fact("acme", 130), origin="curated")
    await team.say(40, "third", fact("acme", 130), origin="curated", title="Told again")

    async def seen(**when: Any) -> list[tuple[int | None, int | None]]:
        reply = await team.ask(entities=["person:alice"], **when)
        [fetched] = (await team.fetch(reply.facts[0].id)).items if not when else reply.facts
        [version] = (await team.history(*ALICE)).versions
        assert isinstance(fetched, Fact)
        assert (fetched.incidents, fetched.origins) == (reply.facts[0].incidents, reply.facts[0].origins)
        assert when or (version.incidents, version.origins) == (fetched.incidents, fetched.origins)
        return [(told.incidents, told.origins) for told in reply.facts]

    assert [await seen(known_at=known_at) for known_at in (15, 25, 35)] == [[(1, 1)], [(2, 1)], [(3, 2)]]
    assert await seen() == [(3, 2)]
    await team.order(50, "origin-invalidation", origin="curated")
    assert await seen() == [(2, 1)]


async def test_a_rule_says_by_how_many_incidents_and_origins_it_was_seen(team: Team) -> None:
    told: dict[str, Any] = {"mistakes": [{"category": "missing-alert", "statement": "Nothing alerted."}]}
    for number, origin in enumerate(("pagerduty", "pagerduty", "pagerduty", "curated", "rumours")):
        await team.say(10 + number, f"f{number}", title="The gannet dived", origin=origin, **told)

    async def seen() -> tuple[int, int | None]:
        [rule] = (await team.ask("gannet dived")).rules
        [fetched] = (await team.fetch(rule.id)).items
        assert isinstance(fetched, Rule)
        assert (fetched.incidents, fetched.origins) == (rule.incidents, rule.origins)
        return rule.incidents, rule.origins

    assert await seen() == (5, 3)
    await team.order(30, "origin-invalidation", origin="rumours")
    assert await seen() == (4, 2)


async def test_what_speaks_of_risky_actions_is_labelled(team: Team) -> None:
    told: dict[str, Any] = {"title": "The egret was blocked", "steps": ["setenforce 0", "restart"]}
    await team.say(10, "risky", resolution="We ran setenforce 0 on the node.", **told)
    await team.say(11, "safe", title="The egret slept", resolution="Woke it.", steps=["wake"])
    reply = await team.ask("the egret was blocked")
    items: list[Episode | Lesson | Playbook] = [*reply.results, *reply.lessons, *reply.playbooks]
    labelled = {item.id for item in items if item.risky == ("disables-protection",)}
    assert labelled == {items[place].id for place in (0, 2, 4)}
    assert all(item.risky == () for item in items if item.id not in labelled)
    assert {
        one.id for one in (await team.fetch(*(item.id for item in items))).items if getattr(one, "risky", ())
    } == labelled
    assert render(reply).count("> Risky: its text spoke of what can do harm (disables-protection).") == 3


# Superseded


async def test_a_superseded_episode_is_found_when_asked_for_and_says_by_what(team: Team) -> None:
    named: dict[str, Any] = {"supersedes": [{"origin": "pagerduty", "fingerprint": "old"}]}
    heron: dict[str, Any] = {
        "entities": [{"type": "service", "ref": "heron", "role": "affected"}],
        "resolution": "Restarted.",
    }
    await team.say(10, "new", title="The heron leaks again", started_at=day(5), concluded_at=day(6), **named)
    await team.say(20, "old", title="The heron leaks", started_at=day(1), concluded_at=day(2), **heron)
    assert await team.found("heron leaks") == ["new"]
    assert await team.found(entities=["service:heron"]) == []
    assert await team.found("heron leaks", as_of=4) == ["old"]
    reply = await team.ask("the heron leaks", include=["episodes", "lessons", "superseded"])
    by_name = {one.fingerprint: one for one in reply.results}
    assert set(by_name) == {"new", "old"}
    assert by_name["new"].superseded_by == ()
    [claim] = by_name["old"].superseded_by
    assert (claim.origin, claim.fingerprint, claim.since, claim.contested) == ("pagerduty", "new", day(5), False)
    assert (by_name["old"].t_invalid, by_name["old"].contested) == (day(5), False)
    assert await team.found(entities=["service:heron"], include=["episodes", "superseded"]) == ["old"]
    assert (await team.entities("old")).entities == ()
    assert [e.t_invalid for e in (await team.entities("old", as_of=day(4))).entities] == [day(5)]


async def test_a_superseded_episode_keeps_its_lessons_and_holds_again_after_a_purge(team: Team) -> None:
    told: dict[str, Any] = {
        "title": "The heron leaks",
        "started_at": day(1),
        "concluded_at": day(2),
        "resolution": "Restarted.",
    }
    await team.say(10, "old", steps=["restart"], **told)
    named: dict[str, Any] = {"supersedes": [{"origin": "pagerduty", "fingerprint": "old"}]}
    await team.say(20, "new", title="Drought", started_at=day(5), concluded_at=day(6), origin="curated", **named)
    assert await team.found("heron leaks") == []
    then = await team.ask("heron leaks", as_of=4)
    assert [one.fingerprint for one in then.results] == ["old"]
    assert [lesson.rests_on for lesson in (*then.lessons, *then.playbooks)] == [(then.results[0].id,)] * 2
    await team.order(30, "origin-invalidation", origin="curated")
    reply = await team.ask("heron leaks")
    assert [(one.fingerprint, one.t_invalid, one.superseded_by) for one in reply.results] == [("old", None, ())]
    assert [lesson.rests_on for lesson in (*reply.lessons, *reply.playbooks)] == [(reply.results[0].id,)] * 2


async def test_a_claim_of_little_trust_supersedes_nothing_and_is_shown(team: Team) -> None:
    await team.say(10, "old", title="The heron leaks")
    named: dict[str, Any] = {"supersedes": [{"origin": "pagerduty", "fingerprint": "old"}]}
    await team.say(20, "new", title="Something else", origin="rumours", **named)
    [episode] = (await team.ask("heron leaks", limit=1)).results
    assert (episode.fingerprint, episode.contested, episode.t_invalid) == ("old", True, None)
    assert [(one.fingerprint, one.contested) for one in episode.superseded_by] == [("new", True)]
    [before] = (await team.ask("heron leaks", limit=1, known_at=15)).results
    assert (before.contested, before.superseded_by) == (False, ())
    await team.order(
        30,
        "supersede",
        incident={"origin": "pagerduty", "fingerprint": "old"},
        by={"origin": "rumours", "fingerprint": "new"},
        at=day(3),
    )
    [shown] = (await team.ask("heron leaks", limit=1, include=["episodes", "superseded"])).results
    assert shown.t_invalid == day(3)
    assert sorted((one.since, one.contested) for one in shown.superseded_by) == [(day(1), True), (day(3), False)]
    [fetched] = (await team.fetch(shown.id)).items
    assert isinstance(fetched, Episode)
    assert set(fetched.superseded_by) == set(shown.superseded_by)


# By their ids


async def test_items_are_fetched_in_the_order_of_their_ids_also_expired_ones(team: Team) -> None:
    mistakes = [{"category": "missing-alert", "statement": "Nothing alerted."}]
    told: dict[str, Any] = {"title": "The ibis crashed", "steps": ["restart"], "mistakes": mistakes}
    for number in range(3):
        await team.say(10 + number, f"f{number}", fact("acme", 1 + number), **told, resolution="Restarted.")
    before = await team.ask("ibis crashed", entities=["person:alice"])
    parts = (before.rules, before.facts, before.results, before.lessons, before.playbooks, before.mistakes)
    items: list[Item] = list(itertools.chain(*parts))
    assert {item.kind for item in items} == {"rule", "fact", "episode", "lesson", "playbook", "mistake"}
    await team.say(20, "f0", title="The ibis did not crash")
    reply = await team.fetch(*(item.id for item in items), "nobody", items[0].id)
    assert [item.id for item in reply.items] == [item.id for item in items]
    assert reply.missing_ids == ("nobody",)
    expired = {item.kind for item in reply.items if item.t_expired == day(20)}
    assert expired == {"rule", "fact", "episode", "lesson", "playbook", "mistake"}
    for item, told_before in zip(reply.items, items, strict=True):
        assert item.t_expired in (None, day(20))
        assert type(item) is type(told_before)
        if isinstance(item, Episode):
            assert (item.why.terms, item.score, item.title) == ((), 0.0, "The ibis crashed")


async def test_items_of_another_tenant_are_missing(team: Team, memory_of_all: Memory) -> None:
    await team.say(10, "one", fact("acme", 1))
    ids = [told.id for told in (await team.value(*ALICE)).facts]
    ids += [one.id for one in (await team.ask("the case one")).results]
    assert len(ids) == 2
    other = await memory_of_all.put(ItemsRequested(tenant=TENANTS[-1], ids=tuple(ids)))
    assert (other.items, other.missing_ids, other.withheld) == ((), tuple(ids), ())


# What cannot be answered


async def test_a_moment_before_the_horizon_is_refused(team: Team) -> None:
    await team.say(10, "one", fact("acme", 1))
    await team.say(30, "one", fact("beta", 1))
    await team.order(40, "compaction", before=day(20))
    questions: list[Any] = [
        ValueRequested(tenant=team.tenant, subject=ALICE[0], predicate=ALICE[1], known_at=day(19)),
        EntitiesRequested(tenant=team.tenant, origin="pagerduty", fingerprint="one", known_at=day(19)),
        AliasesRequested(tenant=team.tenant, known_at=day(19)),
    ]
    replies = [await team.memory.put(question) for question in questions]
    replies.append(await team.memory.ask("the case", tenant=team.tenant, known_at=day(19)))
    for reply in replies:
        assert reply.status == "invalid"
        assert reply.detail == (
            "known_at 2025-01-20T00:00:00Z lies before the horizon 2025-01-21T00:00:00Z of a compaction: "
            "ask about a later moment."
        )
    assert await team.held(*ALICE, known_at=20) == ["acme"]
    assert await team.held(*ALICE, 5) == ["beta"]
    assert await team.found("the case one", known_at=20) == ["one"]


async def test_a_tenant_that_does_not_exist_is_told(team: Team) -> None:
    reply = await team.memory.put(HistoryRequested(tenant="stranger", subject="x", predicate="owner"))
    assert reply.status == "invalid"
    assert (reply.detail or "").startswith("tenant: there is no tenant 'stranger'; it is one of team-0,")


async def test_what_memory_has_never_heard_of_is_an_empty_answer(team: Team) -> None:
    assert await team.held("service:nobody", "owner") == []
    assert (await team.history("service:nobody", "owner")).versions == ()
    assert (await team.fetch("nothing")).missing_ids == ("nothing",)
    assert (await team.aliases()).aliases == ()


async def test_a_graph_that_hangs_or_is_away_is_told_in_time(team: Team) -> None:
    asked = ValueRequested(tenant=team.tenant, subject="x", predicate="owner", deadline_ms=300)
    team.memory.freeze("falkordb")
    try:
        late = await team.memory.put(asked)
    finally:
        team.memory.thaw("falkordb")
    assert late.status == "unavailable"
    assert (late.detail or "").startswith("FalkorDB did not answer within the deadline")
    assert 250 < late.took_ms < 600
    await team.memory.kill("falkordb")
    away = await team.memory.put(asked)
    assert away.status == "unavailable"
    assert (away.detail or "").endswith("Ask again when it is back.")
    await team.memory.restart("falkordb")
