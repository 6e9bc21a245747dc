"""twiceshy topics: the topics on your broker."""

import typer

from twiceshy.cli.output import AsJson, load_settings, print_json, run

app = typer.Typer(help="The topics on your broker.", no_args_is_help=True)


@app.callback()
def _group() -> None: ...


@app.command()
def create(as_json: AsJson = False) -> None:
    """Make the declared topics that the broker lacks. What is there stays as it is."""
    from twiceshy.stream.admin import create_topics

    made = run(create_topics(load_settings()))
    if as_json:
        print_json({"made": made})
    elif made:
        typer.echo("\n".join(["Made:", *(f"  {name}" for name in made)]))
    else:
        typer.echo("Every declared topic is there already.")
