"""twiceshy recall: one question to the memory, and how an answer is shown."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from twiceshy.cli.output import (
    AsJson,
    Tenant,
    console,
    explained,
    fail,
    load_settings,
    print_json,
    run,
    shown,
    table,
    tenant_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from twiceshy.events.items import Denied, Episode, Fact, Lesson, Playbook, Why
    from twiceshy.events.recall import RecallReplied, RecallRequested
    from twiceshy.settings import Settings

ITEMS_MAX = 50
CHARS_MAX = 1_000


def recall(
    text: Annotated[str, typer.Argument(help="What you see, in your own words.")] = "",
    tenant: Tenant = None,
    entity: Annotated[
        list[str] | None, typer.Option(metavar="TYPE:REF", help="What it is about, as service:payments. Repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=50, help="So many incidents at most.")] = 5,
    as_of: Annotated[str | None, typer.Option(help="What was true then: 2026-11-02T03:10:00Z.")] = None,
    known_at: Annotated[str | None, typer.Option(help="What memory knew then: 2026-11-02T03:10:00Z.")] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Show these kinds alone; superseded: what no longer holds too. Repeatable."),
    ] = None,
    deadline_ms: Annotated[int, typer.Option(min=1, max=60_000, help="How long the answer may take.")] = 2_000,
    as_json: AsJson = False,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Print it as text for an agent's prompt: quoted, bounded and inert.")
    ] = False,
) -> None:
    """Ask the memory what is like what you see now: incidents, lessons, steps and rules."""
    if as_json and prompt:
        fail("The answer is printed as JSON or for a prompt: leave out --json or --prompt.")
    settings = load_settings()
    asked = _request(
        tenant=tenant_of(settings, tenant),
        query=text,
        entities=entity or [],
        limit=limit,
        as_of=as_of,
        known_at=known_at,
        include=_included(include or []),
        deadline_ms=deadline_ms,
    )
    reply = run(_ask(settings, asked))
    if as_json:
        print_json(reply.model_dump(mode="json"))
    elif prompt:
        from twiceshy.client import render

        typer.echo(render(reply), nl=False)
    else:
        show_reply(console(), reply)
    if reply.status != "ok":
        raise typer.Exit(1)


def _request(**fields: Any) -> "RecallRequested":
    from pydantic import ValidationError

    from twiceshy.events.recall import RecallRequested

    if not fields["query"].strip() and not fields["entities"]:
        fail("There is no question: say in words what you see, or name what it is about with --entity.")
    try:
        return RecallRequested(**fields)
    except ValidationError as error:
        fail(f"The question cannot be asked: {'; '.join(explained(error))}.")


def _included(kinds: list[str]) -> list[str]:
    """What to ask for: every kind, unless some are named; what no longer holds is no kind of its own."""
    from twiceshy.events.recall import INCLUDE_ALL

    named = [kind for kind in kinds if kind != "superseded"]
    return [*(named or INCLUDE_ALL), *(["superseded"] if "superseded" in kinds else [])]


async def _ask(settings: "Settings", asked: "RecallRequested") -> "RecallReplied":
    from twiceshy.client import RecallClient

    async with RecallClient(settings) as client:
        return await client.ask(asked)


def show_reply(
    screen: "Console", reply: "RecallReplied", *, items_max: int = ITEMS_MAX, chars_max: int = CHARS_MAX
) -> None:
    """Prints what a reply holds: the fused list, lessons, steps, rules, facts, the legs, and how long it took.

    Of each kind but the incidents so many are shown, and of each so many characters.
    """
    from rich.text import Text

    if reply.status != "ok":
        screen.print(Text(f"{reply.status}: {reply.detail or 'no reason was given'}", style="red"))
        return
    if not reply.results:
        screen.print(Text("Nothing in memory is similar to this." if reply.novel else "Nothing was found."))
    else:
        screen.print(_results(reply))
    if reply.unknown_entities:
        screen.print(Text(f"Memory has never heard of {shown(', '.join(reply.unknown_entities))}.", style="yellow"))
    if reply.withheld:
        screen.print(Text("Something may be left out: what an origin said that was invalidated.", style="yellow"))
    for title, told in _sections(reply):
        if told:
            screen.print(Text(f"\n{title}", style="bold"))
            for sentence in told[:items_max]:
                screen.print(Text(f"- {_shortened(shown(sentence), chars_max)}"), soft_wrap=not screen.is_terminal)
            if len(told) > items_max:
                screen.print(Text(f"  and {len(told) - items_max} more", style="dim"))
    screen.print(_legs(reply))


def _results(reply: "RecallReplied") -> Any:
    from rich.text import Text

    rows = table("#", "incident", "title", "date", "score", "why")
    for found in reply.results:
        rows.add_row(
            str(found.rank),
            Text(shown(found.fingerprint)),
            Text(shown(f"{_risky(found)}{found.title}{_standing(found)}")),
            f"{found.concluded_at:%Y-%m-%d}",
            f"{found.score:.4f}",
            Text(shown(why(found.why))),
        )
    return rows


def _standing(found: "Episode") -> str:
    """Who takes the place of an episode, or only claims to."""
    told = [
        f"{'contested' if claim.contested else 'superseded'} by {claim.origin}/{claim.fingerprint} "
        f"from {claim.since:%Y-%m-%d} on"
        for claim in found.superseded_by
    ]
    return f" ({'; '.join(told)})" if told else ""


def _fact(told: "Fact") -> str:
    says = f"{_seen(told.incidents, told.origins)}{told.subject} {told.predicate} {told.object}"
    others = [
        f"{claim.origin} says {claim.object if claim.holds else 'that nothing holds'}" for claim in told.contested_by
    ]
    return f"{says} (contested: {', '.join(others)})" if others else says


def _denied(told: "Denied") -> str:
    by = "an origin that was invalidated" if told.denied_by is None else told.denied_by.origin
    others = [f"{claim.origin} says {claim.object}" for claim in told.contested_by]
    return f"{told.subject} {told.predicate}: nothing holds, says {by} (contested: {', '.join(others)})"


def _seen(incidents: int | None, origins: int | None) -> str:
    """How many say so, where it is more than one."""
    if incidents is None or incidents < 2:
        return ""
    counted = [_counted(incidents, "incident")] + ([] if origins is None else [_counted(origins, "origin")])
    return f"(seen in {' of '.join(counted)}) "


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _risky(told: "Episode | Lesson | Playbook") -> str:
    return f"(risky: {', '.join(told.risky)}) " if told.risky else ""


def why(found: "Why") -> str:
    """The place that each leg gave it, from 1, and what it matched on."""
    places = {"meaning": found.semantic, "words": found.lexical, "graph": found.graph}
    told = [f"{leg} {place + 1}" for leg, place in places.items() if place is not None]
    if found.terms:
        told.append(f"“{', '.join(found.terms)}”")
    return " · ".join([*told, *found.entities])


def _sections(reply: "RecallReplied") -> list[tuple[str, list[str]]]:
    return [
        ("Lessons", [f"{_risky(lesson)}{lesson.text}" for lesson in reply.lessons]),
        ("What was done", [f"{_risky(playbook)}{'; '.join(playbook.steps)}" for playbook in reply.playbooks]),
        ("Rules that stand", [f"{_seen(rule.incidents, rule.origins)}{rule.statement}" for rule in reply.rules]),
        ("Facts", [*map(_fact, reply.facts), *map(_denied, reply.denied)]),
    ]


def _shortened(text: str, chars_max: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= chars_max else f"{line[: chars_max - 1]}…"


def _legs(reply: "RecallReplied") -> Any:
    from rich.text import Text

    told = [
        f"{name} {leg.status}, {leg.hits} hits, {leg.took_ms:.1f} ms" + (f" ({leg.reason})" if leg.reason else "")
        for name, leg in reply.legs.items()
    ]
    missing = "  A part is missing from this answer." if reply.partial else ""
    return Text(f"\n{' | '.join(told)}\nanswered in {reply.took_ms:.1f} ms{missing}", style="dim")
