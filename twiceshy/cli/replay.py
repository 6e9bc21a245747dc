"""twiceshy replay: what was published, sent again as backfill."""

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twiceshy.cli.output import (
    INTERRUPTED,
    AsJson,
    console,
    fail,
    load_settings,
    print_json,
    run,
    shown,
    table,
    tenant_of,
)
from twiceshy.cli.reports import print_counts, print_faults

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from twiceshy.client.replay import Began, Preview, Replay, Report
    from twiceshy.settings import Settings
    from twiceshy.stream.replaying import Bound, Selection, Span, Why

SHOWN_MAX = 10


def replay(
    topic: Annotated[
        str,
        typer.Argument(help="incidents.concluded.v1, incidents.backfill.v1, one of these with .dlq, or memory.log.v1."),
    ],
    begin: Annotated[
        str | None, typer.Option("--from", help="From then on: 2026-11-02T03:10:00Z, or offset:120 in each partition.")
    ] = None,
    until: Annotated[str | None, typer.Option("--to", help="What is before then, or before that offset.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only what is of this tenant.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be sent, and send nothing.")] = False,
    rate: Annotated[float | None, typer.Option(min=0.01, help="So many events a second at most.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for what becomes of each event.")] = False,
    timeout: Annotated[
        float, typer.Option(min=1, help="With --follow: seconds without any outcome after which it gives up waiting.")
    ] = 120.0,
    as_new_events: Annotated[
        bool,
        typer.Option("--as-new-events", help="For memory.log.v1: send also what was in other bytes, or signed."),
    ] = False,
    state: Annotated[
        Path | None, typer.Option(help="Where to keep how far it has come.", dir_okay=False, show_default=False)
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin anew where an earlier run was stopped.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send again what was published, as backfill and under its own ids: what memory has already changes nothing.

    What is stopped goes on with the same command. Exit code 0 when all was sent and, with --follow, is in memory.
    """
    from twiceshy.client.replay import Pace

    settings = load_settings()
    chosen = _selection(settings, topic, _span(begin, until), tenant, as_new_events)
    journal = _journal(settings)
    replaying = _replay(settings, topic, chosen, state, journal)
    observer = _Observer(topic, journal, dry_run=dry_run)
    if dry_run:
        with observer.bar():
            preview = run(replaying.preview(observer, restart=restart))
        print_json(_as_json(preview)) if as_json else _print_preview(preview)
        return
    if restart:
        replaying.restart()
    with _going_on(observer), observer.bar():
        report = run(replaying.run(Pace(rate, follow, timeout), observer))
    print_json(_as_json(report)) if as_json else _print_report(report)
    if not (report.finished and report.tally.all_sent):
        raise typer.Exit(1)


def _span(begin: str | None, until: str | None) -> "Span":
    from twiceshy.stream.replaying import Span

    span = Span(_bound("--from", begin), _bound("--to", until))
    if span.empty:
        fail(f"Nothing lies between --from {begin} and --to {until}: --to is where it stops, and comes later.")
    return span


def _bound(option: str, text: str | None) -> "Bound | None":
    from twiceshy.stream.replaying import parse_bound

    try:
        return None if text is None else parse_bound(text)
    except ValueError as error:
        fail(f"{option} {error}")


def _selection(settings: "Settings", topic: str, span: "Span", tenant: str | None, as_new_events: bool) -> "Selection":
    from twiceshy.stream.replaying import REPLAYABLE, Selection

    if topic not in REPLAYABLE:
        fail(f"{shown(topic)} cannot be replayed: the topics that can are {', '.join(REPLAYABLE)}.")
    return Selection(span, None if tenant is None else tenant_of(settings, tenant), as_new_events)


def _replay(
    settings: "Settings", topic: str, chosen: "Selection", state: Path | None, journal: Path | None
) -> "Replay":
    from hashlib import sha256

    from platformdirs import user_state_path

    from twiceshy.client.replay import Replay

    if state is None:
        asked = repr((settings.kafka, chosen)).encode()
        # Other bounds are another replay, which has its own progress.
        name = f"{topic}-{sha256(asked).hexdigest()[:8]}.json"
        state = user_state_path("twiceshy", appauthor=False) / "replays" / name
    return Replay(settings, topic, chosen, state=state, journal=journal)


def _journal(settings: "Settings") -> Path | None:
    """Where the log's files are: as configured, or in the data folder of the embedded stack that is used."""
    import orjson

    from twiceshy.settings import current_stack_file

    if settings.journal is not None:
        return settings.journal
    try:
        written = orjson.loads(current_stack_file().read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return Path(written["data"]) / "log" if written["settings"]["kafka"] == settings.kafka else None


class _Observer:
    """Says how a run begins, and shows how far it is: a bar on a terminal, nothing elsewhere."""

    def __init__(self, topic: str, journal: Path | None, *, dry_run: bool) -> None:
        self.started = False
        self._topic = topic
        self._journal = journal
        self._dry_run = dry_run
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    @contextlib.contextmanager
    def bar(self) -> Iterator[None]:
        if not sys.stderr.isatty():
            yield
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        text = TextColumn("reading" if self._dry_run else "sending")
        columns: tuple[Any, ...] = (text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console(stderr=True), transient=True) as self._bar:
            yield

    def began(self, began: "Began") -> None:
        self.started = True
        for sentence in _beginning(self._topic, self._journal, began, self._dry_run):
            typer.echo(sentence, err=True)
        if self._bar is not None:
            self._task = self._bar.add_task("", total=began.left)

    def advanced(self, left: int) -> None:
        if self._bar is not None and self._task is not None:
            total = self._bar.tasks[0].total or 0
            self._bar.update(self._task, completed=total - left)


def _beginning(topic: str, journal: Path | None, began: "Began", dry_run: bool) -> Iterator[str]:
    """What a person has to know beforehand, as sentences."""
    from twiceshy.client.replay import Beginning
    from twiceshy.client.replay_reading import journal_has_log
    from twiceshy.stream.replaying import REPLAYABLE, Kind
    from twiceshy.stream.topics import TOPICS

    goes_on = "It would go on" if dry_run else "Going on"
    if began.how is Beginning.RESUMED:
        yield f"{goes_on} where an earlier run stopped, after {began.tally.sent} events. --restart begins anew."
    elif began.how is Beginning.REPLACED:
        yield f"{topic} is not what it was when an earlier run stopped, so this one begins from the start."
    if began.source == "file":
        yield f"The broker lacks some or all of {topic}: reading its files in {journal}."
    if not began.records and REPLAYABLE[topic][1] is Kind.EVENTS and journal is not None and journal_has_log(journal):
        yield (
            f"{topic} has no records. An embedded broker forgets what was published when it is started anew: "
            f"`twiceshy replay {TOPICS.memory_log.name}` reads what was admitted."
        )


@contextlib.contextmanager
def _going_on(observer: _Observer) -> Iterator[None]:
    """Says how to go on when the run is stopped, or cannot go on, after it has begun."""
    try:
        yield
    except typer.Exit as ended:
        if observer.started:
            stopped = "Stopped" if ended.exit_code == INTERRUPTED else "It did not come to its end"
            typer.echo(f"{stopped}. The same command goes on from here; --restart begins anew.", err=True)
        raise


def _print_preview(preview: "Preview") -> None:
    from rich.text import Text

    from twiceshy.events.common import instant

    screen = console()
    screen.print(Text(f"Would send {_events(preview.records)}; nothing was sent."))
    if preview.records and preview.first_at is not None and preview.last_at is not None:
        rows = table("what", "count")
        for name, counted in (("tenant", preview.tenants), ("origin", preview.origins)):
            for value, count in counted.most_common(SHOWN_MAX):
                rows.add_row(Text(shown(f"{name} {value}")), str(count))
            if len(counted) > SHOWN_MAX:
                rows.add_row(f"{len(counted) - SHOWN_MAX} more {name}s", "")
        screen.print(rows)
        first, last = instant(preview.first_at), instant(preview.last_at)
        screen.print(Text(f"From {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC, such as:"))
        for fingerprint in preview.fingerprints:
            screen.print(Text(f"  {shown(fingerprint)}"))
    _print_passed_over(preview.passed_over)


def _print_report(report: "Report") -> None:
    screen, tally = console(), report.tally
    screen.print(f"Sent {_events(tally.sent)} of {report.topic} as backfill, in {report.seconds:.1f} s.")
    if tally.outcomes:
        print_counts("outcome", Counter({what.replace("_", " "): count for what, count in tally.outcomes.items()}))
    faults = [
        f"{fault.fingerprint or fault.event_id}: {fault.outcome.replace('_', ' ')}, "
        f"{fault.detail or fault.reason or 'no reason was given'}"
        for fault in report.faults
    ]
    print_faults("Not remembered:", faults)
    _print_passed_over(tally.passed_over)
    if not report.finished:
        screen.print(
            f"Of {_events(report.unheard)} nothing was heard: see `twiceshy doctor`, "
            "then give the same command again, which goes on with these."
        )


def _print_passed_over(passed_over: "Counter[Why]") -> None:
    from rich.text import Text

    from twiceshy.stream.replaying import UNSENT

    screen = console()
    for why, count in passed_over.most_common():
        screen.print(Text(f"Passed over {count} {why}. {UNSENT.get(why, '')}".rstrip()))


def _as_json(told: "Preview | Report") -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(type(told)).dump_python(told, mode="json")


def _events(count: int) -> str:
    return f"{count} event" if count == 1 else f"{count} events"
