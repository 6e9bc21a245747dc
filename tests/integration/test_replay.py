"""Sending again what was published: it changes nothing, loses nothing over a kill, and redrives dead letters."""

import asyncio
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli import Ended, environment
from tests.incidents import incident
from tests.rig import SOURCE, Publisher, Rig, incident_output
from twiceshy.client.replay import Began, Beginning, Pace, Preview, Replay, Report
from twiceshy.client.replay_state import REMEMBERED
from twiceshy.core.ids import event_id
from twiceshy.events.common import instant
from twiceshy.events.incident import IncidentConcluded
from twiceshy.stream.admin import create_topics, reader
from twiceshy.stream.codec import encode
from twiceshy.stream.records import Output, Record
from twiceshy.stream.replay_sources import TopicSource
from twiceshy.stream.replaying import REPLAYABLE, TARGET, Selection, Span, Why, parse_bound
from twiceshy.stream.topics import TOPICS, Topic

INPUT = TOPICS.incidents_concluded
LETTERS = TOPICS.dead_letters.named(topic=INPUT.name)
TENANTS = ("default", "demo")
ALL = Selection()
FOLLOWED = Pace(follow=True, patience_seconds=60.0)
COMMAND_SECONDS_MAX = 60.0


@pytest.fixture(scope="module", name="rig")
async def _rig() -> AsyncIterator[Rig]:
    """A chain that remembers thirty incidents of two tenants, on the broker whose offsets take some care."""
    async with Rig("tansu") as rig:
        await rig.start_workers("chain")
        async with Publisher(rig.settings) as publisher:
            await publisher.send([incident(number, TENANTS[number % 2]) for number in range(30)])
            await publisher.until_all()
        yield rig


class Watching:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.beginnings: list[Began] = []
        self.left: list[int] = []

    def began(self, began: Began) -> None:
        self.beginnings.append(began)

    def advanced(self, left: int) -> None:
        self.left.append(left)


async def replayed(
    rig: Rig, topic: Topic, state: Path, selection: Selection = ALL, pace: Pace = FOLLOWED, **options: Any
) -> tuple[Report, Began]:
    watching = Watching()
    report = await Replay(rig.settings, topic.name, selection, state=state, **options).run(pace, watching)
    assert watching.left == sorted(watching.left, reverse=True)
    return report, watching.beginnings[0]


async def previewed(rig: Rig, topic: Topic, state: Path, selection: Selection = ALL) -> Preview:
    return await Replay(rig.settings, topic.name, selection, state=state).preview(Watching())


async def everything(rig: Rig, topic: Topic) -> list[Record]:
    async with reader(rig.settings) as consumer:
        source = TopicSource(consumer, topic)
        extent = await source.extent()
        return [record for number, part in extent.items() async for record in source.records(number, *part)]


async def memories(rig: Rig) -> list[list[bytes]]:
    return [await rig.export(tenant) for tenant in TENANTS]


async def remembered(rig: Rig, incidents: Sequence[IncidentConcluded]) -> None:
    async with Publisher(rig.settings) as publisher:
        await publisher.send(incidents)
        await publisher.until_all()


@pytest.mark.parametrize("topic", [INPUT, TARGET, TOPICS.memory_log], ids=lambda topic: topic.name)
async def test_replay_of_everything_changes_nothing(rig: Rig, topic: Topic, tmp_path: Path) -> None:
    before = await memories(rig)
    there = await previewed(rig, topic, tmp_path / "state.json")
    report, began = await replayed(rig, topic, tmp_path / "state.json")
    assert (report.finished, report.tally.all_sent, report.unheard) == (True, True, 0)
    assert report.tally.sent == there.records >= 30
    assert report.tally.outcomes.keys() <= REMEMBERED
    assert report.tally.outcomes.total() == report.tally.sent
    assert (began.how, began.source) == (Beginning.FRESH, "topic")
    assert not (tmp_path / "state.json").exists()
    assert await memories(rig) == before


