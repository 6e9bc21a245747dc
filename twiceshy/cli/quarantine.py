"""twiceshy quarantine list, show, approve, deny, reopen: what is held back, and deciding on it."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from twiceshy.cli.output import AsJson, Tenant, explained, fail, load_settings, print_json, run, tenant_of

if TYPE_CHECKING:
    from twiceshy.events.quarantine import QuarantineGroup
    from workers.review import Reviewed

app = typer.Typer(help="What is held back from memory, and deciding on it.", no_args_is_help=True)

LISTED = 50
TIMEOUT_SECONDS = 120.0


class State(StrEnum):
    PENDING = "pending"
    RELEASED = "released"
    REJECTED = "rejected"
    EXPIRED = "expired"
    ALL = "all"


Decision = Literal["approve", "deny", "reopen"]

Items = Annotated[list[str] | None, typer.Argument(metavar="ITEM...", help="By id, of which the beginning will do.")]
Group = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="ORIGIN SUBJECT", help="All of a group, by its origin and subject: `quarantine show` has them."
    ),
]
SeenMark = Annotated[
    str | None,
    typer.Option(
        "--seen",
        metavar="MARK",
        help="With --group: what `list --group` or `show` told. If the group has others by now, nothing is decided.",
    ),
]
Why = Annotated[str, typer.Option(help="Why: it is kept with what is decided on.", show_default=False)]
Who = Annotated[str | None, typer.Option(help="Who decides: your user name by default.", show_default=False)]
Timeout = Annotated[float, typer.Option(min=1, help="So many seconds are waited for what comes of it.")]


@app.callback()
def _group() -> None: ...


@app.command(name="list")
def list_(
    state: Annotated[State, typer.Option(help="Which ones.")] = State.PENDING,
    group: Group = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the oldest first.")] = LISTED,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """List what is held back, by what it says and why it is held."""
    from twiceshy.cli.quarantine_reading import listed
    from twiceshy.cli.quarantine_shown import as_data, show_list
    from twiceshy.events.quarantine import QuarantineState
    from twiceshy.stores.quarantine import ALL_STATES

    settings = load_settings()
    whose = tenant_of(settings, tenant)
    states = ALL_STATES if state is State.ALL else (QuarantineState(state.value),)
    # One more than is shown, to know whether there are more.
    found = run(listed(settings, whose, states, _named(group), limit + 1))
    if as_json:
        print_json([as_data(one) for one in found[:limit]])
    else:
        show_list(found[:limit], state.value)
    if len(found) > limit:
        typer.echo(f"There are more than these {limit}: --limit shows them, --group those of one group.", err=True)
    elif group is not None:
        _tell_mark(found, as_json=as_json)


@app.command()
def show(items: Items = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Show items in full: why each is held, what was decided, and all that it says, what cannot be seen included."""
    from twiceshy.cli.quarantine_reading import looked_at
    from twiceshy.cli.quarantine_shown import as_data, show_item

    if not items:
        fail("Say which: `twiceshy quarantine list` has their ids.")
    settings = load_settings()
    found = run(looked_at(settings, tenant_of(settings, tenant), items))
    if as_json:
        print_json([as_data(one) for one in found])
    else:
        for one in found:
            show_item(one)
    _tell_mark(found, as_json=as_json)


def _deciding(decision: Decision, told: str) -> None:
    """Adds the command that gives a kind of decision."""

    @app.command(decision, help=told)
    def decide(
        why: Why,
        items: Items = None,
        group: Group = None,
        seen: SeenMark = None,
        tenant: Tenant = None,
        who: Who = None,
        timeout: Timeout = TIMEOUT_SECONDS,
        as_json: AsJson = False,
    ) -> None:
        from pydantic import ValidationError

        from twiceshy.cli.giving import user
        from twiceshy.cli.quarantine_deciding import Wanted, carried_out
        from twiceshy.cli.quarantine_shown import tell

        if bool(items) == (group is not None):
            fail("Name what you decide on: either items by their ids, or a group with --group ORIGIN SUBJECT.")
        if seen is not None and group is None:
            fail("--seen goes with --group: an item that is named by its id is what was shown.")
        settings = load_settings()
        wanted = Wanted(tenant_of(settings, tenant), decision, who or user(), why, _named(group), seen)
        try:
            wanted.decided()
        except ValidationError as error:
            fail(f"This cannot be decided: {'; '.join(explained(error))}.")
        done = run(carried_out(settings, wanted, items or [], timeout))
        if as_json:
            print_json(done.as_data())
        else:
            tell(done, each=group is not None)
        if not done.complete:
            raise typer.Exit(1)


_deciding("approve", "Let pending items into memory, and wait until they can be recalled.")
_deciding("deny", "Keep pending items out of memory. They stay listed, and can be reopened.")
_deciding("reopen", "Make items that were denied, or that nobody decided on in time, pending again.")


def _tell_mark(found: "list[Reviewed]", *, as_json: bool) -> None:
    """How to decide on what was shown, if it is of one group, and on nothing that came after."""
    from twiceshy.cli.quarantine_shown import mark_line

    if line := mark_line([one.item for one in found]):
        typer.echo(line, err=as_json)


def _named(group: tuple[str, str] | None) -> "QuarantineGroup | None":
    from pydantic import ValidationError

    from twiceshy.events.quarantine import QuarantineGroup

    try:
        return None if group is None else QuarantineGroup(origin=group[0], subject=group[1])
    except ValidationError as error:
        fail(f"--group is ORIGIN SUBJECT, as `quarantine show` tells them: {'; '.join(explained(error))}.")
