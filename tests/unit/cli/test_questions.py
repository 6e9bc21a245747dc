"""How questions to the memory are refused, and how their answers look, without any stack."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from twiceshy.cli import app, questions, recall
from twiceshy.cli.output import START_IT
from twiceshy.cli.recall import _included, show_reply
from twiceshy.events.incident import MistakeCategory
from twiceshy.events.items import (
    Claim,
    Denied,
    Episode,
    Fact,
    FactVersion,
    Lesson,
    MistakeItem,
    Playbook,
    Rule,
    SupersededBy,
    Why,
)
from twiceshy.events.recall import (
    INCLUDE_ALL,
    AliasesReplied,
    AliasItem,
    EntitiesReplied,
    HistoryReplied,
    ItemsReplied,
    MentionedEntity,
    RecallReplied,
    Reply,
    ValueReplied,
)
from twiceshy.local.processes import free_port

COMMANDS = ("history", "at", "entities-of", "fetch", "aliases")
DAY, LATER = datetime(2026, 1, 2, 3, 4, tzinfo=UTC), datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
STAMPS: dict[str, Any] = {
    "origin": "curated",
    "trust": 0.9,
    "t_valid": DAY,
    "t_invalid": None,
    "ingested_at": LATER,
    "t_expired": None,
}
SLOW = Claim(id="c", object="20", holds=True, origin="pagerduty", trust=0.95, valid_from=DAY, valid_to=LATER)
DENIED = SLOW.model_copy(update={"holds": False, "valid_to": None})
FACT = Fact(id="f1", subject="service:a", predicate="pool", object="30", contested_by=(SLOW, DENIED), **STAMPS)
EPISODE = Episode(
    id="e1",
    rank=1,
    fingerprint="PD-1",
    title="It [broke]",
    concluded_at=DAY,
    score=0.1,
    incomplete=False,
    why=Why(),
    superseded_by=(
        SupersededBy(origin="a", fingerprint="B", since=DAY),
        SupersededBy(origin="c", fingerprint="D", since=LATER, contested=True),
    ),
    **STAMPS,
)


@pytest.fixture(autouse=True)
def no_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No stack runs, and nothing listens where the settings point."""
    monkeypatch.setenv("TWICESHY_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TWICESHY_KAFKA", f"127.0.0.1:{free_port()}")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_question_has_help_and_the_same_options(command: str) -> None:
    told = CliRunner().invoke(app, (command, "--help"), env={"COLUMNS": "200"}).stdout
    assert [option for option in ("--tenant", "--json") if option not in told] == []
    assert ("--known-at" in told) is (command in ("at", "entities-of", "aliases"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("history", "service:a", "No Slug"), "The question cannot be asked: predicate: "),
        (("history", " ", "owner"), "The question cannot be asked: subject: must not be blank."),
        (("at", "a", "owner", "--as-of", "yesterday"), "The question cannot be asked: as_of: write the time as"),
        (("at", "a", "owner", "--known-at", "2026-01-01"), "The question cannot be asked: known_at: "),
        (("at", "a", "owner", "--tenant", "nobody"), "There is no tenant 'nobody': the tenants are default,"),
        (("entities-of", "PD-1"), "'PD-1' names no incident: write ORIGIN/FINGERPRINT, or the two as arguments."),
        (("entities-of", "pagerduty/"), "The question cannot be asked: fingerprint: "),
        (("fetch", *["x"] * 101), "The question cannot be asked: ids: "),
        (("recall", "x", "--include", "gossip"), "The question cannot be asked: include.0: "),
    ],
)
def test_wrong_argument_is_told_in_one_sentence(arguments: tuple[str, ...], told: str) -> None:
    ended = run(*arguments)
    assert ended.exit_code == 1
    assert ended.stderr.startswith(told)
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [("history", "a", "owner"), ("at", "a", "owner"), ("entities-of", "a/b"), ("fetch", "x"), ("aliases",)],
)
def test_stack_that_does_not_run_is_told_in_one_sentence(arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)
    assert ended.exit_code == 1
    assert ended.stderr.strip().endswith(START_IT)
    assert ended.stderr.count("\n") == 1


def answered(monkeypatch: pytest.MonkeyPatch, reply: Reply) -> list[Any]:
    """Has every question answered with ``reply``; the questions."""
    asked: list[Any] = []

    async def ask(_: object, question: Any) -> Reply:
        asked.append(question)
        return reply

    monkeypatch.setattr(questions, "_ask", ask)
    return asked


