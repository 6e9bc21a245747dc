"""The command line: one module a group of commands. What is heavy is imported by the command that needs it."""

from typing import Annotated

import typer

from twiceshy.cli import (
    check,
    commands,
    credentials,
    demo,
    doctor,
    guard,
    imports,
    memory,
    publish,
    quarantine,
    questions,
    rebuild,
    recall,
    reembed,
    replay,
    stack,
    topics,
    worker,
)

app = typer.Typer(
    name="twiceshy",
    help="A memory for incidents, built on Kafka: publish what went wrong, recall it at three in the morning.",
    epilog="Begin with `twiceshy demo`, or with `twiceshy up` and, in another shell, `twiceshy publish FILE`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"twiceshy {version('twiceshy')}")
        except PackageNotFoundError:
            typer.echo("twiceshy (a checkout that is not installed)")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None: ...


app.command()(stack.up)
app.command()(demo.demo)
app.command()(publish.publish)
app.command()(check.check)
app.command(name="import")(imports.import_)
app.command()(recall.recall)
app.command()(questions.history)
app.command()(questions.at)
app.command()(questions.entities_of)
app.command()(questions.fetch)
app.command()(questions.aliases)
app.command()(replay.replay)
app.command()(commands.alias)
app.command()(commands.unalias)
app.command()(commands.supersede)
app.command()(commands.invalidate_by_origin)
app.command()(commands.unblock)
app.command()(commands.compact)
app.command()(commands.resolve)
app.command()(memory.export)
app.command()(memory.fold)
app.command()(rebuild.rebuild)
app.command()(rebuild.switch)
app.command()(rebuild.generations)
app.command()(rebuild.drop)
app.command()(reembed.reembed)
app.command()(doctor.doctor)
app.command()(worker.worker)
app.add_typer(topics.app, name="topics")
app.add_typer(credentials.app, name="credential")
app.add_typer(quarantine.app, name="quarantine")
app.add_typer(guard.app, name="guard")
