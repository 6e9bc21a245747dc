"""What the commands share: how they run, what they print, and how they end."""

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from twiceshy.errors import TransientError, TwiceshyError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from twiceshy.settings import Settings

T = TypeVar("T")

PIPED_WIDTH = 140
INTERRUPTED = 130

START_IT = (
    "Start it with `twiceshy up`, or set TWICESHY_KAFKA, TWICESHY_FALKORDB, TWICESHY_QDRANT and TWICESHY_EMBEDDINGS "
    "to where yours listens."
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Tenant = Annotated[str | None, typer.Option(help="Whose memory: the first tenant of the settings by default.")]


def fail(sentence: str, code: int = 1) -> NoReturn:
    """Ends the command with a sentence on standard error."""
    typer.echo(sentence, err=True)
    raise typer.Exit(code)


def run(work: Coroutine[Any, Any, T]) -> T:
    """What a command's ``work`` returns. What is to be expected ends the command with a sentence, not a traceback."""
    _log_to_stderr()
    try:
        return asyncio.run(work)
    except TransientError as error:
        # Where something answered but was late, the sentence is about that; else nothing may be running at all.
        fail(str(error) if isinstance(error, TimeoutError) else f"{str(error).rstrip('.')}. {START_IT}")
    except TwiceshyError as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def load_settings() -> "Settings":
    from pydantic import ValidationError

    from twiceshy.settings import Settings

    try:
        return Settings()
    except ValidationError as error:
        faults = "; ".join(explained(error))
        fail(f"The settings cannot be used: {faults}. Correct twiceshy.toml, or the TWICESHY_… variable of that name.")
    except ValueError as error:
        fail(f"The settings cannot be read: {error}. Correct twiceshy.toml, or the TWICESHY_… variable.")


def tenant_of(settings: "Settings", tenant: str | None) -> str:
    """``tenant`` if it is one, else the default one."""
    if tenant is None:
        return settings.tenants[0]
    if tenant not in settings.tenants:
        fail(
            f"There is no tenant {tenant!r}: the tenants are {', '.join(settings.tenants)}. "
            "Add it to `tenants` in twiceshy.toml, or correct the name."
        )
    return tenant


def explained(error: Any) -> list[str]:
    """Each fault of a pydantic ValidationError as ``field: what is wrong``, without the input."""
    return [
        f"{'.'.join(str(part) for part in fault['loc']) or 'the whole'}: {fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors(include_input=False, include_url=False)
    ]


def print_json(value: Any) -> None:
    import orjson

    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def console(*, stderr: bool = False) -> "Console":
    """A console as wide as the terminal; where there is none, plain text of a fixed width."""
    from rich.console import Console

    file = sys.stderr if stderr else sys.stdout
    return Console(file=file, highlight=False, width=None if file.isatty() else PIPED_WIDTH)


def table(*columns: str, title: str | None = None) -> "Table":
    from rich import box
    from rich.table import Table

    lined = box.SIMPLE_HEAD if sys.stdout.isatty() else None
    return Table(*columns, title=title, box=lined, title_justify="left", pad_edge=False, show_edge=False)


@contextlib.contextmanager
def progress_bar(doing: str) -> "Iterator[Callable[[int, int], None]]":
    """Something to call with how much is done and how much there is: a bar on a terminal, nothing elsewhere."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns: tuple[Any, ...] = (
        TextColumn(doing),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    started = time.monotonic()
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=None, rate="")

        def advance(done: int, total: int) -> None:
            rate = f"{done / max(time.monotonic() - started, 0.001):.0f}/s"
            bar.update(task, completed=done, total=total, rate=rate)

        yield advance


def shown(text: str) -> str:
    """``text`` as it may be put on a terminal: incidents come from outside, and escape codes could come with them."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _log_to_stderr() -> None:
    """Our warnings go to standard error, where they mix with no output; a library's complaint is our sentence."""
    import logging

    import structlog

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