def test_history_is_a_table_with_dates(monkeypatch: pytest.MonkeyPatch) -> None:
    told = FACT.model_dump(exclude={"kind"}) | {"founder": "curated/1", "source": "s", "access_count": 2}
    first = FactVersion.model_validate(told | {"t_expired": LATER, "withheld": "origin_purge"})
    names = ("a-svc", "service:a")
    asked = answered(monkeypatch, HistoryReplied(status="ok", versions=(first,), names=names, truncated=True))
    lines = run("history", "service:a", "pool").stdout.splitlines()
    assert (asked[0].subject, asked[0].predicate, asked[0].tenant) == ("service:a", "pool", "default")
    assert lines[0] == "Read as one: a-svc, service:a."
    assert lines[1].split() == "subject object true from until believed from until trust said by".split()
    assert "2026-01-02 03:04  still  2026-02-03 04:05  2026-02-03 04:05  0.90" in " ".join(lines[2:4]).replace(
        "   ", "  "
    )
    assert lines[-1] == "Earlier versions are left out: there are more than a reply holds."


@pytest.mark.parametrize(
    ("arguments", "reply", "expected"),
    [
        (("history", "a", "owner"), HistoryReplied(status="ok"), ["Memory has never heard of owner of a."]),
        (
            ("at", "a", "owner"),
            ValueReplied(status="ok", as_of=DAY, withheld=("origin_purge",), contested_by=(SLOW,)),
            [
                "As far as memory knows, nothing held for owner of a at 2026-01-02 03:04.",
                "That nothing held is contested: pagerduty (trust 0.95) says '20' from 2026-01-02 03:04 until "
                "2026-02-03 04:05.",
                "Something was found that is not shown: whoever said it was invalidated.",
            ],
        ),
        (
            ("entities-of", "pagerduty/PD-1/2026"),
            EntitiesReplied(status="ok", as_of=DAY),
            ["Memory holds nothing of pagerduty/PD-1/2026 at 2026-01-02 03:04: see whether it was superseded by then."],
        ),
        (
            ("entities-of", "pagerduty", "PD-1"),
            EntitiesReplied(status="ok", as_of=DAY, episode_id="e"),
            ["pagerduty/PD-1 mentions nothing."],
        ),
        (
            ("fetch", "x", "y"),
            ItemsReplied(status="ok", missing_ids=("x", "y")),
            ["Memory has nothing to show for x, y."],
        ),
        (
            ("aliases",),
            AliasesReplied(status="ok"),
            ["No name is an alias of another: `twiceshy alias CANONICAL ALIAS` makes one."],
        ),
    ],
)
def test_nothing_found_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], reply: Reply, expected: list[str]
) -> None:
    answered(monkeypatch, reply)
    ended = run(*arguments)
    assert (ended.exit_code, ended.stdout.splitlines()) == (0, expected)


def test_value_is_a_table_and_says_who_contests_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answered(monkeypatch, ValueReplied(status="ok", facts=(FACT,), names=("service:a",)))
    lines = run("at", "service:a", "pool", "--as-of", "2026-01-03T00:00:00Z").stdout.splitlines()
    assert (asked[0].as_of, asked[0].known_at) == (datetime(2026, 1, 3, tzinfo=UTC), None)
    assert lines[1].split() == "service:a 30 2026-01-02 03:04 still 2026-02-03 04:05 0.90 curated".split()
    assert lines[2:] == [
        "'30' is contested: pagerduty (trust 0.95) says '20' from 2026-01-02 03:04 until 2026-02-03 04:05.",
        "'30' is contested: pagerduty (trust 0.95) says that nothing holds from 2026-01-02 03:04.",
    ]


def test_entities_aliases_and_items_are_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    stamps = {name: STAMPS[name] for name in ("t_valid", "t_invalid", "ingested_at", "t_expired")}
    entity = MentionedEntity(type="service", ref="a-svc", role="cause", canonical="service:a", **stamps)
    asked = answered(monkeypatch, EntitiesReplied(status="ok", as_of=DAY, episode_id="e", entities=(entity,)))
    [_, line] = run("entities-of", "grafana%2Feu/1/2").stdout.splitlines()
    assert (asked[0].origin, asked[0].fingerprint) == ("grafana/eu", "1/2")
    assert line.split() == ["service:a-svc", "cause", "service:a", "2026-01-02", "03:04", "still"]
    one = AliasItem(alias="pay", canonical="payments-svc", resolved="payments", since=DAY)
    answered(monkeypatch, AliasesReplied(status="ok", aliases=(one,)))
    [_, line] = run("aliases").stdout.splitlines()
    assert line.split() == ["pay", "payments-svc", "payments", "2026-01-02", "03:04"]
    items = (
        EPISODE,
        Lesson(id="l", text="lesson " * 30, **STAMPS),
        Playbook(id="p", steps=("one", "two"), **STAMPS),
        MistakeItem(id="m", category=MistakeCategory.OTHER, statement="mistake", **STAMPS),
        Rule(id="r", category=MistakeCategory.OTHER, statement="rule", incidents=3, **{**STAMPS, "origin": None}),
        FACT,
    )
    answered(monkeypatch, ItemsReplied(status="ok", items=items, missing_ids=("x",), truncated=True))
    ended = run("fetch", *"abcdef")
    told = " ".join(ended.stdout.split())
    for text in ("episode e1 PD-1: It [broke]", "playbook p one; two", "mistake m mistake", "rule r rule", "fact f1"):
        assert text in told
    assert "…" in told
    assert ended.stdout.splitlines()[-2:] == [
        "Some are left out: they are more than a reply holds. Fetch fewer at once.",
        "Memory has nothing to show for x.",
    ]


