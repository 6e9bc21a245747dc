"""a command that nobody has given → what it would do → whoever thinks of giving it

What graph would make of a command, in numbers and examples. Nothing is written.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from uuid import uuid4

import orjson

from twiceshy.core.episodes import GONE
from twiceshy.core.facts import FACT, slot_parts
from twiceshy.core.ids import incident_parts
from twiceshy.core.memory import Content, Memory
from twiceshy.core.recording import record
from twiceshy.core.temporal import FOREVER, Version, answer
from twiceshy.events.catalogue import TYPE_OF
from twiceshy.events.chain import Compaction, EntryLogged
from twiceshy.events.commands import Command
from twiceshy.events.common import milliseconds
from twiceshy.settings import Settings
from twiceshy.stores import cypher
from twiceshy.stores.graph import Graph
from twiceshy.stream.codec import Attributes
from workers.graph_load import load_command
from workers.guard_commands import Given, entry_of, logged_command

SOURCE = "twiceshy/preview"


@dataclass(frozen=True, slots=True)
class Affected:
    """An incident that a command touches, by what memory says of it now."""

    origin: str
    fingerprint: str
    title: str


@dataclass(frozen=True, slots=True)
class FactChange:
    """What holds of a subject at this moment, and what would then. None: nothing does."""

    subject: str
    predicate: str
    now: str | None
    then: str | None


@dataclass(frozen=True, slots=True)
class Preview:
    """What a command would do.

    ``counts`` is what its outcome would say. Nothing would be left of the incidents ``forgotten``; others would
    ``change``: back to what an earlier revision said, or to hold for another time. ``facts`` would be others at this
    moment, ``facts_otherwise`` is how many more would change at other times alone, or in what they rest on.
    ``versions`` is what a compaction would drop, by kind.
    """

    refused: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    forgotten: tuple[Affected, ...] = ()
    changed: tuple[Affected, ...] = ()
    facts: tuple[FactChange, ...] = ()
    facts_otherwise: int = 0
    versions: dict[str, int] = field(default_factory=dict)


async def preview(graph: Graph, requested: Command, settings: Settings, now_ms: int) -> Preview:
    """What ``requested`` would do if it were given now.

    Raises:
        TransientError: FalkorDB is away.
    """
    command = logged_command(requested)
    about = Attributes(id=str(uuid4()), source=SOURCE, type=TYPE_OF[type(requested)], time_ms=None)
    entry = entry_of(Given(about.id, about, command), now_ms, settings)
    told = previewed(await load_command(graph, entry), entry)
    if isinstance(command, Compaction) and told.refused is None:
        return replace(told, versions=await expired_before(graph, milliseconds(command.before)))
    return told


def previewed(memory: Memory, entry: EntryLogged) -> Preview:
    """What the command of ``entry`` does to ``memory``, which is of no use afterwards."""
    versions, episodes = dict(memory.versions), dict(memory.episodes)
    result = record(memory, entry)
    if result.change == "rejected":
        return Preview(refused=result.detail)
    touched = memory.writes.incidents
    facts, otherwise = _facts(versions, memory.versions, entry.admitted_at)
    return Preview(
        counts=result.counts,
        forgotten=_affected((key for key, row in touched.items() if row["episode_id"] == GONE), episodes),
        changed=_affected((key for key, row in touched.items() if row["episode_id"] != GONE), episodes),
        facts=facts,
        facts_otherwise=otherwise,
    )


async def expired_before(graph: Graph, before: int) -> dict[str, int]:
    """How many versions expired at or before ``before``, by kind: what a compaction drops.

    Raises:
        TransientError: FalkorDB is away.
    """
    for counted in await graph.read(cypher.EXPIRED_BEFORE, before=before):
        return {
            f"{label.removeprefix('Memory').lower()}s": count
            for label, count in zip(cypher.VERSIONED, counted, strict=True)
        }
    return {}


def _affected(keys: Iterable[str], episodes: dict[str, Content]) -> tuple[Affected, ...]:
    """The incidents of ``keys``, the latest first."""
    latest = sorted(keys, key=lambda key: (episodes[key].row["concluded_at"], key), reverse=True)
    return tuple(Affected(*incident_parts(key), orjson.loads(episodes[key].row["body"])["title"]) for key in latest)


def _facts(
    before: dict[str, list[Version]], after: dict[str, list[Version]], at: int
) -> tuple[tuple[FactChange, ...], int]:
    """The facts that hold at ``at`` and would be others, in order of name, and how many more would change."""
    changes, otherwise = [], 0
    for slot in sorted(slot for slot in before.keys() | after.keys() if slot.startswith(FACT)):
        was, becomes = before.get(slot, []), after.get(slot, [])
        if {version.segment for version in was} == {version.segment for version in becomes}:
            continue
        now, then = _object(was, at), _object(becomes, at)
        if now == then:
            otherwise += 1
        else:
            changes.append(FactChange(*slot_parts(slot), now, then))
    return tuple(changes), otherwise


def _object(versions: list[Version], at: int) -> str | None:
    found = answer(versions, at, FOREVER - 1)
    return None if found is None else found.object
