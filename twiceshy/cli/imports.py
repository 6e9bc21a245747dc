"""twiceshy import: bulk backfill of old incidents from JSON lines, a CSV file or a folder of Markdown post-mortems."""

import time
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from twiceshy.cli.output import AsJson, load_settings, print_json, run, tenant_of
from twiceshy.cli.reports import (
    ChangedAt,
    Patience,
    instant,
    place,
    print_counts,
    print_dim,
    print_faults,
    print_report,
    progress,
)

if TYPE_CHECKING:
    from twiceshy.cli.rehearsal import Rehearsal
    from twiceshy.cli.sources import Source
    from twiceshy.settings import Settings

ORIGIN = "postmortems"
OF_TABLES = "For a CSV file"
OF_FOLDERS = "For a folder of Markdown"

SourceName = Annotated[
    str,
    typer.Argument(metavar="SOURCE|-", help="A .jsonl, .csv or .tsv file, or a folder with *.md; - is JSON lines."),
]
TenantGiven = Annotated[str | None, typer.Option(help="Import to this tenant, whichever the records name.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Read and check everything, say what would be sent, and send nothing.")
]
Timezone = Annotated[
    str | None,
    typer.Option(metavar="ZONE", help="That of times without an offset in CSV and Markdown, as Europe/Berlin."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN",
        rich_help_panel=OF_TABLES,
        help="Read a field from a column: entities.service=Component. A column with a field's own name needs none.",
    ),
]
Constants = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        rich_help_panel=OF_TABLES,
        help="What every row has: origin.name=jira.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="CHARACTER", rich_help_panel=OF_TABLES, help="Between cells: a comma by default, or tab."),
]
TimeFormat = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", rich_help_panel=OF_TABLES, help="Of times not as in ISO 8601: '%d.%m.%Y %H:%M'."),
]
OriginName = Annotated[
    str | None,
    typer.Option(metavar="NAME", rich_help_panel=OF_FOLDERS, help=f"Who says so, if a file does not: {ORIGIN}."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", rich_help_panel=OF_FOLDERS, help="Leave out files such as README.md or drafts/*."),
]
IgnoreKey = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY", rich_help_panel=OF_FOLDERS, help="Pass over front matter such as layout."),
]


def import_(
    source: SourceName,
    tenant: TenantGiven = None,
    dry_run: DryRun = False,
    changed_at: ChangedAt = None,
    timeout: Patience = 120.0,
    timezone: Timezone = None,
    columns: Columns = None,
    constants: Constants = None,
    delimiter: Delimiter = None,
    time_format: TimeFormat = None,
    origin: OriginName = None,
    exclude: Exclude = None,
    ignore_key: IgnoreKey = None,
    as_json: AsJson = False,
) -> None:
    """Import old incidents in bulk. Exit code 0 only if memory has every record: what it does not have is listed."""
    from twiceshy.cli.sources import Asked, check_options, delimiter_of, open_source, pairs, zone_of

    settings = load_settings()
    given = {
        "--map": columns,
        "--set": constants,
        "--delimiter": delimiter,
        "--time-format": time_format,
        "--timezone": timezone,
        "--origin": origin,
        "--exclude": exclude,
        "--ignore-key": ignore_key,
    }
    check_options(source, given)
    asked = Asked(
        tenant=None if tenant is None else tenant_of(settings, tenant),
        tenant_default=settings.tenants[0],
        columns=pairs("--map", "COLUMN", columns),
        constants=pairs("--set", "VALUE", constants),
        delimiter=delimiter_of(delimiter),
        time_format=time_format,
        zone=zone_of(timezone),
        origin=origin or ORIGIN,
        excluded=tuple(exclude or ()),
        ignored=frozenset(ignore_key or ()),
    )
    changed = instant(changed_at)
    with open_source(source, asked) as records:
        if dry_run:
            _rehearse(settings, records, as_json=as_json)
        else:
            _send(settings, records, changed_at=changed, patience_seconds=timeout, as_json=as_json)


def _send(
    settings: "Settings", records: "Source", *, changed_at: datetime | None, patience_seconds: float, as_json: bool
) -> None:
    from twiceshy.cli.following import Following

    following = Following(settings, backfill=True, changed_at=changed_at, patience_seconds=patience_seconds)
    with progress(records.total) as advance:
        report = run(following.publish(records.records, advance))
    if as_json:
        print_json(report)
    else:
        print_report(report, records.unit)
        _print_notes(records)
    if not report.all_in_memory:
        raise typer.Exit(1)


def _rehearse(settings: "Settings", records: "Source", *, as_json: bool) -> None:
    from twiceshy.cli.rehearsal import rehearse

    told = rehearse(records.records, settings, now_ms=int(time.time() * 1_000))
    if as_json:
        print_json({"dry_run": True, "unit": records.unit, "notes": records.notes, **asdict(told)})
    else:
        _print_rehearsal(told)
        _print_notes(records)
    if told.refused or told.held:
        raise typer.Exit(1)


def _print_rehearsal(told: "Rehearsal") -> None:
    print_counts("would be", Counter({"sent": told.ready, "held": len(told.held), "refused": len(told.refused)}))
    print_faults("Would not be remembered:", [f"{place(fault)}: {fault.reason}" for fault in told.refused + told.held])
    if told.repeated:
        print_dim(f"\n{told.repeated} of them name an incident that one before them names, and would correct it.")
    print_dim("\nNothing was sent: leave out --dry-run for that.")


def _print_notes(records: "Source") -> None:
    for note in records.notes:
        print_dim(note)
