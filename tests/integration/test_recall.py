"""Recall over real stores: what each leg finds, what it says of itself, and what is left when a store is away."""

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.memory import Memory, memory, read_incidents
from twiceshy.contracts import EXAMPLE_INCIDENTS
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.recall import RecallReplied, RecallRequested
from workers.recall_size import REPLY_BYTES_MAX

LEARNED = datetime(2026, 6, 1, tzinfo=UTC)
STORES = ("falkordb", "vectors", "embedder")


@pytest.fixture(scope="module")
async def filled() -> AsyncIterator[Memory]:
    async with memory() as filled:
        await filled.remember(*read_incidents(EXAMPLE_INCIDENTS), at=LEARNED)
        yield filled


def incident(fingerprint: str, title: str, **fields: Any) -> IncidentConcluded:
    told: dict[str, Any] = {
        "tenant": "default",
        "fingerprint": fingerprint,
        "title": title,
        "concluded_at": "2026-05-01T12:00:00Z",
        "origin": {"name": "pagerduty"},
    }
    return IncidentConcluded.model_validate(told | fields)


def found(reply: RecallReplied) -> list[str]:
    assert reply.status == "ok"
    return [episode.fingerprint for episode in reply.results]


def statuses(reply: RecallReplied) -> dict[str, str]:
    return {name: leg.status for name, leg in reply.legs.items()}


async def test_reply_says_what_was_found_and_why(filled: Memory) -> None:
    reply = await filled.ask("a WAF regular expression used up every CPU", tenant="demo")
    assert found(reply)[0] == "cloudflare/2019-07-02"
    assert statuses(reply) == {"semantic": "ok", "lexical": "ok", "graph": "ok"}
    assert not reply.partial
    assert not reply.novel
    best = reply.results[0]
    assert best.rank == 1
    assert (best.why.semantic, best.why.lexical) == (0, 0)
    assert {"waf", "regular", "expression", "cpu"} <= set(best.why.terms)
    assert best.why.entities == ("component:waf",)
    assert best.cause_category == "deploy"
    assert best.trust == filled.settings.trust_default
    assert best.ingested_at >= LEARNED
    assert [result.score for result in reply.results] == sorted((r.score for r in reply.results), reverse=True)
    assert {"queue", "watermark", "embedding", "semantic", "lexical", "graph", "fusion", "hydrate"} == set(
        reply.parts_ms
    )


async def test_reply_holds_what_the_episodes_taught(filled: Memory) -> None:
    reply = await filled.ask("a WAF regular expression used up every CPU", tenant="demo", limit=1)
    assert found(reply) == ["cloudflare/2019-07-02"]
    episode = reply.results[0]
    for items in (reply.lessons, reply.playbooks, reply.mistakes):
        assert [item.rests_on for item in items] == [(episode.id,)] * len(items)
        assert items
    assert reply.lessons[0].text.startswith("When “Cloudflare: one WAF regular expression")
    assert {mistake.category for mistake in reply.mistakes} <= {rule.category for rule in reply.rules}
    assert all(rule.incidents >= 3 and rule.rests_on and rule.trust > 0 for rule in reply.rules)
    (fact,) = [fact for fact in reply.facts if fact.predicate == "waf_regex_cpu_protection"]
    assert (fact.subject, fact.trust, len(fact.rests_on)) == ("service:cloudflare", filled.settings.trust_default, 1)


async def test_only_what_is_included_is_sent(filled: Memory) -> None:
    question = "a WAF regular expression used up every CPU"
    reply = await filled.ask(question, tenant="demo", include=["lessons", "rules"])
    assert reply.lessons
    assert reply.rules
    assert (reply.results, reply.playbooks, reply.mistakes, reply.facts) == ((), (), (), ())


async def test_semantic_leg_finds_what_is_worded_otherwise(filled: Memory) -> None:
    await filled.remember(incident("tls/1", "The TLS certificate of the gateway expired"))
    reply = await filled.ask("SSL cert outdated")
    assert found(reply) == ["tls/1"]
    assert (reply.results[0].why.semantic, reply.results[0].why.lexical) == (0, None)