def test_json_is_the_reply_and_an_error_ends_with_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = ValueReplied(status="invalid", detail="known_at lies before the horizon: ask about a later moment.")
    answered(monkeypatch, refused)
    ended = run("at", "a", "owner", "--json")
    assert (ended.exit_code, ended.stderr) == (1, f"invalid: {refused.detail}\n")
    assert ValueReplied.model_validate_json(ended.stdout) == refused
    assert run("at", "a", "owner").stdout == ""


def test_recall_tells_what_is_denied_risky_and_often_seen(capsys: pytest.CaptureFixture[str]) -> None:
    from twiceshy.cli.output import console

    denied = Denied(subject="service:a", predicate="pool", denied_by=DENIED, contested_by=(SLOW,))
    hidden = denied.model_copy(update={"denied_by": None})
    rule = Rule(id="r", category=MistakeCategory.OTHER, statement="rule", incidents=3, origins=2, **STAMPS)
    reply = RecallReplied(
        status="ok",
        results=(EPISODE.model_copy(update={"risky": ("forces",)}),),
        playbooks=(Playbook(id="p", steps=("one", "two"), risky=("forces", "deletes-data"), **STAMPS),),
        rules=(rule, rule.model_copy(update={"incidents": 4, "origins": None})),
        facts=(FACT.model_copy(update={"incidents": 2, "origins": 1}),),
        denied=(denied, hidden),
    )
    show_reply(console(), reply)
    told = " ".join(capsys.readouterr().out.split())
    for sentence in (
        "(risky: forces) It [broke]",
        "- (risky: forces, deletes-data) one; two",
        "- (seen in 3 incidents of 2 origins) rule - (seen in 4 incidents) rule",
        "- (seen in 2 incidents of 1 origin) service:a pool 30",
        "- service:a pool: nothing holds, says pagerduty (contested: pagerduty says 20)",
        "- service:a pool: nothing holds, says an origin that was invalidated (contested: pagerduty says 20)",
    ):
        assert sentence in told


def test_recall_for_a_prompt_is_the_quoted_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(*_: object) -> RecallReplied:
        return RecallReplied(status="ok", results=(EPISODE,))

    monkeypatch.setattr(recall, "_ask", ask)
    first, second = (run("recall", "it broke", "--prompt").stdout for _ in range(2))
    assert "\n> Its title was: It [broke]\n" in first
    assert first.splitlines()[1] != second.splitlines()[1]
    ended = run("recall", "it broke", "--prompt", "--json")
    assert (ended.exit_code, ended.stderr) == (
        1,
        "The answer is printed as JSON or for a prompt: leave out --json or --prompt.\n",
    )


def test_recall_marks_what_is_superseded_contested_or_may_be_missing(capsys: pytest.CaptureFixture[str]) -> None:
    from twiceshy.cli.output import console

    reply = RecallReplied(status="ok", results=(EPISODE,), facts=(FACT,), withheld=("origin_purge",))
    show_reply(console(), reply)
    told = " ".join(capsys.readouterr().out.split())
    assert "superseded by a/B from 2026-01-02 on; contested by c/D from 2026-02-03 on" in told
    assert "(contested: pagerduty says 20, pagerduty says that nothing holds)" in told
    assert "Something may be left out: what an origin said that was invalidated." in told


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([], [*INCLUDE_ALL]),
        (["superseded"], [*INCLUDE_ALL, "superseded"]),
        (["lessons"], ["lessons"]),
        (["superseded", "episodes"], ["episodes", "superseded"]),
    ],
)
def test_what_is_superseded_is_asked_for_besides(kinds: list[str], expected: list[str]) -> None:
    assert _included(kinds) == expected
