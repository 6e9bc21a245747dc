"""What publish and import share: how a file is opened, and how it is told what became of each record."""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twiceshy.cli.output import console, fail, shown, table

if TYPE_CHECKING:
    from twiceshy.cli.following import Lost, Report, Told
    from twiceshy.cli.lines import Line, Refused

REMEMBERED = ("remembered", "reaffirmed", "corrected")
SHOWN_MAX = 50

ChangedAt = Annotated[str | None, typer.Option(help="When the incidents were last changed: 2026-11-02T04:10:00Z.")]
Patience = Annotated[
    float, typer.Option(min=1, help="Seconds without any progress after which the rest counts as lost from sight.")
]


def instant(text: str | None) -> datetime | None:
    """What ``--changed-at`` says."""
    from pydantic import TypeAdapter, ValidationError

    from twiceshy.events.common import Instant

    if text is None:
        return None
    try:
        return TypeAdapter(Instant).validate_python(text)
    except ValidationError:
        fail("--changed-at must be an RFC 3339 time with an offset, such as 2026-11-02T03:10:00Z.")


@contextlib.contextmanager
def opened(file: str) -> Iterator[Iterable[bytes]]:
    """The lines of ``file``, or of standard input where that is ``-``."""
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as lines:
            yield lines
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}.")


@contextlib.contextmanager
def progress(total: int | None) -> Iterator[Callable[[int], None]]:
    """Something to call with the number of incidents that are done: a bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns: tuple[Any, ...] = (TextColumn("remembering"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


def print_report(report: "Report", unit: str = "lines") -> None:
    """How many records of which outcome, and a sentence for each that was not remembered."""
    counted = Counter(outcome.outcome.replace("_", " ") for outcome in report.outcomes)
    counted |= {"refused": len(report.refused), "lost from sight": len(report.lost), "not sent": report.unsent}
    print_counts("outcome", counted)
    print_faults("Not remembered:", _faults(report, unit))
    print_dim(f"\n{report.lines} {unit} in {report.seconds:.1f} s")
    remembered = [told.tenant for told in report.outcomes if told.outcome in REMEMBERED and told.tenant]
    if remembered:
        print_dim(f'Ask about them: twiceshy recall --tenant {remembered[0]} "what you see"')


def print_counts(heading: str, counted: Counter[str]) -> None:
    rows = table(heading, "incidents")
    for what, count in counted.most_common():
        if count:
            rows.add_row(what, str(count))
    console().print(rows)


def print_faults(heading: str, faults: list[str]) -> None:
    from rich.text import Text

    if not faults:
        return
    screen = console()
    screen.print(Text(f"\n{heading}", style="bold"))
    screen.print(Text(shown("\n".join(faults[:SHOWN_MAX]))))
    if len(faults) > SHOWN_MAX:
        screen.print(Text(f"and {len(faults) - SHOWN_MAX} more: --json has them all"))


def print_dim(sentence: str) -> None:
    from rich.text import Text

    console().print(Text(shown(sentence), style="dim"))


def place(record: "Line | Refused | Told | Lost") -> str:
    """Where in the source a record is, for a person to find it."""
    return record.file or f"line {record.number}"


def _faults(report: "Report", unit: str) -> list[str]:
    """A sentence for each record that was not remembered."""
    faults = [f"{place(refused)}: {refused.reason}" for refused in report.refused]
    faults += [
        f"{place(told)}: {told.outcome.replace('_', ' ')}, {told.detail or told.reason or 'no reason was given'}"
        for told in report.outcomes
        if told.outcome in ("rejected", "dead_lettered", "quarantined")
    ]
    if report.unsent:
        faults.append(f"{report.unsent} {unit} were not sent any more, because nothing was heard of those before them")
    return faults + [
        f"{place(lost)}: nothing was heard of {lost.fingerprint}: see `twiceshy doctor`, then run this again"
        for lost in report.lost
    ]
