"""twiceshy reembed: the vectors of another embedding model for the whole memory, while recall answers."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twiceshy.cli.memory import open_stores_now
from twiceshy.cli.output import AsJson, fail, load_settings, print_json, progress_bar, run, tenant_of

if TYPE_CHECKING:
    from twiceshy.settings import Settings
    from workers.reembed_items import Tally

Model = Annotated[str | None, typer.Option(help="The embedding model to make vectors with, as its server calls it.")]
Address = Annotated[
    str | None, typer.Option(metavar="URL", help="Where it is served, ending in /v1: as `embeddings` by default.")
]
KeyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A file with the key for that address.", exists=True, dir_okay=False),
]
Tenants = Annotated[list[str] | None, typer.Option(help="Only this one's memory; may be given several times.")]
Switch = Annotated[
    bool, typer.Option("--switch", help="Copy, then hand the memory over: embed waits until it runs with the model.")
]
Drop = Annotated[
    str | None, typer.Option(metavar="MODEL", help="Instead: delete the points of a model that is not in use.")
]


@dataclass(frozen=True, slots=True)
class Done:
    """``before`` are the models whose the points were; ``all_there``: nothing more came at the end."""

    before: list[str]
    tally: "Tally"
    all_there: bool
    switched: bool


def reembed(
    model: Model = None,
    embeddings: Address = None,
    key_file: KeyFile = None,
    tenant: Tenants = None,
    switch: Switch = False,
    drop: Drop = None,
    as_json: AsJson = False,
) -> None:
    """Make the vectors of another embedding model for the whole memory, which goes on meanwhile.

    It can be stopped at any time, and goes on where it was. Nothing uses the new vectors until --switch.
    """
    settings = load_settings()
    if (model is None) == (drop is None):
        fail("Say either --model, the model to make vectors with, or --drop, the model whose points are to go.")
    if drop is not None:
        run(_drop(settings, drop))
        typer.echo(f"Dropped the points of {drop}.")
        return
    if switch and tenant:
        fail("--switch hands over the memory of every tenant, because embed and recall have one model: omit --tenant.")
    whose = [tenant_of(settings, one) for one in tenant] if tenant else list(settings.tenants)
    wanted = _with_model(settings, str(model), embeddings, key_file)
    done = run(_reembed(settings, wanted, whose, switch))
    if as_json:
        print_json({"model": model, **asdict(done)})
        return
    _print_done(wanted.embeddings_model, done)
    if switch:
        _print_after_switch(settings, wanted, done.before)
    elif done.before:
        again = f"twiceshy reembed --model {model}" + (f" --embeddings {embeddings}" if embeddings else "")
        _print_before_switch(again + (f" --key-file {key_file}" if key_file else ""), done.before)


def _with_model(settings: "Settings", model: str, embeddings: str | None, key_file: Path | None) -> "Settings":
    """The settings with another model. A key goes to no other address than the one that it is set for."""
    from pydantic import SecretStr

    address = embeddings or settings.embeddings
    key = settings.embeddings_api_key if address == settings.embeddings else None
    if key_file is not None:
        key = SecretStr(key_file.read_text(encoding="utf-8").strip())
    told = {"embeddings": address, "embeddings_model": model, "embeddings_api_key": key}
    return settings.model_copy(update=told)


async def _reembed(settings: "Settings", wanted: "Settings", tenants: list[str], switch: bool) -> Done:
    from workers.reembed import Reembedding

    async with open_stores_now(wanted) as stores:
        with progress_bar("embedding") as advance:
            work = Reembedding(stores, tenants, settings.embeddings_model, advance)
            before = {memory.source.model for memory in await work.memories()}
            all_there = await work.copy()
        if switch:
            before |= {memory.source.model for memory in await work.hand_over()}
        return Done(sorted(before), work.tally, all_there, switch and bool(before))


async def _drop(settings: "Settings", model: str) -> None:
    from workers.reembed import drop_collection

    async with open_stores_now(settings) as stores:
        await drop_collection(stores, settings.tenants, model)


def _print_done(model: str, done: Done) -> None:
    tally = done.tally
    if not done.before:
        typer.echo(f"There is nothing to do: the points are those of {model} already.")
        return
    if tally.changes:
        typer.echo(
            f"{tally.added} points were added to those of {model}, {tally.closed} closed, {tally.deleted} deleted."
        )
    else:
        typer.echo(f"There was nothing to do: {model} has every point already.")
    if tally.words_alone:
        typer.echo(f"{tally.words_alone} texts it cannot embed: they are found by their words alone.")
    if not done.all_there and not done.switched:
        typer.echo("Entries kept coming, and the last of them are left for the next time.")


def _print_before_switch(command: str, before: list[str]) -> None:
    typer.echo(
        f"Embed and recall still go by {', '.join(before)}. To hand the memory over, with what comes until then:\n"
        f"  {command} --switch"
    )


def _print_after_switch(settings: "Settings", wanted: "Settings", before: list[str]) -> None:
    model, address = wanted.embeddings_model, wanted.embeddings
    typer.echo(
        f"The memory goes by {model} from now on. Recall answers from the points of before until it is restarted, and "
        "embed waits: what is published meanwhile is remembered then.\n"
        f'1. Set embeddings_model = "{model}" and embeddings = "{address}" in twiceshy.toml, or '
        "TWICESHY_EMBEDDINGS_MODEL and TWICESHY_EMBEDDINGS. Another model has another novel_similarity, too.\n"
        "2. Restart every worker, recall first. The embedded stack is started with\n"
        f"     twiceshy up --embeddings {address} --model {model}"
    )
    for name in before:
        where = f" --embeddings {settings.embeddings}" if name == settings.embeddings_model else ""
        typer.echo(
            f"3. When you are content: twiceshy reembed --drop {name}\n"
            f"   Until then, this leads back: twiceshy reembed --model {name}{where} --switch"
        )
