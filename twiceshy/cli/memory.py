"""twiceshy export, twiceshy fold: a tenant's memory as text, read from the stores or made anew from the log."""

import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twiceshy.cli.output import Tenant, fail, load_settings, run, tenant_of

if TYPE_CHECKING:
    from twiceshy.settings import Settings
    from workers.connections import Stores

OutputFile = Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file instead.", dir_okay=False)]


def export(
    tenant: Tenant = None,
    generation: Annotated[str | None, typer.Option(help="Which build of it: the live one by default.")] = None,
    without_system_time: Annotated[
        bool,
        typer.Option(
            "--without-system-time",
            help="Leave out when memory learned things: equal for equal events at other times.",
        ),
    ] = False,
    include_quarantined: Annotated[
        bool, typer.Option("--include-quarantined", help="Add what is held back in quarantine, marked as such.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many lines; standard error says when there are more.")
    ] = None,
    output: OutputFile = None,
) -> None:
    """Print a tenant's memory as canonical JSON lines: equal memories give equal bytes."""
    settings = load_settings()
    whose = tenant_of(settings, tenant)
    lines = run(_export(settings, whose, generation, not without_system_time, include_quarantined))
    _write(lines[:limit], output)
    if limit is not None and limit < len(lines):
        typer.echo(f"Lines left out: {len(lines) - limit}. All are there without --limit.", err=True)


def fold(
    tenant: Tenant = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep what was folded, and say what it is called.")] = False,
    output: OutputFile = None,
) -> None:
    """Fold the log into an empty memory beside the live one, and print that as `export` does."""
    settings = load_settings()
    _write(run(_fold(settings, tenant_of(settings, tenant), keep)), output)


async def _export(
    settings: "Settings", tenant: str, generation: str | None, system_time: bool, include_quarantined: bool
) -> list[bytes]:
    from twiceshy.stores.generations import Generations
    from twiceshy.stores.graph import Graphs
    from twiceshy.stores.quarantine import Quarantine
    from workers.export import export_lines

    async with open_stores_now(settings) as stores:
        which = generation or (await Generations(stores.redis).of(tenant)).recalled
        graph = Graphs(stores.redis, which).of(tenant)
        quarantine = Quarantine(stores.redis) if include_quarantined else None
        return await export_lines(graph, stores.vectors, tenant, which, system_time=system_time, quarantine=quarantine)


async def _fold(settings: "Settings", tenant: str, keep: bool) -> list[bytes]:
    from twiceshy.stores.graph import Graphs
    from workers.export import export_lines
    from workers.rebuild import folded

    _interrupt_on_sigterm()
    async with open_stores_now(settings) as stores, folded(settings, stores, tenant, keep=keep) as generation:
        if keep:
            typer.echo(f"Kept: `twiceshy export --tenant {tenant} --generation {generation}` shows it.", err=True)
        graph = Graphs(stores.redis, generation).of(tenant)
        return await export_lines(graph, stores.vectors, tenant, generation)


@contextlib.asynccontextmanager
async def open_stores_now(settings: "Settings") -> "AsyncIterator[Stores]":
    """The stores. A worker waits for one that is away; a person is told at once."""
    from twiceshy.stores.connection import answering, connect
    from workers.connections import open_stores

    redis = connect(settings.falkordb)
    try:
        async with answering():
            await redis.ping()
    finally:
        await redis.aclose()
    async with open_stores(settings) as stores:
        yield stores


def _interrupt_on_sigterm() -> None:
    """Makes a `kill` a Ctrl-C: what was made beside the live memory is dropped."""
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


def _write(lines: list[bytes], output: Path | None) -> None:
    ended = (line + b"\n" for line in lines)
    if output is None:
        sys.stdout.buffer.writelines(ended)
        return
    try:
        with output.open("wb") as file:
            file.writelines(ended)
    except OSError as error:
        fail(f"{output} cannot be written: {error.strerror}.")
