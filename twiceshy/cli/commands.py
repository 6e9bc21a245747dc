"""twiceshy alias, unalias, supersede, invalidate-by-origin, unblock, compact, resolve: correcting the memory."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from twiceshy.cli.giving import give, rehearse, requested
from twiceshy.cli.output import AsJson, Tenant, fail

if TYPE_CHECKING:
    from twiceshy.events.incident import IncidentRef

NO_REASON = "No reason was given."

Who = Annotated[str | None, typer.Option(help="Who asks for it: your user name by default.", show_default=False)]
Why = Annotated[str, typer.Option(help="Why, for whoever reads the log.", show_default=False)]
NeededWhy = Annotated[str | None, typer.Option(help="Why, for whoever reads the log. Needed but for a dry run.")]
Timeout = Annotated[float, typer.Option(min=1, help="So many seconds are waited for what comes of it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")]
Incident = Annotated[str, typer.Argument(metavar="INCIDENT", help="Which one, as ORIGIN/FINGERPRINT.")]

TIMEOUT_SECONDS = 120.0


def alias(
    canonical: Annotated[str, typer.Argument(help="The name that stays: payments, or with a type service:payments.")],
    alias: Annotated[str, typer.Argument(help="Another name of it.")],
    tenant: Tenant = None,
    who: Who = None,
    why: Why = NO_REASON,
    timeout: Timeout = TIMEOUT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Make two names one: what was said of either is found, and believed, under both."""
    from twiceshy.events.commands import AliasRequested

    command = requested(AliasRequested, tenant=tenant, who=who, why=why, canonical=canonical, alias=alias)
    give(command, f"{alias} is another name of {canonical} from now on", timeout=timeout, as_json=as_json)


def unalias(
    canonical: Annotated[str, typer.Argument(help="The name that stayed.")],
    alias: Annotated[str, typer.Argument(help="The one that is to be a name of its own again.")],
    tenant: Tenant = None,
    who: Who = None,
    why: Why = NO_REASON,
    timeout: Timeout = TIMEOUT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Undo an alias: what was said of each name is that name's again."""
    from twiceshy.events.commands import UnaliasRequested

    command = requested(UnaliasRequested, tenant=tenant, who=who, why=why, canonical=canonical, alias=alias)
    give(command, f"{alias} is no other name of {canonical} any more", timeout=timeout, as_json=as_json)


def supersede(
    incident: Incident,
    by: Annotated[str, typer.Option(metavar="INCIDENT", help="The one that takes its place, as ORIGIN/FINGERPRINT.")],
    at: Annotated[
        str | None, typer.Option(help="From then on: 2026-11-02T03:10:00Z. Now by default.", show_default=False)
    ] = None,
    tenant: Tenant = None,
    who: Who = None,
    why: Why = NO_REASON,
    timeout: Timeout = TIMEOUT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Say that an incident's cause no longer holds, because another one has taken its place."""
    from twiceshy.events.commands import SupersedeRequested

    command = requested(
        SupersedeRequested,
        tenant=tenant,
        who=who,
        why=why,
        incident=_incident("INCIDENT", incident),
        by=_incident("--by", by),
        at=at or datetime.now(UTC),
    )
    done = f"{incident} is superseded by {by} from {command.at:%Y-%m-%d %H:%M:%S} UTC on"
    give(command, done, timeout=timeout, as_json=as_json)


def invalidate_by_origin(
    origin: Annotated[str, typer.Argument(help="Whose word is to go, exactly as incidents name it.")],
    since: Annotated[
        str | None,
        typer.Option(help="Only what memory learned from then on: 2026-11-02T03:10:00Z.", show_default=False),
    ] = None,
    block: Annotated[bool, typer.Option("--block", help="Turn away its later incidents too, until unblock.")] = False,
    dry_run: DryRun = False,
    tenant: Tenant = None,
    who: Who = None,
    why: NeededWhy = None,
    timeout: Timeout = TIMEOUT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Take away what an origin has said: what it had closed is believed again, and nothing of it is recalled."""
    from twiceshy.events.commands import OriginInvalidationRequested

    command = requested(
        OriginInvalidationRequested,
        tenant=tenant,
        who=who,
        why=_reason(why, dry_run=dry_run),
        origin=origin,
        since=since,
        block=block,
    )
    if dry_run:
        besides = f"Later incidents of {origin} would be turned away until `twiceshy unblock`." if block else ""
        rehearse(command, as_json=as_json, besides=besides)
        return
    learned = "" if command.since is None else f" and memory learned from {command.since:%Y-%m-%d %H:%M:%S} UTC on"
    turned_away = ", and its incidents are turned away until `twiceshy unblock`" if block else ""
    give(command, f"What {origin} said{learned} is taken away{turned_away}", timeout=timeout, as_json=as_json)


def unblock(
    origin: Annotated[str, typer.Argument(help="Who may speak again.")],
    tenant: Tenant = None,
    who: Who = None,
    why: Why = NO_REASON,
    timeout: Timeout = TIMEOUT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Let an origin speak again that was blocked. What was taken away stays so."""
    from twiceshy.events.commands import UnblockRequested

    command = requested(UnblockRequested, tenant=tenant, who=who, why=why, origin=origin)
    give(command, f"Incidents of {origin} are taken again", timeout=timeout, as_json=as_json)


def compact(
    before: Annotated[str, typer.Option(help="What had expired by then: 2026-11-02T03:10:00Z.")],
    dry_run: DryRun = False,
    tenant: Tenant = None,
    who: Who = None,
    why: NeededWhy = None,
    timeout: Timeout = TIMEOUT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Drop what memory had stopped believing by a moment. What it knew before then cannot be asked any more."""
    from twiceshy.events.commands import CompactionRequested

    command = requested(CompactionRequested, tenant=tenant, who=who, why=_reason(why, dry_run=dry_run), before=before)
    if dry_run:
        rehearse(command, as_json=as_json)
        return
    done = f"Versions that had expired by {command.before:%Y-%m-%d %H:%M:%S} UTC are dropped"
    give(command, done, timeout=timeout, as_json=as_json)


def resolve(
    mistake_id: Annotated[str, typer.Argument(help="Which one: the id that recall and --json give it.")],
    tenant: Tenant = None,
    who: Who = None,
    why: Why = NO_REASON,
    timeout: Timeout = TIMEOUT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Close a mistake that was mended, so that it no longer makes a rule."""
    from twiceshy.events.commands import MistakeResolutionRequested

    command = requested(MistakeResolutionRequested, tenant=tenant, who=who, why=why, id=mistake_id)
    give(command, f"Mistake {mistake_id} is resolved", timeout=timeout, as_json=as_json)


def _reason(why: str | None, *, dry_run: bool) -> str:
    if why is None and not dry_run:
        fail("Say with --why what it is for: this cannot be undone. See beforehand with --dry-run what it would do.")
    return why or NO_REASON


def _incident(what: str, text: str) -> "IncidentRef":
    from pydantic import ValidationError

    from twiceshy.core.ids import incident_parts
    from twiceshy.events.incident import IncidentRef

    try:
        origin, fingerprint = incident_parts(text)
        return IncidentRef(origin=origin, fingerprint=fingerprint)
    except (ValueError, ValidationError):
        fail(f"{what} must be ORIGIN/FINGERPRINT, such as pagerduty/PD-Q3K2/2026-11-02, and is {text!r}.")