async def test_what_is_sent_is_what_was_published(rig: Rig, tmp_path: Path) -> None:
    def publications(records: Sequence[Record]) -> set[tuple[Any, ...]]:
        return {(record.key, record.value, *sorted(record.headers.items())) for record in records}

    mark = len(await everything(rig, TARGET))
    report, _ = await replayed(rig, INPUT, tmp_path / "state.json")
    sent = await everything(rig, TARGET)
    assert publications(await everything(rig, INPUT)) <= publications(sent)
    assert len(sent) - mark == report.tally.sent


async def test_dry_run_says_what_would_be_sent_and_sends_nothing(rig: Rig, tmp_path: Path) -> None:
    mark = len(await everything(rig, TARGET))
    published = await everything(rig, INPUT)
    preview = await previewed(rig, INPUT, tmp_path / "state.json")
    bodies = [orjson.loads(record.value or b"") for record in published]
    assert preview.records == len(published)
    assert preview.tenants == Counter(body["tenant"] for body in bodies)
    assert preview.origins == Counter(body["origin"]["name"] for body in bodies)
    times = [record.timestamp_ms for record in published]
    assert (preview.first_at, preview.last_at) == (min(times), max(times))
    assert len(set(preview.fingerprints)) == 5
    assert not (tmp_path / "state.json").exists()
    assert len(await everything(rig, TARGET)) == mark


async def test_tenant_and_bounds_say_what_is_sent(rig: Rig, tmp_path: Path) -> None:
    await asyncio.sleep(0.01)
    began_at = int(time.time() * 1_000)
    fresh = [incident(number, TENANTS[number % 2]) for number in range(100, 112)]
    await remembered(rig, fresh[:8])
    await asyncio.sleep(0.01)
    split_at = int(time.time() * 1_000)
    await remembered(rig, fresh[8:])

    async def asked(topic: Topic, begin: str | None, until: str | None = None, tenant: str | None = None) -> set[str]:
        span = Span(*(None if text is None else parse_bound(text) for text in (begin, until)))
        mark = Counter(record.value for record in await everything(rig, TARGET))
        await replayed(rig, topic, tmp_path / "state.json", Selection(span, tenant))
        sent = Counter(record.value for record in await everything(rig, TARGET)) - mark
        return {orjson.loads(value or b"")["fingerprint"] for value in sent}

    since, split = instant(began_at).isoformat(), instant(split_at).isoformat()
    for topic in (INPUT, TOPICS.memory_log):
        assert await asked(topic, since, split) == {said.fingerprint for said in fresh[:8]}
        assert await asked(topic, split) >= {said.fingerprint for said in fresh[8:]}
        assert await asked(topic, since, split, "demo") == {said.fingerprint for said in fresh[1:8:2]}
    assert await asked(INPUT, "offset:0", since) >= {"test/0", "test/29"}
    assert await asked(INPUT, "offset:100000") == set()


async def send_letter(rig: Rig, said: IncidentConcluded, partition: int, offset: int) -> None:
    """A dead letter about what stood there."""
    output = incident_output(said, INPUT)
    why = {"dlq_topic": INPUT.name, "dlq_partition": str(partition), "dlq_offset": str(offset)}
    headers = (*output.headers, *((name, text.encode()) for name, text in why.items()))
    async with Publisher(rig.settings) as publisher:
        await publisher.send_raw([Output(LETTERS.name, output.key, output.value, headers, 0)])


async def test_letter_whose_original_is_gone_is_sent_as_the_letter_has_it(rig: Rig, tmp_path: Path) -> None:
    said = incident(200, "demo")
    await send_letter(rig, said, 0, 1_000_000)
    # Of before an embedded broker was emptied: another record has the place.
    another = (await everything(rig, INPUT))[0]
    await send_letter(rig, incident(201, "demo"), another.partition, another.offset)
    report, _ = await replayed(rig, LETTERS, tmp_path / "state.json", Selection(tenant="demo"))
    assert (report.tally.sent, report.tally.outcomes) == (2, {"remembered": 2})
    output = incident_output(said, INPUT)
    [sent] = [record for record in await everything(rig, TARGET) if record.value == output.value]
    assert (sent.key, sent.headers) == (output.key, dict(output.headers))


