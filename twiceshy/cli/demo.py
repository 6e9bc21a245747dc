"""twiceshy demo: real incidents published, and the questions of an on-call engineer answered."""

import contextlib
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twiceshy.cli.output import AsJson, console, load_settings, print_json, run
from twiceshy.cli.recall import show_reply
from twiceshy.cli.stack import DataFolder

if TYPE_CHECKING:
    from rich.console import Console

    from twiceshy.cli.following import Report
    from twiceshy.events.recall import RecallReplied
    from twiceshy.settings import Settings

TENANT = "demo"
DEADLINE_MS = 5_000
PATIENCE_SECONDS = 60.0
ITEMS_MAX = 3
CHARS_MAX = 280


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    entities: tuple[str, ...] = ()


QUESTIONS = (
    Question(
        "every page is a 502 and cpu is pegged on all our edge boxes since somebody shipped a new filter pattern, "
        "what was it last time?"
    ),
    Question("consul looks sick, writes are slow and nothing can find anything else any more"),
    Question("somebody deleted production data by mistake and the backups we counted on cannot be restored"),
    Question(
        "our prefixes vanished after a router policy edit and I can't reach the boxes to undo it",
        ("service:cloudflare",),
    ),
    Question("the building in Portland has gone dark, has that happened before and did the dashboard survive it?"),
    # One about which memory knows nothing, for it must be able to say so.
    Question("the printer on the third floor jams when it prints double-sided"),
)


def demo(data: DataFolder = None, as_json: AsJson = False) -> None:
    """Publish real, public incidents and ask what an on-call engineer would ask. Takes a minute, leaves nothing."""
    run(_demo(data, as_json))


async def _demo(data: Path | None, as_json: bool) -> None:
    started = time.monotonic()
    screen = console(stderr=as_json)
    told: dict[str, Any] = {}
    async with _some_stack(data, screen) as settings:
        report = await _publish(settings)
        told["published"] = report
        screen.print(f"Published {report.lines} real incidents in {report.seconds:.1f} s: {_counts(report)}.\n")
        told["answers"] = [
            {"question": question.text, "entities": question.entities, "reply": reply.model_dump(mode="json")}
            async for question, reply in _answers(settings, screen, silent=as_json)
        ]
    told["seconds"] = round(time.monotonic() - started, 3)
    if as_json:
        print_json(told)
    else:
        screen.print(f"The demo took {told['seconds']:.1f} s. `twiceshy up` starts a memory that stays.")


@contextlib.asynccontextmanager
async def _some_stack(data: Path | None, screen: "Console") -> "AsyncIterator[Settings]":
    """The stack that runs already, if there is one and no folder is asked for; else one for as long as this takes."""
    from twiceshy.local.stack import Stack

    if data is None and await _answering(settings := load_settings()):
        screen.print("Using the stack that is running.")
        yield settings
        return
    with contextlib.ExitStack() as leaving:
        folder = data or Path(leaving.enter_context(tempfile.TemporaryDirectory(prefix="twiceshy-demo-")))
        screen.print("Starting the embedded stack …")
        async with Stack(folder, current=False) as stack:
            screen.print(f"Ready after {stack.ready_seconds:.1f} s.")
            yield stack.settings


async def _answering(settings: "Settings") -> bool:
    """Whether the embedded stack of the user's runtime folder runs: one that was killed may have left its address."""
    from twiceshy.errors import TransientError
    from twiceshy.settings import current_stack_file
    from twiceshy.stream.admin import reader

    if not current_stack_file().exists():
        return False
    try:
        async with reader(settings) as consumer:
            return bool(await consumer.topics())
    except TransientError:
        return False


async def _publish(settings: "Settings") -> "Report":
    from twiceshy.cli.following import Following
    from twiceshy.cli.lines import read_lines
    from twiceshy.contracts import EXAMPLE_INCIDENTS

    following = Following(settings, backfill=False, patience_seconds=PATIENCE_SECONDS)
    with EXAMPLE_INCIDENTS.open("rb") as lines:
        return await following.publish(read_lines(lines, TENANT), lambda _: None)


def _counts(report: "Report") -> str:
    from collections import Counter

    counted = Counter(told.outcome for told in report.outcomes) + Counter(lost=len(report.lost))
    return ", ".join(f"{count} {outcome}" for outcome, count in counted.most_common())


async def _answers(
    settings: "Settings", screen: "Console", *, silent: bool
) -> "AsyncIterator[tuple[Question, RecallReplied]]":
    from rich.text import Text

    from twiceshy.client import RecallClient

    async with RecallClient(settings) as client:
        for question in QUESTIONS:
            reply = await client.recall(
                tenant=TENANT, query=question.text, entities=question.entities, deadline_ms=DEADLINE_MS
            )
            if not silent:
                about = f"  (about {', '.join(question.entities)})" if question.entities else ""
                screen.print(Text(f"“{question.text}”{about}", style="bold cyan"))
                show_reply(screen, reply, items_max=ITEMS_MAX, chars_max=CHARS_MAX)
                screen.print()
            yield question, reply
