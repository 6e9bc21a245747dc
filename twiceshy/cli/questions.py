"""twiceshy history, at, entities-of, fetch, aliases: what memory holds, what it believed and when, and who says so."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

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
    from twiceshy.events.items import (
        Claim,
        Episode,
        Fact,
        FactVersion,
        Lesson,
        MistakeItem,
        Playbook,
        Rule,
    )
    from twiceshy.events.recall import (
        AliasesReplied,
        EntitiesReplied,
        HistoryReplied,
        ItemsReplied,
        Reply,
        ValueReplied,
    )
    from twiceshy.settings import Settings

DEADLINE_MS = 5_000
TEXT_CHARS_MAX = 80
TAKEN_AWAY = "Something was found that is not shown: whoever said it was invalidated."

R = TypeVar("R", bound="Reply")

Subject = Annotated[str, typer.Argument(help="What it is about: service:payments, or payments for any type.")]
Predicate = Annotated[str, typer.Argument(help="What is asked of it, as owner or pool_size.")]
AsOf = Annotated[str | None, typer.Option(help="What was true then: 2026-11-02T03:10:00Z. Now by default.")]
KnownAt = Annotated[str | None, typer.Option(help="What memory knew then: 2026-11-02T03:10:00Z. Now by default.")]


def history(subject: Subject, predicate: Predicate, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Tell what was believed of something from the beginning on, and who changed it."""
    from twiceshy.events.recall import HistoryRequested

    reply = _asked(HistoryRequested, tenant, subject=subject, predicate=predicate)
    _tell(reply, as_json, lambda reply: _show_history(reply, f"{predicate} of {subject}"))