async def test_redrive_remembers_what_was_refused_once_the_cause_is_gone(rig: Rig, tmp_path: Path) -> None:
    strangers = [incident(number, "strangers") for number in range(300, 306)]
    await remembered(rig, strangers)
    refused, _ = await replayed(rig, LETTERS, tmp_path / "refused.json")
    assert refused.tally.outcomes["dead_lettered"] == len(strangers)
    assert {fault.reason for fault in refused.faults} == {"unknown_tenant"}

    tenants = ("default", "public", "demo", "strangers")
    await create_topics(rig.settings.model_copy(update={"tenants": tenants}))
    await rig.workers["chain"].stop()
    rig._env["TWICESHY_TENANTS"] = orjson.dumps(tenants).decode()
    await rig.start_workers("chain")
    report, _ = await replayed(rig, LETTERS, tmp_path / "state.json")
    assert report.tally.outcomes == {"remembered": report.tally.sent}
    assert report.tally.sent >= len(strangers)
    assert len(await rig.export("strangers")) > len(strangers)


async def test_event_that_came_in_other_bytes_is_no_event_of_the_log_unless_wanted(rig: Rig, tmp_path: Path) -> None:
    said = incident(400, facts=[])
    spaced = orjson.dumps(orjson.loads(encode(said)), option=orjson.OPT_INDENT_2)
    output = incident_output(said, INPUT)
    since = instant(int(time.time() * 1_000)).isoformat()
    async with Publisher(rig.settings) as publisher:
        await publisher.send_raw([Output(INPUT.name, output.key, spaced, output.headers, output.partition)])
        publisher.sent.add(event_id("default", SOURCE, said.fingerprint, spaced))
        await publisher.until_all()
    before = await memories(rig)
    span = Span(parse_bound(since))
    kept, _ = await replayed(rig, TOPICS.memory_log, tmp_path / "log.json", Selection(span))
    assert (kept.tally.passed_over[Why.OTHER_BYTES], kept.tally.all_sent) == (1, False)
    exact, _ = await replayed(rig, INPUT, tmp_path / "input.json", Selection(span))
    assert (exact.tally.outcomes["remembered"], exact.tally.all_sent) == (1, True)
    assert await memories(rig) == before
    wanted, _ = await replayed(rig, TOPICS.memory_log, tmp_path / "new.json", Selection(span, as_new_events=True))
    assert wanted.tally.all_sent
    assert wanted.tally.sent >= 1


