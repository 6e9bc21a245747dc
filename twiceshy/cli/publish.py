"""twiceshy publish: incidents from a file to the memory, each followed to what became of it."""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twiceshy.cli.output import AsJson, console, fail, load_settings, print_json, run, shown, table, tenant_of

if TYPE_CHECKING:
    from twiceshy.cli.following import Report

REMEMBERED = ("remembered", "reaffirmed", "corrected")
SHOWN_MAX = 50


def publish(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="JSON lines, one incident a line; - is stdin.")],
    backfill: Annotated[
        bool, typer.Option("--backfill", help="For old incidents: they never delay one of today.")
    ] = False,
    tenant: Annotated[str | None, typer.Option(help="Publish to this tenant, whichever the lines name.")] = None,
    changed_at: Annotated[
        str | None, typer.Option(help="When the incidents were last changed: 2026-11-02T04:10:00Z.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=1, help="Seconds without any progress after which the rest counts as lost from sight.")
    ] = 120.0,
    as_json: AsJson = False,
) -> None:
    """Publish incidents and say what became of each. Exit code 1 if a line was refused, or lost from sight."""
    from twiceshy.cli.following import Following
    from twiceshy.cli.lines import count_lines, read_lines

    settings = load_settings()
    whose = None if tenant is None else tenant_of(settings, tenant)
    following = Following(settings, backfill=backfill, changed_at=_instant(changed_at), patience_seconds=timeout)
    with _opened(file) as lines, _progress(None if file == "-" else count_lines(Path(file))) as advance:
        report = run(following.publish(read_lines(lines, whose), advance))
    if as_json:
        print_json(report)
    else:
        _print(report)
    if report.refused or report.lost:
        raise typer.Exit(1)


def _instant(text: str | None) -> datetime | None:
    from pydantic import TypeAdapter, ValidationError

    from twiceshy.events.common import Instant

    if text is None:
        return None
    try:
        return TypeAdapter(Instant).validate_python(text)
    except ValidationError:
        fail("--changed-at must be an RFC 3339 time with an offset, such as 2026-11-02T03:10:00Z.")


@contextlib.contextmanager
def _opened(file: str) -> Iterator[Iterable[bytes]]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as lines:
            yield lines
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}.")


@contextlib.contextmanager
def _progress(total: int | None) -> Iterator[Callable[[int], None]]:
    """Something to call with the number of incidents that are done: a bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns: tuple[Any, ...] = (TextColumn("remembering"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


def _print(report: "Report") -> None:
    from rich.text import Text

    screen = console()
    counted = Counter(outcome.outcome for outcome in report.outcomes)
    counted |= {"refused": len(report.refused), "lost from sight": len(report.lost), "not sent": report.unsent}
    rows = table("outcome", "incidents")
    for outcome, count in counted.most_common():
        if count:
            rows.add_row(outcome.replace("_", " "), str(count))
    screen.print(rows)
    if faults := _faults(report):
        screen.print(Text("\nNot remembered:", style="bold"))
        screen.print(Text(shown("\n".join(faults[:SHOWN_MAX]))))
        if len(faults) > SHOWN_MAX:
            screen.print(Text(f"and {len(faults) - SHOWN_MAX} more: --json has them all"))
    screen.print(Text(f"\n{report.lines} lines in {report.seconds:.1f} s", style="dim"))
    remembered = [told.tenant for told in report.outcomes if told.outcome in REMEMBERED and told.tenant]
    if remembered:
        screen.print(Text(f'Ask about them: twiceshy recall --tenant {remembered[0]} "what you see"', style="dim"))


def _faults(report: "Report") -> list[str]:
    """A sentence for each line that was not remembered."""
    faults = [f"line {refused.number}: {refused.reason}" for refused in report.refused]
    faults += [
        f"line {told.number}: {told.outcome.replace('_', ' ')}, {told.detail or told.reason or 'no reason was given'}"
        for told in report.outcomes
        if told.outcome in ("rejected", "dead_lettered", "quarantined")
    ]
    if report.unsent:
        faults.append(f"{report.unsent} lines were not sent any more, because nothing was heard of those before them")
    return faults + [
        f"line {lost.number}: nothing was heard of {lost.fingerprint}: see `twiceshy doctor`, then publish it again"
        for lost in report.lost
    ]
