"""The export of real stores: one history has one export, in whatever batches it came, and at whatever time."""

import os
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import orjson
import pytest
from pydantic import Field, TypeAdapter

from tests.cli import twiceshy
from tests.entries import SOURCE, entry, placed
from tests.incidents import incident
from tests.memory import Memory, memory
from twiceshy.core.ids import event_id, version_id
from twiceshy.core.lessons import mistake_slot
from twiceshy.events.chain import Admission, EntryLogged, LoggedCommand, StampedSettings
from twiceshy.events.common import instant, milliseconds
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.quarantine import IncidentQuarantined, QuarantineReason
from twiceshy.stores.graph import Graphs
from twiceshy.stores.quarantine import Quarantine
from workers.export import export_lines
from workers.fold import Stages
from workers.graph import Logged

DAY = datetime(2026, 3, 1, tzinfo=UTC)
ADMITTED = milliseconds(DAY + timedelta(days=30))
LATER = 40 * 86_400_000 + 7
COMMAND: TypeAdapter[LoggedCommand] = TypeAdapter(Annotated[LoggedCommand, Field(discriminator="kind")])


@pytest.fixture(scope="module", name="stores")
async def _stores() -> AsyncIterator[Memory]:
    async with memory() as running:
        await Quarantine(running.stores.redis).prepare()
        yield running


@pytest.fixture(scope="module")
async def generation(stores: Memory) -> str:
    """One into which the history is folded."""
    return await folded(stores, history(ADMITTED))