@asynccontextmanager
async def command(rig: Rig, folder: Path, *arguments: str | Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """`twiceshy replay`, as a process that a test may kill."""
    ours = {name: value for name, value in rig._env.items() if name.startswith("TWICESHY_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "twiceshy.cli", "replay", *map(str, arguments),
        env={**environment(folder), **ours, "XDG_STATE_HOME": str(folder / "state")},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, preexec_fn=_can_be_interrupted,
    )  # fmt: skip
    try:
        async with asyncio.timeout(COMMAND_SECONDS_MAX):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _can_be_interrupted() -> None:
    # Whoever runs the tests in the background of a shell has them ignore it, and their children with them.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


async def ended(rig: Rig, folder: Path, *arguments: str | Path) -> Ended:
    async with command(rig, folder, *arguments) as process:
        out, err = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, out, err.decode())


async def sent_of(state: Path, count: int) -> None:
    """Returns when a replay under way has sent ``count`` events."""
    async with asyncio.timeout(COMMAND_SECONDS_MAX):
        while sent_so_far(state) < count:
            await asyncio.sleep(0.01)


def sent_so_far(state: Path) -> int:
    if not state.exists():
        return 0
    return int(orjson.loads(state.read_bytes()).get("tally", {}).get("sent", 0))


async def test_replay_that_is_killed_goes_on_and_leaves_nothing_out(rig: Rig, tmp_path: Path) -> None:
    mark = Counter(record.value for record in await everything(rig, TARGET))
    published = Counter(record.value for record in await everything(rig, INPUT))
    state = tmp_path / "state.json"
    slowly = (INPUT.name, "--rate", "20", "--state", state)
    kills = 0
    for count in (5, 15, 20):
        async with command(rig, tmp_path, *slowly) as process:
            await sent_of(state, count)
            process.kill()
            await process.wait()
            kills += 1
    ended_ = await ended(rig, tmp_path, INPUT.name, "--state", state, "--json")
    assert ended_.code == 0, ended_.err
    assert "Going on where an earlier run stopped, after " in ended_.err
    assert ended_.json["tally"]["sent"] == published.total()
    sent = Counter(record.value for record in await everything(rig, TARGET)) - mark
    assert sent >= published
    assert sent.total() <= published.total() + kills * 5
    assert not state.exists()


async def test_replay_that_is_interrupted_says_how_to_go_on(rig: Rig, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    async with command(rig, tmp_path, INPUT.name, "--rate", "20", "--state", state, "--follow") as process:
        await sent_of(state, 5)
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    assert process.returncode == 130
    assert err.decode() == "Stopped. The same command goes on from here; --restart begins anew.\n"
    other = await ended(rig, tmp_path, INPUT.name, "--tenant", "demo", "--state", state)
    assert (other.code, other.err.count("\n")) == (1, 1)
    assert "is of another replay" in other.err
    dry = await ended(rig, tmp_path, INPUT.name, "--state", state, "--dry-run", "--json")
    anew = await ended(rig, tmp_path, INPUT.name, "--state", state, "--dry-run", "--json", "--restart")
    assert anew.json["records"] == len(await everything(rig, INPUT)) > dry.json["records"] > 0
    last = await ended(rig, tmp_path, INPUT.name, "--state", state, "--follow", "--restart")
    assert (last.code, last.err) == (0, "")
    assert b"remembered" in last.out
    assert f"Sent {anew.json['records']} events of {INPUT.name} as backfill".encode() in last.out


async def test_same_command_finds_its_own_progress(rig: Rig, tmp_path: Path) -> None:
    states = tmp_path / "state" / "twiceshy" / "replays"
    async with command(rig, tmp_path, INPUT.name, "--rate", "20"):
        async with asyncio.timeout(COMMAND_SECONDS_MAX):
            while not (found := list(states.glob("*.json"))):
                await asyncio.sleep(0.01)
        [state] = found
        await sent_of(state, 3)
    assert (await ended(rig, tmp_path, INPUT.name, "--tenant", "demo")).err == ""
    again = await ended(rig, tmp_path, INPUT.name)
    assert again.code == 0
    assert "Going on where an earlier run stopped" in again.err
    assert list(states.glob("*")) == []


async def test_log_is_read_from_its_file_where_the_broker_forgot_it(tmp_path: Path) -> None:
    async with Rig("tansu") as rig:
        await rig.start_workers("chain")
        await remembered(rig, [incident(number, TENANTS[number % 2]) for number in range(30)])
        before = await memories(rig)
        state, journal = tmp_path / "state.json", rig.settings.journal
        async with command(rig, tmp_path, INPUT.name, "--rate", "20", "--state", state):
            await sent_of(state, 5)
        await rig.kill("chain")
        await rig.kill("broker")
        await rig.parts["broker"].start()
        await create_topics(rig.settings)

        forgotten = await ended(rig, tmp_path, INPUT.name, "--state", state)
        assert forgotten.code == 0
        assert f"{INPUT.name} is not what it was when an earlier run stopped" in forgotten.err
        assert f"{INPUT.name} has no records." in forgotten.err
        assert "`twiceshy replay memory.log.v1` reads what was admitted." in forgotten.err
        assert forgotten.out.startswith(b"Sent 0 events of ")

        report, began = await replayed(rig, TOPICS.memory_log, state, pace=Pace(), journal=journal)
        assert (began.source, report.tally.all_sent) == ("file", True)
        assert report.tally.sent >= 30
        sent = {record.value for record in await everything(rig, TARGET)}
        assert sent == {encode(incident(number, TENANTS[number % 2])) for number in range(30)}
        await rig.start_workers("chain")
        again, began = await replayed(rig, TOPICS.memory_log, state, journal=journal)
        assert (began.source, again.tally.all_sent) == ("topic", True)
        assert await memories(rig) == before


def test_every_topic_of_a_replay_is_declared() -> None:
    assert {topic.name for topic, _ in REPLAYABLE.values()} <= {topic.name for topic in TOPICS.existing(("default",))}
