"""twiceshy guard rescan: what the present rules would decide otherwise about what was decided on before."""

from typing import TYPE_CHECKING

import typer

from twiceshy.cli.memory import open_stores_now
from twiceshy.cli.output import AsJson, Tenant, console, load_settings, print_json, run, shown, table, tenant_of

if TYPE_CHECKING:
    from twiceshy.settings import Settings
    from workers.rescan import WouldHold, WouldPass

app = typer.Typer(help="Look after the rules at the door.", no_args_is_help=True)


@app.callback()
def _guard() -> None: ...


@app.command()
def rescan(tenant: Tenant = None, as_json: AsJson = False) -> None:
    """List admitted incidents that the present rules would hold, and pending ones that they would pass.

    Nothing is changed. What is scanned is the text as it is kept, redacted. Exit code 1 if there are any.
    """
    settings = load_settings()
    whose = tenant_of(settings, tenant)
    holding, passing = run(_rescan(settings, whose))
    if as_json:
        print_json({"would_hold": holding, "would_pass": passing})
    else:
        _print(whose, holding, passing)
    if holding or passing:
        raise typer.Exit(1)


async def _rescan(settings: "Settings", tenant: str) -> "tuple[list[WouldHold], list[WouldPass]]":
    from twiceshy.stores.generations import Generations
    from twiceshy.stores.graph import Graphs
    from twiceshy.stores.quarantine import Quarantine
    from workers.rescan import would_hold, would_pass

    async with open_stores_now(settings) as stores:
        generation = (await Generations(stores.redis).of(tenant)).recalled
        graph = Graphs(stores.redis, generation).of(tenant)
        holding = [one async for one in would_hold(graph)]
        return holding, [one async for one in would_pass(Quarantine(stores.redis), tenant)]


def _print(tenant: str, holding: "list[WouldHold]", passing: "list[WouldPass]") -> None:
    screen = console()
    if not holding and not passing:
        screen.print(f"The present rules would decide nothing of {tenant} otherwise.")
        return
    if holding:
        rows = table("incident", "rules", "released by", title="In memory, and would be held now:")
        for one in holding:
            rows.add_row(shown(one.incident), ", ".join(one.rules), shown(one.released_by or ""))
        screen.print(rows)
    if passing:
        rows = table("item", "incident", "held by", title="Pending, and would pass now:")
        for item in passing:
            rows.add_row(item.item_id, shown(item.incident), ", ".join(item.rules))
        screen.print(rows)
        screen.print(f"Let them in: twiceshy quarantine approve ITEM … --tenant {tenant} --why …")
