"""twiceshy publish: incidents from a file to the memory, each followed to what became of it."""

from pathlib import Path
from typing import Annotated

import typer

from twiceshy.cli.output import AsJson, load_settings, print_json, run, tenant_of
from twiceshy.cli.reports import ChangedAt, Patience, instant, opened, print_report, progress


def publish(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="JSON lines, one incident a line; - is stdin.")],
    backfill: Annotated[
        bool, typer.Option("--backfill", help="For old incidents: they never delay one of today.")
    ] = False,
    tenant: Annotated[str | None, typer.Option(help="Publish to this tenant, whichever the lines name.")] = None,
    changed_at: ChangedAt = None,
    timeout: Patience = 120.0,
    as_json: AsJson = False,
) -> None:
    """Publish incidents and say what became of each. Exit code 1 if a line is neither in memory nor held."""
    from twiceshy.cli.following import Following
    from twiceshy.cli.lines import count_lines, read_lines

    settings = load_settings()
    whose = None if tenant is None else tenant_of(settings, tenant)
    following = Following(settings, backfill=backfill, changed_at=instant(changed_at), patience_seconds=timeout)
    with opened(file) as lines, progress(None if file == "-" else count_lines(Path(file))) as advance:
        report = run(following.publish(read_lines(lines, whose), advance))
    if as_json:
        print_json(report)
    else:
        print_report(report)
    if not report.nothing_to_correct:
        raise typer.Exit(1)
