"""How a command is given, followed to what came of it, and told; and how it is told what one would do."""

import asyncio
import contextlib
import getpass
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer

from twiceshy.cli.output import console, explained, fail, load_settings, print_json, run, shown, tenant_of

if TYPE_CHECKING:
    from twiceshy.events.commands import Command, CompactionRequested
    from twiceshy.events.outcome import IncidentOutcome
    from twiceshy.settings import Settings
    from twiceshy.stores.graph import Graph
    from workers.preview import Affected, Preview

C = TypeVar("C", bound="Command")
T = TypeVar("T")

SHOWN_MAX = 10
PROGRESS_SECONDS = 2.0


def requested(model: Callable[..., C], *, tenant: str | None, who: str | None, **fields: Any) -> C:
    """The command of ``model``. Where the fields make none the program ends, with a sentence that names the faults."""
    from pydantic import ValidationError

    whose = tenant_of(load_settings(), tenant)
    try:
        return model(tenant=whose, who=who or user(), **fields)
    except ValidationError as error:
        fail(f"The command cannot be given: {'; '.join(explained(error))}.")


def user() -> str:
    """The name under which whoever is at the keyboard asks for something."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        fail("This system has no name for you: say with --who who asks.")


def give(command: "Command", done: str, *, timeout: float, as_json: bool) -> None:
    """Gives a command, waits for what comes of it, and tells it: ``done`` with numbers, when it was carried out."""
    outcome = run(_followed(load_settings(), command, timeout))
    if as_json:
        print_json(outcome.model_dump(mode="json"))
        if outcome.outcome != "applied" or outcome.skipped:
            raise typer.Exit(1)
        return
    if outcome.outcome != "applied":
        _tell_refusal(outcome)
    console().print(shown(f"{done}{numbers(outcome.counts)}"), markup=False, soft_wrap=True)
    if outcome.skipped:
        fail(f"But {', '.join(outcome.skipped)} could not do its part: its dead letters say why.")


def _tell_refusal(outcome: "IncidentOutcome") -> NoReturn:
    if outcome.outcome == "passed":
        fail("Nothing was done: the workers know no such command. Run workers of this version, then give it again.")
    reason = outcome.reason or "no reason was given"
    fail(shown(outcome.detail or f"The command was {outcome.outcome.replace('_', ' ')}: {reason}."))


def numbers(counts: dict[str, int]) -> str:
    """The end of a sentence on what was done: ``: 3 incidents, 1 fact made.``"""
    told = [_counted(count, name) for name, count in counts.items() if count]
    if told:
        return f": {', '.join(told)}."
    return ". Nothing that memory believes is changed by it." if counts else "."


def _counted(count: int, name: str) -> str:
    noun, _, done = name.partition("_")
    one = noun.removesuffix("s") if count == 1 else noun
    return f"{count} {one} {done.replace('_', ' ')}".rstrip()


async def _followed(settings: "Settings", command: "Command", patience_seconds: float) -> "IncidentOutcome":
    from twiceshy.client import MemoryCommands, OutcomeFollower
    from twiceshy.events.commands import CompactionRequested

    async with OutcomeFollower(settings) as follower, MemoryCommands(settings) as commands:
        compaction = command if isinstance(command, CompactionRequested) else None
        expired = {} if compaction is None else await _expired(settings, compaction)
        event_id = await commands.give(command)
        outcomes = follower.outcomes([event_id], patience_seconds)
        try:
            if compaction is None:
                return (await outcomes)[event_id]
            outcome = (await _with_progress(settings, compaction, outcomes))[event_id]
        except TimeoutError as error:
            fail(f"The command was given, and may still be carried out. {error}")
        # What a compaction drops is what had expired before, which its outcome does not count.
        counted = outcome.outcome == "applied" and not outcome.counts
        return outcome.model_copy(update={"counts": expired}) if counted else outcome


async def _with_progress(settings: "Settings", command: "CompactionRequested", outcomes: Awaitable[T]) -> T:
    """What ``outcomes`` returns. While that takes long, says how much of a compaction is left."""
    waiting = asyncio.ensure_future(outcomes)
    try:
        while not (await asyncio.wait({waiting}, timeout=PROGRESS_SECONDS))[0]:
            if expired := await _expired(settings, command):
                typer.echo(f"Expired versions left to drop: {sum(expired.values())}.", err=True)
        return waiting.result()
    finally:
        waiting.cancel()


async def _expired(settings: "Settings", command: "CompactionRequested") -> dict[str, int]:
    """What a compaction has left to drop, by kind; nothing where that cannot be told, for it does not need to be."""
    from twiceshy.errors import TransientError
    from twiceshy.events.common import milliseconds
    from workers.preview import expired_before

    with contextlib.suppress(TransientError):
        async with _graph(settings, command.tenant) as graph:
            return await expired_before(graph, milliseconds(command.before))
    return {}


@contextlib.asynccontextmanager
async def _graph(settings: "Settings", tenant: str) -> "AsyncIterator[Graph]":
    """The graph of a tenant's live memory."""
    from twiceshy.stores.connection import connect
    from twiceshy.stores.generations import Generations
    from twiceshy.stores.graph import Graphs

    redis = connect(settings.falkordb)
    try:
        live = (await Generations(redis).of(tenant)).live
        yield Graphs(redis, live).of(tenant)
    finally:
        await redis.aclose()


def rehearse(command: "Command", *, as_json: bool, besides: str = "") -> None:
    """Tells what a command would do, and gives it to nobody. ``besides`` is what it would do that memory lacks."""
    told = run(_previewed(load_settings(), command))
    if as_json:
        print_json(told)
        if told.refused is not None:
            raise typer.Exit(1)
    elif told.refused is not None:
        fail(shown(told.refused))
    else:
        _show(told, besides)


async def _previewed(settings: "Settings", command: "Command") -> "Preview":
    from workers.preview import preview

    async with _graph(settings, command.tenant) as graph:
        return await preview(graph, command, settings, int(time.time() * 1_000))


def _show(told: "Preview", besides: str) -> None:
    would = numbers(told.versions or told.counts)
    _print(f"This would be done{would}" if would.startswith(":") else "Nothing that is in memory would change.")
    _list("Nothing would be left of:", [_named(one) for one in told.forgotten])
    _list("Others would change:", [_named(one) for one in told.changed])
    _list(
        "Facts would change:",
        [
            f"{fact.subject} {fact.predicate}: now {fact.now or 'nothing'}, then {fact.then or 'nothing'}"
            for fact in told.facts
        ],
    )
    if told.facts_otherwise:
        facts = "1 more fact" if told.facts_otherwise == 1 else f"{told.facts_otherwise} more facts"
        _print(f"{facts} would change at other times than now, or in what they rest on.")
    if besides:
        _print(besides)
    _print("Nothing was changed: leave out --dry-run to do it.")


def _named(one: "Affected") -> str:
    from twiceshy.core.ids import incident_key

    return f"{incident_key(one.origin, one.fingerprint)}  {one.title}"


def _list(heading: str, lines: list[str]) -> None:
    if lines:
        _print("\n".join([heading, *(f"  {line}" for line in lines[:SHOWN_MAX])]))
    if len(lines) > SHOWN_MAX:
        _print(f"  and {len(lines) - SHOWN_MAX} more: --json has them all")


def _print(text: str) -> None:
    console().print(shown(text), markup=False, soft_wrap=True)