async def test_lexical_leg_finds_an_identifier_and_a_fault_signature(filled: Memory) -> None:
    signature = "ERR_XQZ_9917: shard map diverged"
    await filled.remember(incident("shard/1", "Search returns half of the results", fault_signature=signature))
    for asked in ({"query": "what is ERR_XQZ_9917"}, {"fault_signature": "ERR_XQZ_9917"}):
        reply = await filled.ask(**asked)
        assert found(reply)[0] == "shard/1"
        assert reply.results[0].why.lexical == 0
        assert "err_xqz_9917" in reply.results[0].why.terms


async def test_graph_leg_finds_what_mentions_an_entity_newest_first(filled: Memory) -> None:
    reply = await filled.ask(entities=["service:cloudflare"], tenant="demo", limit=10)
    assert statuses(reply) == {"semantic": "skipped", "lexical": "skipped", "graph": "ok"}
    assert not reply.partial
    assert not reply.novel
    assert len(found(reply)) == 7
    assert all("service:cloudflare" in episode.why.entities for episode in reply.results)
    ended = [episode.concluded_at for episode in reply.results]
    assert ended == sorted(ended, reverse=True)


@pytest.mark.parametrize("name", ["service:cloudflare", "Service:Cloudflare", "cloudflare", "CLOUDFLARE"])
async def test_an_entity_is_known_by_its_name_in_any_case(filled: Memory, name: str) -> None:
    reply = await filled.ask(entities=[name], tenant="demo")
    expected = name if name.startswith("Service") else ""
    assert reply.unknown_entities == ((expected,) if expected else ())


async def test_an_entity_asked_for_goes_before_what_is_only_alike(filled: Memory) -> None:
    question = "the primary database was lost and the replica was stale"
    without = await filled.ask(question, tenant="demo")
    assert found(without)[0].startswith(("github", "gitlab"))
    reply = await filled.ask(question, tenant="demo", entities=["service:slack"])
    assert found(reply)[0].startswith("slack")


async def test_unknown_entities_are_told_and_the_rest_goes_on(filled: Memory) -> None:
    reply = await filled.ask(
        "a WAF rule used up every CPU", tenant="demo", entities=["service:nobody", "component:waf"]
    )
    assert reply.unknown_entities == ("service:nobody",)
    assert found(reply)[0] == "cloudflare/2019-07-02"


async def test_unknown_entities_alone_find_nothing(filled: Memory) -> None:
    reply = await filled.ask(tenant="demo", entities=["service:nobody", "nothing at all"])
    assert reply.status == "ok"
    assert reply.unknown_entities == ("service:nobody", "nothing at all")
    assert reply.novel
    assert (reply.results, reply.lessons, reply.rules, reply.facts) == ((), (), (), ())


async def test_what_is_asked_for_about_an_entity_can_be_facts_alone(filled: Memory) -> None:
    fact = {"subject": "service:lonely", "predicate": "owner", "object": "nobody", "valid_from": "2026-01-01T00:00:00Z"}
    await filled.remember(incident("fact/1", "An inventory", facts=[fact]))
    reply = await filled.ask(entities=["service:lonely"])
    assert (reply.results, reply.novel, reply.unknown_entities) == ((), False, ())
    assert [told.object for told in reply.facts] == ["nobody"]


async def test_tenants_see_nothing_of_each_other(filled: Memory) -> None:
    await filled.remember(incident("secret/1", "The zanzibar gateway of team A melted", tenant="public"))
    title = "The zanzibar gateway of team A melted"
    assert found(await filled.ask(title, tenant="public"))[0] == "secret/1"
    for tenant in ("default", "demo"):
        assert "secret/1" not in found(await filled.ask(title, tenant=tenant))


async def test_unknown_tenant_and_empty_question_are_invalid(filled: Memory) -> None:
    for reply, field in ((await filled.ask("x", tenant="stranger"), "tenant"), (await filled.ask("  "), "query")):
        assert reply.status == "invalid"
        assert reply.detail is not None
        assert reply.detail.startswith(f"{field}: ")
        assert reply.results == ()


@pytest.mark.parametrize(
    "question",
    ["the printer on the third floor jams when it prints double-sided", "the vending machine swallowed my coins"],
)
async def test_a_question_that_nothing_is_like_is_novel(filled: Memory, question: str) -> None:
    reply = await filled.ask(question, tenant="demo")
    assert reply.novel
    assert (reply.results, reply.lessons, reply.rules) == ((), (), ())
    assert not reply.partial