@pytest.fixture(scope="module")
def folder(stores: Memory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runtime folder in which commands find the stores, as they find a running stack."""
    names = ("kafka", "falkordb", "qdrant", "embeddings", "embeddings_model")
    settings = {name: getattr(stores.settings, name) for name in names}
    path = tmp_path_factory.mktemp("runtime")
    (path / "stack.json").write_bytes(orjson.dumps({"pid": os.getpid(), "data": str(path), "settings": settings}))
    return path


def said(number: int, pool: str = "20", origin: str = "pagerduty", **changes: Any) -> IncidentConcluded:
    """An incident about a pool's size, a value, and where a service runs, a thing; each with the same mistake."""
    began = DAY + timedelta(hours=number)
    facts = [
        {"subject": "service:payments", "predicate": "pool_size", "object": pool, "valid_from": began},
        {"subject": "payments-svc", "predicate": "pool_size", "object": f"{number}0", "valid_from": began},
        {"subject": "service:payments", "predicate": "runs_on", "object": f"host:h{number % 2}", "valid_from": began},
    ]
    mistakes = [{"category": "missing-alert", "statement": f"Nothing alerted ({number})."}]
    entities = [
        {"type": "service", "ref": "payments", "role": "affected"},
        {"type": "change", "ref": f"rollback/{number}", "role": "resolution"},
    ]
    told = {"facts": facts, "mistakes": mistakes, "entities": entities, "origin": {"name": origin}, "started_at": began,
            "concluded_at": began + timedelta(hours=1)}  # fmt: skip
    return incident(number, **{**told, **changes})


class History:
    """Entries of the log, a second apart from ``admitted`` on. An event has the same id whenever it is admitted."""

    def __init__(self, admitted: int) -> None:
        self._admitted = admitted
        self.entries: list[EntryLogged] = []

    def at(self, place: int) -> int:
        """When the entry at a place was admitted."""
        return self._admitted + 1_000 * place

    def say(self, *incidents: IncidentConcluded) -> None:
        for one in incidents:
            place = len(self.entries)
            self.entries.append(entry(one, self.at(place), ce_id=str(place)))

    def command(self, kind: str, **fields: Any) -> None:
        place = len(self.entries)
        told = {"kind": kind, "tenant": "default", "who": "tests", "why": "tests", **fields}
        self.entries.append(
            EntryLogged(
                event_id=event_id("default", SOURCE, str(place), b""),
                tenant="default",
                kind=kind,
                ce_source=SOURCE,
                ce_id=str(place),
                revised_at=self.at(place),
                admitted_at=self.at(place),
                settings=StampedSettings(origin_trust=1.0),
                admission=Admission(how="clean"),
                content_hash="",
                command=COMMAND.validate_python(told),
            )
        )


def history(admitted: int) -> list[EntryLogged]:
    """Something of everything that changes a memory."""
    log = History(admitted)
    log.say(*(said(number) for number in range(6)), said(6, origin="hoaxer"), said(7, origin="hoaxer"))
    log.say(said(1, pool="30", title="It was worse"), said(2))
    log.command("alias", canonical="service:payments", alias="payments-svc")
    log.say(said(8, supersedes=[{"origin": "pagerduty", "fingerprint": "test/3"}]))
    log.command("supersede", incident=named(4), by=named(8), at=DAY + timedelta(hours=20))
    log.command("supersede", incident=named(4), by=named(999), at=DAY)
    log.say(said(6, pool="99", origin="hoaxer", title="It never was"))
    since = instant(log.at(len(log.entries) - 1))
    log.command("origin-invalidation", origin="hoaxer", since=since, block=True)
    log.say(said(9, origin="hoaxer"))
    log.command("unblock", origin="hoaxer")
    log.say(said(9, origin="hoaxer"), said(5, title="Seen anew"))
    log.command("unalias", canonical="service:payments", alias="payments-svc")
    began = milliseconds(DAY + timedelta(hours=0))
    mistake = version_id("default", mistake_slot("pagerduty/test/0", 0), began, log.at(0))
    log.command("mistake-resolution", id=mistake)
    log.command("compaction", before=instant(log.at(16)))
    log.command("origin-invalidation", origin="hoaxer")
    log.say(said(10), said(3, title="The last word"))
    return log.entries


def named(number: int) -> dict[str, str]:
    return {"origin": "pagerduty", "fingerprint": f"test/{number}"}


async def folded(stores: Memory, entries: Sequence[EntryLogged], batch: int = 100) -> str:
    """The name of a generation into which the entries are folded, so many at a time."""
    generation, parts = f"test-{uuid4().hex[:8]}", stores.stores
    stages = Stages.of_generation(parts.redis, parts.vectors, parts.embeddings, generation, 5.0)
    logged: list[Logged] = placed(entries)
    for start in range(0, len(logged), batch):
        await stages.fold(logged[start : start + batch])
    return generation


async def export(stores: Memory, generation: str, **how: Any) -> list[bytes]:
    graph = Graphs(stores.stores.redis, generation).of("default")
    return await export_lines(graph, stores.stores.vectors, "default", generation, **how)


async def test_history_has_something_of_everything(stores: Memory, generation: str) -> None:
    lines = [orjson.loads(line) for line in await export(stores, generation)]
    nodes, edges = (Counter(line[kind] for line in lines if kind in line) for kind in ("node", "edge"))
    assert nodes.keys() == {
        "Entry", "Incident", "MemoryEntity", "MemoryEpisode", "MemoryLesson", "MemoryMistake", "MemoryPlaybook",
        "MemoryRule", "Observation", "Purge",
    }  # fmt: skip
    assert edges.keys() == {"ALIAS_OF", "MENTIONS", "RESOLVED_BY", "RESTS_ON", "SUPERSEDES", "pool_size", "runs_on"}
    changes = Counter(
        orjson.loads(line["properties"]["result"])["change"] for line in lines if line.get("node") == "Entry"
    )
    assert changes.keys() == {"remembered", "corrected", "reaffirmed", "applied", "rejected", "passed"}
    [horizon] = [line["horizon"] for line in lines if "horizon" in line]
    assert horizon == {"graph": ADMITTED + 16_000, "embed": ADMITTED + 16_000}
    ends = {(line["edge"], line["to_entity"]) for line in lines if "to_entity" in line}
    assert ends == {("pool_size", False), ("runs_on", True)}


async def test_two_folds_of_one_history_are_equal(stores: Memory, generation: str) -> None:
    one_by_one = await folded(stores, history(ADMITTED), batch=1)
    assert await export(stores, generation) == await export(stores, one_by_one)


async def test_one_history_at_two_times_is_equal_without_system_time(stores: Memory, generation: str) -> None:
    later = await folded(stores, history(ADMITTED + LATER))
    assert await export(stores, generation) != await export(stores, later)
    one, other = [await export(stores, name, system_time=False) for name in (generation, later)]
    assert one == other
    text = b"\n".join(one).decode()
    assert [at for at in range(ADMITTED, ADMITTED + 40_000, 1_000) if str(at) in text] == []


async def test_other_history_is_another_memory_without_system_time_too(stores: Memory, generation: str) -> None:
    shorter = await folded(stores, history(ADMITTED)[:-1])
    one, other = [await export(stores, name, system_time=False) for name in (generation, shorter)]
    assert one != other


async def test_export_tells_how_many_lines_a_limit_leaves_out(
    stores: Memory, generation: str, folder: Path, tmp_path: Path
) -> None:
    expected = await export(stores, generation)
    asked = ("export", "--generation", generation)
    ended = await twiceshy(*asked, "--limit", "5", folder=folder)
    left = f"Lines left out: {len(expected) - 5}. All are there without --limit.\n"
    assert (ended.code, ended.out.splitlines(), ended.err) == (0, expected[:5], left)
    ended = await twiceshy(
        *asked, "--limit", str(len(expected)), "-o", tmp_path / "all.jsonl", "--without-system-time", folder=folder
    )
    assert (ended.code, ended.out, ended.err) == (0, b"", "")
    assert (tmp_path / "all.jsonl").read_bytes().splitlines() == await export(stores, generation, system_time=False)
    ended = await twiceshy(*asked, "--limit", "0", folder=folder)
    assert (ended.code, ended.out) == (2, b"")


async def test_what_is_in_quarantine_is_told_when_asked_for_and_apart(
    stores: Memory, generation: str, folder: Path
) -> None:
    quarantine = Quarantine(stores.stores.redis)
    for number, tenant in enumerate(("default", "demo")):
        await quarantine.hold([held(number, tenant)])
    memory_alone = await export(stores, generation)
    asked = ("export", "--generation", generation)
    assert (await twiceshy(*asked, folder=folder)).out.splitlines() == memory_alone
    ended = await twiceshy(*asked, "--include-quarantined", folder=folder)
    assert (ended.code, ended.err) == (0, "")
    *lines, last = ended.out.splitlines()
    assert lines == memory_alone
    item = orjson.loads(last)
    assert (item["quarantined"], item["tenant"], item["state"]) == ("item-0", "default", "pending")
    assert item["reasons"] == [{"rule": "invisible-text", "category": "prompt-injection"}]
    assert item["incident"]["title"] == incident(0).title


def held(number: int, tenant: str) -> IncidentQuarantined:
    return IncidentQuarantined(
        item_id=f"item-{number}",
        event_id=f"event-{number}",
        tenant=tenant,
        origin="pagerduty",
        content_hash="",
        incident=incident(number, tenant=tenant),
        reasons=(QuarantineReason(rule="invisible-text", category="prompt-injection"),),
        held_at=ADMITTED,
        expires_at=ADMITTED + LATER,
    )
