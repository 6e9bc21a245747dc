"""twiceshy credential new: a secret to sign with, and what guard has to know of it."""

import json
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twiceshy.cli.output import explained, fail

if TYPE_CHECKING:
    from twiceshy.settings import CredentialSettings

SECRET_BYTES = 32

app = typer.Typer(help="Who may speak: secrets to sign with.", no_args_is_help=True)

Scope = list[str] | None


@app.callback()
def _group() -> None: ...


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="ID", help="What it is called: alerting, operators.")],
    tenants: Annotated[Scope, typer.Option("--tenant", help="A tenant that it may speak for; '*' for each.")] = None,
    origins: Annotated[Scope, typer.Option("--origin", help="An origin that it may speak for; '*' for each.")] = None,
    commands: Annotated[
        Scope,
        typer.Option("--command", help="What it may ask for: alias, compaction, decide, … or '*'.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="Where its secret goes: the data folder by default.", show_default=False)
    ] = None,
) -> None:
    """Make a credential: write its secret to a file of yours alone, and print what goes into guard's twiceshy.toml."""
    if not tenants or not (origins or commands):
        fail("Say with --tenant whom it may speak for, and with --origin or --command as whom, or for what.")
    path = (_default_file(name) if file is None else file).absolute()
    scopes = {"tenants": tenants, "origins": origins or [], "commands": commands or []}
    made = _checked(name, path, {scope: "*" if "*" in names else names for scope, names in scopes.items()})
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
            written.write(secrets.token_hex(SECRET_BYTES) + "\n")
    except FileExistsError:
        fail(f"{path} is there already, and is not written over: name another with --file.")
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror}.")
    typer.echo(f"[credentials.{name}]")
    for field, value in made.model_dump(exclude_defaults=True).items():
        typer.echo(f"{field} = {json.dumps(value, ensure_ascii=False)}")
    typer.echo(
        f"Put this into guard's twiceshy.toml and restart guard. Whoever signs has the secret, the same lines, and "
        f"TWICESHY_CREDENTIAL={name}.",
        err=True,
    )


def _default_file(name: str) -> Path:
    from twiceshy.settings import default_data_folder

    return default_data_folder() / "credentials" / f"{name}.key"


def _checked(name: str, path: Path, scopes: dict[str, Any]) -> "CredentialSettings":
    """The credential as the settings have it. Where they would not take it, the program ends with what is wrong."""
    from pydantic import TypeAdapter, ValidationError

    from twiceshy.events.common import Slug
    from twiceshy.settings import CredentialSettings

    credential = {"secret": f"file:{path}", **scopes}
    try:
        return TypeAdapter(dict[Slug, CredentialSettings]).validate_python({name: credential})[name]
    except ValidationError as error:
        fail(f"This is no credential: {'; '.join(explained(error))}.")