async def test_an_empty_memory_finds_everything_novel() -> None:
    async with memory() as empty:
        reply = await empty.ask("checkout times out")
        assert reply.status == "ok"
        assert reply.novel
        assert not reply.partial


async def test_as_of_shows_what_was_true_then_and_known_at_what_was_known() -> None:
    title = "The quagmire cache lost its keys"
    started_at = datetime(2026, 3, 1, tzinfo=UTC)
    told = {"started_at": started_at, "concluded_at": started_at + timedelta(hours=1)}
    async with memory() as filled:
        await filled.remember(incident("cache/1", title, summary="Nobody knows why.", **told), at=LEARNED)
        correction = incident("cache/1", title, summary="The eviction policy.", **told)
        [corrected] = await filled.remember(correction, at=LEARNED + timedelta(days=1))
        assert corrected.outcome == "corrected"

        async def summaries(**when: Any) -> list[str | None]:
            return [episode.summary for episode in (await filled.ask(title, **when)).results]

        assert await summaries() == ["The eviction policy."]
        assert await summaries(known_at=LEARNED + timedelta(hours=1)) == ["Nobody knows why."]
        assert await summaries(known_at=LEARNED - timedelta(hours=1)) == []
        assert await summaries(as_of=started_at - timedelta(seconds=1)) == []
        assert await summaries(as_of=started_at + timedelta(seconds=1)) == ["The eviction policy."]


async def test_a_reply_says_at_which_moment_it_was_read(filled: Memory) -> None:
    asked_at = datetime(2026, 5, 5, tzinfo=UTC)
    reply = await filled.ask("anything", as_of=asked_at)
    watermark = (await filled.graphs.of("default").watermarks())["embed"]
    assert reply.as_of == asked_at
    assert reply.known_at is not None
    assert int(reply.known_at.timestamp() * 1_000) == watermark
    assert reply.generation == "g1"


async def test_at_least_waits_for_what_was_written(filled: Memory) -> None:
    [outcome] = await filled.remember(incident("late/1", "The umbrella topic was compacted away"))
    assert outcome.known_at is not None
    reply = await filled.ask("The umbrella topic was compacted away", at_least=outcome.known_at)
    assert found(reply)[0] == "late/1"
    started = time.monotonic()
    never = await filled.ask("The umbrella topic", at_least=outcome.known_at + timedelta(hours=1), deadline_ms=400)
    assert 0.1 < time.monotonic() - started < 0.4
    assert never.partial
    assert never.detail == "Memory has not come as far as at_least within the deadline."


async def test_limit_and_tokens_bound_a_reply(filled: Memory) -> None:
    question = {"query": "power outage in a data center", "tenant": "demo"}
    assert len(found(await filled.ask(**question, limit=3))) == 3
    whole = await filled.ask(**question)
    assert not whole.truncated
    for max_tokens in (50, 400, 1_500):
        reply = await filled.ask(**question, max_tokens=max_tokens)
        assert reply.truncated
        parts = (reply.results, reply.lessons, reply.playbooks, reply.rules, reply.mistakes, reply.facts)
        size = sum(len(item.model_dump_json(exclude_defaults=True)) for part in parts for item in part)
        assert size <= 4 * max_tokens
        assert found(reply) == found(whole)[: len(reply.results)]
    assert (await filled.ask(**question, max_tokens=100_000)).results == whole.results


async def test_first_result_is_shortened_rather_than_left_out(filled: Memory) -> None:
    reply = await filled.ask("power outage in a data center", tenant="demo", max_tokens=300)
    assert reply.truncated
    assert len(reply.results) == 1
    assert (reply.results[0].summary or "").endswith("…")


async def test_reply_stays_below_what_a_broker_takes(filled: Memory) -> None:
    long = "the behemoth file overflowed " * 550
    told = {"summary": long, "resolution": long, "cause": {"category": "data", "statement": long}}
    await filled.remember(*(incident(f"huge/{n}", f"The behemoth overflowed {n}", **told) for n in range(25)))
    reply = await filled.ask("the behemoth overflowed", limit=50)
    assert reply.truncated
    assert len(found(reply)) > 5
    assert len(reply.model_dump_json(exclude_defaults=True)) <= REPLY_BYTES_MAX


