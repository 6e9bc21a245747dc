"""The commands against a stack that runs: what a user does in the first hour."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli import Ended, difference, environment, twiceshy
from tests.incidents import incident
from twiceshy.contracts import EXAMPLE_INCIDENTS
from twiceshy.events.incident import IncidentConcluded
from twiceshy.local.stack import Stack
from twiceshy.stores.connection import connect
from twiceshy.stream.codec import encode

STOP_SECONDS_MAX = 60.0
# What the demo asks, in its order, and what has to be among the first three of the answer.
EXPECTED = (
    "cloudflare/2019-07-02",
    "roblox/2021-10-28",
    "gitlab/2017-01-31",
    "cloudflare/2022-06-21",
    "cloudflare/2024-03-26",
)


def lines(*incidents: IncidentConcluded) -> bytes:
    return b"\n".join(encode(one) for one in incidents)


def found(reply: Any) -> list[str]:
    return [result["fingerprint"] for result in reply["results"]]


def answer(reply: Any) -> Any:
    """What a reply says, without how long it took."""
    legs = {name: (leg["status"], leg["hits"]) for name, leg in reply["legs"].items()}
    return {**reply, "took_ms": 0, "parts_ms": {}, "legs": legs, "as_of": None}


async def published(ended: Ended, count: int) -> None:
    assert (ended.code, ended.err) == (0, "")
    assert [told["outcome"] for told in ended.json["outcomes"]] == ["remembered"] * count


@pytest.fixture(scope="module")
async def examples(stack: Stack) -> Stack:
    """The stack, with the examples published."""
    ended = await twiceshy("publish", EXAMPLE_INCIDENTS, "--json", folder=stack.folder.path)
    await published(ended, count=30)
    return stack


async def test_question_finds_the_incident_that_was_published(examples: Stack) -> None:
    asked = "mysql primaries promoted on the other coast after the network was gone for seconds"
    ended = await twiceshy(
        "recall", asked, "--tenant", "demo", "--deadline-ms", "20000", "--json", folder=examples.folder.path
    )
    assert (ended.code, ended.err) == (0, "")
    assert "github/2018-10-21" in found(ended.json)[:3]


async def test_what_memory_holds_is_told_and_what_it_does_not_as_well(examples: Stack) -> None:
    folder, whose = examples.folder.path, ("--tenant", "demo")
    asked = ("service:cloudflare", "waf_regex_cpu_protection")
    value = await twiceshy("at", *asked, *whose, "--json", folder=folder)
    history = await twiceshy("history", *asked, *whose, "--json", folder=folder)
    assert value.json["facts"][0]["id"] == history.json["versions"][-1]["id"]
    fetched = await twiceshy("fetch", value.json["facts"][0]["id"], *whose, "--json", folder=folder)
    assert [item["kind"] for item in fetched.json["items"]] == ["fact"]
    entities = await twiceshy("entities-of", "public-postmortems/cloudflare/2019-07-02", *whose, folder=folder)
    assert (entities.code, entities.err) == (0, "")
    assert b"component:waf" in entities.out
    for arguments in (("at", "nobody", "owner"), ("history", "nobody", "owner"), ("fetch", "nothing"), ("aliases",)):
        ended = await twiceshy(*arguments, *whose, folder=folder)
        assert (ended.code, ended.err, ended.out.count(b"\n")) == (0, "", 1)


async def test_answer_is_plain_text_when_nobody_looks(examples: Stack) -> None:
    asked = ("a regular expression used up every cpu", "--tenant", "demo", "--deadline-ms", "20000")
    ended = await twiceshy("recall", *asked, folder=examples.folder.path)
    assert ended.code == 0
    assert b"cloudflare/2019-07-02" in ended.out
    assert b"answered in" in ended.out
    assert b"\x1b" not in ended.out


async def test_publishing_a_file_again_changes_nothing(examples: Stack) -> None:
    folder = examples.folder.path
    before = await twiceshy("export", "--tenant", "demo", folder=folder)
    await published(await twiceshy("publish", EXAMPLE_INCIDENTS, "--json", "--backfill", folder=folder), count=30)
    after = await twiceshy("export", "--tenant", "demo", folder=folder)
    assert before.out.count(b"\n") > 30
    assert difference(after.out, before.out) == []


async def test_fold_of_the_log_is_the_memory_and_leaves_nothing_behind(examples: Stack, tmp_path: Path) -> None:
    folder = examples.folder.path
    redis = connect(examples.settings.falkordb)
    try:
        before = sorted(await redis.keys("*"))
        live = await twiceshy("export", "--tenant", "demo", folder=folder)
        folded = await twiceshy("fold", "--tenant", "demo", "-o", tmp_path / "folded.jsonl", folder=folder)
        assert (folded.code, folded.out, folded.err) == (0, b"", "")
        assert difference((tmp_path / "folded.jsonl").read_bytes(), live.out) == []
        assert sorted(await redis.keys("*")) == before
    finally:
        await redis.aclose()


async def test_corrections_within_one_batch_fold_to_the_live_memory(stack: Stack) -> None:
    folder = stack.folder.path
    first = incident(7_001, tenant="public")
    for title in ("first", "second", "third"):
        changed = lines(first.model_copy(update={"title": title}))
        assert (await twiceshy("publish", "-", folder=folder, stdin=changed)).code == 0
    live = await twiceshy("export", "--tenant", "public", folder=folder)
    folded = await twiceshy("fold", "--tenant", "public", folder=folder)
    assert live.out.count(b"\n") > 3
    assert difference(folded.out, live.out) == []


async def test_demo_answers_every_question_with_the_right_incident(examples: Stack) -> None:
    ended = await twiceshy("demo", "--json", folder=examples.folder.path)
    assert ended.code == 0
    answers = ended.json["answers"]
    firsts = [found(given["reply"])[:3] for given in answers]
    assert [expected for expected, first in zip(EXPECTED, firsts, strict=False) if expected not in first] == []
    assert (answers[-1]["reply"]["novel"], firsts[-1]) == (True, [])


async def test_doctor_finds_a_running_stack_well(examples: Stack) -> None:
    ended = await twiceshy("doctor", "--json", folder=examples.folder.path)
    ill = [check for check in ended.json["checks"] if not check["well"]]
    assert (ended.code, ended.json["ready"], ill) == (0, True, [])


async def test_doctor_says_of_every_part_that_it_is_away(tmp_path: Path) -> None:
    ended = await twiceshy("doctor", "--json", folder=tmp_path)
    well = [check["part"] for check in ended.json["checks"] if check["well"]]
    assert (ended.code, well) == (1, ["stack", "credentials"])


async def test_line_that_is_refused_is_told_and_the_others_are_remembered(stack: Stack) -> None:
    good = [incident(number, tenant="default") for number in (8_001, 8_002)]
    given = b"\n".join([encode(good[0]), b'{"tenant": "default"}', b"no json", encode(good[1])])
    ended = await twiceshy("publish", "-", "--json", folder=stack.folder.path, stdin=given)
    assert ended.code == 1
    assert [refused["number"] for refused in ended.json["refused"]] == [2, 3]
    assert [(told["number"], told["outcome"]) for told in ended.json["outcomes"]] == [
        (1, "remembered"),
        (4, "remembered"),
    ]


async def test_incident_that_is_twice_in_a_file_has_its_outcome_twice(stack: Stack) -> None:
    once = lines(*(incident(number) for number in range(9_000, 9_150)))
    given = once + b"\n" + once
    ended = await twiceshy("publish", "-", "--json", folder=stack.folder.path, stdin=given)
    await published(ended, count=300)


async def test_incident_that_the_memory_refuses_is_listed_with_why(stack: Stack) -> None:
    given = lines(incident(8_100, tenant="strangers"), incident(8_101, tenant="default"))
    ended = await twiceshy("publish", "-", folder=stack.folder.path, stdin=given)
    assert ended.code == 1
    assert b"There is no tenant 'strangers'" in ended.out
    assert b"line 1: dead lettered" in ended.out


async def test_many_lines_go_by_a_bounded_number_at_a_time(stack: Stack) -> None:
    given = lines(*(incident(number, facts=[]) for number in range(10_000, 11_500)))
    ended = await twiceshy("publish", "-", "--json", "--backfill", folder=stack.folder.path, stdin=given)
    await published(ended, count=1_500)


@contextlib.asynccontextmanager
async def up(folder: Path) -> AsyncIterator[Any]:
    """`twiceshy up` on a data folder, stopped by SIGTERM: what it says when it is ready."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "twiceshy.cli", "up", "--data", str(folder), "--json",
        env=environment(folder.parent / "runtime"), stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        async with asyncio.timeout(120):
            said = b""
            while not said.endswith(b"}\n"):
                line = await process.stdout.readline()
                assert line, "it ended before it was ready"
                said += line
        yield orjson.loads(said)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOP_SECONDS_MAX):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_stack_that_is_stopped_and_started_gives_the_same_answer(tmp_path: Path) -> None:
    runtime, ask = tmp_path / "runtime", ("recall", "a pool was too small", "--deadline-ms", "20000", "--json")
    given = lines(*(incident(number, facts=[]) for number in range(40)))
    async with up(tmp_path / "data"):
        await published(await twiceshy("publish", "-", "--json", folder=runtime, stdin=given), count=40)
        before = await twiceshy(*ask, folder=runtime)
        exported = await twiceshy("export", folder=runtime)
    assert not (runtime / "stack.json").exists()
    async with up(tmp_path / "data"):
        after = await twiceshy(*ask, folder=runtime)
        assert answer(after.json) == answer(before.json)
        assert len(found(after.json)) == 5
        for command in ("export", "fold"):
            assert difference((await twiceshy(command, folder=runtime)).out, exported.out) == []
        late = await twiceshy("publish", "-", "--json", folder=runtime, stdin=lines(incident(41)))
        await published(late, count=1)
