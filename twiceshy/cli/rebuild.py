"""twiceshy rebuild, switch, generations, drop: a memory folded anew from its log, beside the live one."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from twiceshy.cli.commands import NO_REASON, Timeout, Who, Why
from twiceshy.cli.giving import give, requested
from twiceshy.cli.memory import open_stores_now
from twiceshy.cli.output import (
    AsJson,
    Tenant,
    console,
    fail,
    load_settings,
    print_json,
    progress_bar,
    run,
    shown,
    table,
    tenant_of,
)

if TYPE_CHECKING:
    from twiceshy.settings import Settings
    from twiceshy.stores.generations import Generations
    from workers.comparison import Difference

Generation = Annotated[str, typer.Argument(help="A generation, as `twiceshy generations` lists them.")]
EXAMPLE_CHARS_MAX = 300
SWITCH_SECONDS = 600.0
"""The chain waits at a switch until the generation has all that came before."""


def rebuild(
    tenant: Tenant = None,
    generation: Annotated[
        str | None, typer.Option(help="Bring this one up to date. By default an unfinished one goes on, or one begins.")
    ] = None,
    compare: Annotated[bool, typer.Option(help="Compare it with the live one, line by line.")] = True,
    as_json: AsJson = False,
) -> None:
    """Fold the log into a new generation beside the live one, and say where the two differ. Exit code 1 if they do.

    It can be stopped at any time, and goes on where it was. `twiceshy switch` makes it the live one.
    """
    settings = load_settings()
    whose = tenant_of(settings, tenant)
    name, found = run(_rebuild(settings, whose, generation, compare))
    if as_json:
        print_json({"generation": name, "difference": None if found is None else _told(found)})
    else:
        _print(whose, name, found)
    if found is not None and not found.none:
        raise typer.Exit(1)


def switch(
    generation: Generation,
    tenant: Tenant = None,
    who: Who = None,
    why: Why = NO_REASON,
    timeout: Timeout = SWITCH_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Make a generation the live one. Recall goes on throughout; a switch to the old one is the way back."""
    from twiceshy.events.commands import SwitchRequested

    command = requested(SwitchRequested, tenant=tenant, who=who, why=why, generation=generation)
    give(command, f"{generation} is live", timeout=timeout, as_json=as_json)


def generations(tenant: Tenant = None, as_json: AsJson = False) -> None:
    """List the generations of a tenant's memory."""
    settings = load_settings()
    whose = tenant_of(settings, tenant)
    found = run(_generations(settings, whose))
    if as_json:
        print_json(found)
        return
    rows = table("generation", "state", "used by")
    for one in found:
        rows.add_row(one["generation"], one["state"], ", ".join(one["used_by"]))
    console().print(rows)


def drop(generation: Generation, tenant: Tenant = None) -> None:
    """Delete a generation that is not in use. The log has all that was in it."""
    settings = load_settings()
    whose = tenant_of(settings, tenant)
    run(_drop(settings, whose, generation))
    typer.echo(f"Dropped {generation} of {whose}.")


async def _rebuild(
    settings: "Settings", tenant: str, wanted: str | None, compared: bool
) -> "tuple[str, Difference | None]":
    from twiceshy.stores.generations import Generations
    from workers import collector
    from workers.comparison import compare
    from workers.rebuild import Fold

    async with open_stores_now(settings) as stores:
        collector.settle()
        known = Generations(stores.redis)
        live = (await known.of(tenant)).live
        name = wanted or await _next_name(known, tenant, live)
        if name == live:
            fail(f"{name} is the live generation of {tenant}: the chain itself keeps it up to date.")
        await known.note(tenant, name, "building")
        fold = Fold(settings, stores, tenant, name)
        with progress_bar("folding") as advance:
            await fold.up_to(advance=advance)
            await fold.fill_missing()
            found = await compare(stores, fold, tenant, live, name, advance) if compared else None
        await known.note(tenant, name, "built")
        return name, found


async def _next_name(known: "Generations", tenant: str, live: str) -> str:
    """The unfinished generation, if there is one; else a new one."""
    others = await known.others(tenant)
    unfinished = [name for name, state in others.items() if state == "building" and name != live]
    if unfinished:
        typer.echo(f"Going on with {unfinished[0]}.", err=True)
        return unfinished[0]
    return await known.new_name(tenant)


async def _generations(settings: "Settings", tenant: str) -> list[dict[str, Any]]:
    from twiceshy.stores.generations import Generations
    from twiceshy.stores.graph import FIRST_GENERATION, Graphs

    async with open_stores_now(settings) as stores:
        known = Generations(stores.redis)
        pointers, others = await known.of(tenant), await known.others(tenant)
        if await Graphs(stores.redis, FIRST_GENERATION).of(tenant).exists():
            others = {FIRST_GENERATION: "built", **others}
        return [
            {
                "generation": name,
                "state": state,
                "used_by": [
                    who for who, used in (("chain", pointers.live), ("recall", pointers.recalled)) if used == name
                ],
            }
            for name, state in others.items()
        ]


async def _drop(settings: "Settings", tenant: str, generation: str) -> None:
    from twiceshy.stores.generations import Generations
    from workers.rebuild import drop_generation

    async with open_stores_now(settings) as stores:
        known = Generations(stores.redis)
        if generation not in {*await known.others(tenant), *await known.with_graph(tenant)}:
            fail(f"There is no generation {generation} of {tenant}: `twiceshy generations` lists them.")
        await drop_generation(stores, tenant, generation)


def _told(found: "Difference") -> dict[str, Any]:
    return {
        "equal": found.equal,
        "live_alone": found.live_alone,
        "rebuilt_alone": found.rebuilt_alone,
        "live_examples": [line.decode() for line in found.live_examples],
        "rebuilt_examples": [line.decode() for line in found.rebuilt_examples],
    }


def _print(tenant: str, name: str, found: "Difference | None") -> None:
    typer.echo(f"{name} has the whole log of {tenant}.")
    if found is None:
        typer.echo(f"It was not compared. Make it the live one: twiceshy switch {name} --tenant {tenant}")
    elif found.none:
        typer.echo(f"All {found.equal} lines of its export are those of the live one.")
        typer.echo(f"Make it the live one: twiceshy switch {name} --tenant {tenant}")
    else:
        typer.echo(
            f"{found.equal} lines are equal; {found.live_alone} are in the live one alone, "
            f"{found.rebuilt_alone} in {name} alone. The first of them:"
        )
        for where, lines in (("live", found.live_examples), (name, found.rebuilt_examples)):
            for line in lines:
                typer.echo(f"  {where}: {shown(line.decode()[:EXAMPLE_CHARS_MAX])}")