@pytest.mark.parametrize(
    "question", ["'; MATCH (n) DETACH DELETE n //", "\ud800 \x00 \x1b[31m", "*" * 16_000, "“”", "%00"]
)
async def test_no_text_is_part_of_a_query(filled: Memory, question: str) -> None:
    before = await filled.graphs.of("demo").read("MATCH (n) RETURN count(n)")
    reply = await filled.recall.answer(_unchecked(question), queued_ms=0.0)
    assert reply.status == "ok"
    assert await filled.graphs.of("demo").read("MATCH (n) RETURN count(n)") == before


def _unchecked(question: str) -> RecallRequested:
    asked = RecallRequested(tenant="demo", query="x", entities=("x",), deadline_ms=2_000)
    return asked.model_copy(update={"query": question, "entities": (question[:200],)})


async def test_recall_never_writes(filled: Memory) -> None:
    before = await filled.redis("INFO", "commandstats")
    await filled.ask("power outage", tenant="demo", entities=["service:cloudflare"])
    after = await filled.redis("INFO", "commandstats")
    called = {name for name, told in after.items() if told != before.get(name)}
    assert "cmdstat_graph.RO_QUERY" in called
    reading = {"cmdstat_graph.RO_QUERY", "cmdstat_hgetall"}
    assert called <= reading | {"cmdstat_info", "cmdstat_ping", "cmdstat_client|setinfo"}


@pytest.mark.parametrize("away", STORES)
async def test_a_store_that_is_away_costs_its_part_and_no_more(away: str) -> None:
    async with memory() as filled:
        await filled.remember(*read_incidents(EXAMPLE_INCIDENTS), at=LEARNED)
        question: dict[str, Any] = {
            "query": "a WAF rule used up every CPU",
            "tenant": "demo",
            "entities": ["component:waf"],
        }
        whole = await filled.ask(**question)
        assert not whole.partial
        await filled.kill(away)
        for _ in range(3):
            started = time.monotonic()
            reply = await filled.ask(**question, deadline_ms=1_000)
            assert time.monotonic() - started < 1.0
            assert reply.partial
            assert not reply.novel
            assert found(reply)[0] == "cloudflare/2019-07-02"
            assert reply.known_at == whole.known_at
            for name in {"falkordb": ("graph",), "vectors": ("semantic", "lexical"), "embedder": ("semantic",)}[away]:
                assert reply.legs[name].status in ("error", "timeout")
                assert reply.legs[name].reason
            assert bool(reply.lessons) is (away != "falkordb")
        await filled.restart(away)
        again = await _until_whole(filled, question)
        assert found(again) == found(whole)


@pytest.mark.parametrize("hung", STORES)
async def test_a_store_that_hangs_costs_its_part_and_no_more(filled: Memory, hung: str) -> None:
    question: dict[str, Any] = {"query": "a WAF rule used up every CPU", "tenant": "demo"}
    whole = await _until_whole(filled, question)
    filled.freeze(hung)
    try:
        started = time.monotonic()
        reply = await filled.ask(**question, deadline_ms=1_000)
        assert time.monotonic() - started < 1.0
    finally:
        filled.thaw(hung)
    assert reply.partial
    assert not reply.novel
    assert found(reply)[0] == "cloudflare/2019-07-02"
    assert reply.known_at == whole.known_at
    assert {"timeout", "error"} & set(statuses(reply).values())
    assert found(await _until_whole(filled, question)) == found(whole)


async def _until_whole(filled: Memory, question: dict[str, Any]) -> RecallReplied:
    deadline = time.monotonic() + 20
    while (reply := await filled.ask(**question)).partial:
        assert time.monotonic() < deadline, reply.legs
    return reply


async def test_with_every_store_away_the_reply_says_so_in_time() -> None:
    async with memory() as filled:
        await filled.remember(incident("a/1", "The gateway melted"))
        for store in STORES:
            await filled.kill(store)
        started = time.monotonic()
        reply = await filled.ask("The gateway melted", deadline_ms=500)
        assert time.monotonic() - started < 0.5
        assert reply.status == "ok"
        assert reply.partial
        assert not reply.novel
        assert reply.results == ()
        assert set(statuses(reply).values()) <= {"error", "timeout"}
