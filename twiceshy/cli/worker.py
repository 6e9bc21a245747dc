"""twiceshy worker: one worker in production."""

from typing import Annotated

import typer

from twiceshy.cli.output import fail, load_settings


def worker(
    name: Annotated[str, typer.Argument(help="guard, graph, lesson, consolidate, embed or recall.")],
) -> None:
    """Run one worker, in its own consumer group, until SIGTERM. It logs JSON lines to standard output."""
    from twiceshy.errors import NotReadyError
    from twiceshy.logs import log_to_stdout
    from workers.bootstrap import WORKERS, run

    if name not in WORKERS:
        fail(f"There is no worker {name!r}: the workers are {', '.join(WORKERS)}.")
    settings = load_settings()
    log_to_stdout()
    try:
        run([name], settings, group=f"twiceshy.{name}")
    except NotReadyError as error:
        fail(str(error))
