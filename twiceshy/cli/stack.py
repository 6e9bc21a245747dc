"""twiceshy up: the embedded stack, until Ctrl-C."""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twiceshy.cli.output import INTERRUPTED, AsJson, fail, print_json, run

if TYPE_CHECKING:
    from twiceshy.local.stack import Stack

DataFolder = Annotated[
    Path | None, typer.Option("--data", help="The folder that holds the memory and the log.", file_okay=False)
]


def up(
    data: DataFolder = None,
    embeddings: Annotated[
        str | None, typer.Option(metavar="URL", help="Embed here instead, at an OpenAI-compatible /v1, with --model.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The embedding model there.")] = None,
    as_json: AsJson = False,
) -> None:
    """Start the embedded stack: broker, stores, embedder and workers. Ctrl-C stops it; again, at once."""
    from twiceshy.settings import default_data_folder

    if (embeddings is None) != (model is None):
        fail("--embeddings and --model belong together: where is embedded, and with what.")
    elsewhere = (embeddings, model) if embeddings is not None and model is not None else None
    run(_up(data or default_data_folder(), elsewhere, as_json))


async def _up(data: Path, embeddings: tuple[str, str] | None, as_json: bool) -> None:
    from twiceshy.local.stack import Stack

    if not as_json:
        typer.echo(f"Starting with the memory in {data} …", err=True)
    stopping = _Stopping(asyncio.current_task())
    try:
        async with Stack(data, embeddings=embeddings) as stack:
            _announce(stack, as_json)
            stopping.ready = True
            await stopping.asked.wait()
            if not as_json:
                typer.echo("Finishing what is under way. Ctrl-C again stops at once.", err=True)
    except asyncio.CancelledError:
        raise typer.Exit(INTERRUPTED) from None


class _Stopping:
    """The first signal asks for an orderly stop; one that comes before all is ready, or again, ends the work."""

    def __init__(self, work: "asyncio.Task[None] | None") -> None:
        self.asked = asyncio.Event()
        self.ready = False
        self._work = work
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal)

    def _on_signal(self) -> None:
        if self._work is not None and (self.asked.is_set() or not self.ready):
            self._work.cancel()
        self.asked.set()


def _announce(stack: "Stack", as_json: bool) -> None:
    data, settings = stack.folder.path, stack.settings
    if as_json:
        addresses = {name: str(getattr(settings, name)) for name in ("kafka", "falkordb", "qdrant", "embeddings")}
        print_json({"ready_seconds": round(stack.ready_seconds, 3), "data": str(data), **addresses})
        return
    typer.echo(
        f"Twiceshy is ready after {stack.ready_seconds:.1f} s. "
        f"Its memory is in {data}, its Kafka at {settings.kafka}.\n"
        "Next, in another shell:\n"
        "  twiceshy publish examples/incidents.jsonl\n"
        '  twiceshy recall --tenant demo "every page is a 502 and cpu is pegged"\n'
        "  twiceshy doctor\n"
        "Ctrl-C stops it."
    )