def at(
    subject: Subject,
    predicate: Predicate,
    tenant: Tenant = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Tell what held of something at a moment, as memory knew it then or knows it now."""
    from twiceshy.events.recall import ValueRequested

    when = {"as_of": as_of, "known_at": known_at}
    reply = _asked(ValueRequested, tenant, subject=subject, predicate=predicate, **when)
    _tell(reply, as_json, lambda reply: _show_value(reply, f"{predicate} of {subject}"))


def entities_of(
    incident: Annotated[str, typer.Argument(metavar="ORIGIN[/FINGERPRINT]", help="Which incident, as one key.")],
    fingerprint: Annotated[str | None, typer.Argument(help="Or its fingerprint as an argument of its own.")] = None,
    tenant: Tenant = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Tell what an incident mentions, and what it was resolved by."""
    from twiceshy.core.ids import incident_parts
    from twiceshy.events.recall import EntitiesRequested

    origin = incident
    if fingerprint is None:
        try:
            origin, fingerprint = incident_parts(incident)
        except ValueError:
            fail(f"{incident!r} names no incident: write ORIGIN/FINGERPRINT, or the two as arguments.")
    when = {"as_of": as_of, "known_at": known_at}
    reply = _asked(EntitiesRequested, tenant, origin=origin, fingerprint=fingerprint, **when)
    _tell(reply, as_json, lambda reply: _show_entities(reply, f"{origin}/{fingerprint}"))


def fetch(
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Of incidents, lessons, rules, facts: up to 100.")],
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Print items by their ids, also such as memory no longer believes."""
    from twiceshy.events.recall import ItemsRequested

    _tell(_asked(ItemsRequested, tenant, ids=ids), as_json, _show_items)


def aliases(tenant: Tenant = None, known_at: KnownAt = None, as_json: AsJson = False) -> None:
    """List which names are other names of what."""
    from twiceshy.events.recall import AliasesRequested

    _tell(_asked(AliasesRequested, tenant, known_at=known_at), as_json, _show_aliases)


def _asked(model: Callable[..., Any], tenant: str | None, **fields: Any) -> Any:
    """The reply to the question of a model. Where the fields make none the program ends, and says which is wrong."""
    from pydantic import ValidationError

    settings = load_settings()
    try:
        question = model(tenant=tenant_of(settings, tenant), deadline_ms=DEADLINE_MS, **fields)
    except ValidationError as error:
        fail(f"The question cannot be asked: {'; '.join(explained(error))}.")
    return run(_ask(settings, question))


async def _ask(settings: "Settings", question: Any) -> Any:
    from twiceshy.client import RecallClient

    async with RecallClient(settings) as client:
        return await client.ask(question)


def _tell(reply: R, as_json: bool, show: Callable[[R], None]) -> None:
    if as_json:
        print_json(reply.model_dump(mode="json"))
    elif reply.status == "ok":
        show(reply)
        if reply.withheld:
            _say(TAKEN_AWAY)
        if reply.detail:
            _say(reply.detail)
    if reply.status != "ok":
        fail(shown(f"{reply.status}: {reply.detail or 'no reason was given'}"))


def _show_history(reply: "HistoryReplied", what: str) -> None:
    if not reply.versions:
        _say(f"Memory has never heard of {what}.")
        return
    _together(reply.names)
    rows = [
        (
            version.subject,
            version.object,
            _when(version.t_valid),
            _when(version.t_invalid),
            _when(version.ingested_at),
            _when(version.t_expired),
            f"{version.trust:.2f}",
            version.founder,
            _notes(version),
        )
        for version in reply.versions
    ]
    _print(("subject", "object", "true from", "until", "believed from", "until", "trust", "said by", ""), rows)
    if reply.truncated:
        _say("Earlier versions are left out: there are more than a reply holds.")


def _notes(version: "FactVersion") -> str:
    notes = ["withheld: its origin was invalidated"] if version.withheld else []
    if version.contested:
        notes.append("contested")
    if version.access_count:
        notes.append(f"said again by {version.access_count}")
    return ", ".join(notes)


def _show_value(reply: "ValueReplied", what: str) -> None:
    if reply.facts:
        _together(reply.names)
        rows = [
            (
                told.subject,
                told.object,
                _when(told.t_valid),
                _when(told.t_invalid),
                _when(told.ingested_at),
                f"{told.trust:.2f}",
                told.origin or "",
            )
            for told in reply.facts
        ]
        _print(("subject", "object", "true from", "until", "believed from", "trust", "said by"), rows)
    else:
        _say(f"As far as memory knows, nothing held for {what} at {_when(reply.as_of)}.")
    for told in reply.facts:
        for claim in told.contested_by:
            _say(f"{told.object!r} is contested: {_claim(claim)}")
    for claim in reply.contested_by:
        _say(f"That nothing held is contested: {_claim(claim)}")


def _claim(claim: "Claim") -> str:
    said = repr(claim.object) if claim.holds else "that nothing holds"
    until = "" if claim.valid_to is None else f" until {_when(claim.valid_to)}"
    return f"{claim.origin} (trust {claim.trust:.2f}) says {said} from {_when(claim.valid_from)}{until}."


def _show_entities(reply: "EntitiesReplied", incident: str) -> None:
    if reply.episode_id is None:
        _say(f"Memory holds nothing of {incident} at {_when(reply.as_of)}: see whether it was superseded by then.")
    elif not reply.entities:
        _say(f"{incident} mentions nothing.")
    else:
        rows = [
            (entity.key, entity.role, entity.canonical or "", _when(entity.t_valid), _when(entity.t_invalid))
            for entity in reply.entities
        ]
        _print(("entity", "role", "another name of", "from", "until"), rows)


def _show_items(reply: "ItemsReplied") -> None:
    if reply.items:
        rows = [
            (
                item.kind,
                item.id,
                _text(item),
                item.origin or "",
                f"{item.trust:.2f}",
                _when(item.ingested_at),
                _when(item.t_expired),
            )
            for item in reply.items
        ]
        _print(("kind", "id", "says", "said by", "trust", "believed from", "until"), rows)
    if reply.truncated:
        _say("Some are left out: they are more than a reply holds. Fetch fewer at once.")
    if reply.missing_ids:
        _say(f"Memory has nothing to show for {', '.join(reply.missing_ids)}.")


def _text(item: "Episode | Lesson | Playbook | MistakeItem | Rule | Fact") -> str:
    if item.kind == "episode":
        text = f"{item.fingerprint}: {item.title}"
    elif item.kind == "lesson":
        text = item.text
    elif item.kind == "playbook":
        text = "; ".join(item.steps)
    elif item.kind == "fact":
        text = f"{item.subject} {item.predicate} {item.object}"
    else:
        text = item.statement
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS_MAX else f"{line[: TEXT_CHARS_MAX - 1]}…"


def _show_aliases(reply: "AliasesReplied") -> None:
    if not reply.aliases:
        _say("No name is an alias of another: `twiceshy alias CANONICAL ALIAS` makes one.")
        return
    rows = [(one.alias, one.canonical, one.resolved, _when(one.since)) for one in reply.aliases]
    _print(("alias", "of", "comes to", "since"), rows)


def _together(names: Sequence[str]) -> None:
    if len(names) > 1:
        _say(f"Read as one: {', '.join(names)}.")


def _when(moment: datetime | None) -> str:
    return "still" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def _print(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.text import Text

    told = table(*columns)
    for row in rows:
        told.add_row(*(Text(shown(cell)) for cell in row))
    console().print(told)


def _say(sentence: str) -> None:
    screen = console()
    screen.print(shown(sentence), markup=False, soft_wrap=not screen.is_terminal)
