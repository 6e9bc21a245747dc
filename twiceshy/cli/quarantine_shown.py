"""How items of quarantine are shown: as text that does nothing to whoever looks at it, and hides nothing from them."""

import shlex
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from twiceshy.cli.giving import numbers
from twiceshy.cli.output import console, fail, shown, table
from twiceshy.cli.quarantine_deciding import Done
from twiceshy.core.quarantine import BEFORE, mark
from twiceshy.events.common import instant
from twiceshy.events.quarantine import IncidentQuarantined, QuarantineReason, QuarantineState
from workers.review import Reviewed

ID_CHARS = 13
SUBJECT_CHARS_MAX = 70

_DONE = {"approve": "Approved", "deny": "Denied", "reopen": "Reopened", "expire": "Expired"}
# They count as letters or marks, and nobody sees them.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


def marked(text: str) -> str:
    """``text`` with each character that cannot be seen, or that a terminal would obey, as ``‹U+200B›``."""
    return "".join(f"‹U+{ord(letter):04X}›" if _hidden(letter) else letter for letter in text)


def _hidden(letter: str) -> bool:
    if letter == "\n":
        return False
    return not letter.isprintable() or letter in _UNSEEN or any(ord(letter) in selectors for selectors in _SELECTORS)


def as_data(reviewed: Reviewed) -> dict[str, Any]:
    """What is shown, for programs."""
    earlier = [{"event_id": one.event_id, "incident": one.incident, "title": one.title} for one in reviewed.earlier]
    told = {"newer_in_memory_at": reviewed.newer_at, "earlier": earlier}
    return {**reviewed.item.model_dump(mode="json"), **told}


def show_list(found: list[Reviewed], state: str) -> None:
    """Items a line each."""
    if not found:
        console().print(f"Nothing is {'in quarantine' if state == 'all' else state}.")
        return
    rows = table("item", "state", "expires", "origin", "subject", "held for")
    for one in found:
        item = one.item
        rules = ", ".join(dict.fromkeys(reason.rule for reason in item.reasons))
        rows.add_row(
            item.item_id[:ID_CHARS],
            item.state.value + (" (memory is newer)" if one.newer_at is not None else ""),
            _expires(item),
            marked(item.origin),
            marked(item.subject or item.incident.title),
            rules,
        )
    console().print(rows, markup=False)


def show_item(one: Reviewed) -> None:
    """One item in full."""
    item = one.item
    for line in (*_about(item), *_beside(one), "", *_text(item), ""):
        console().print(line, markup=False, soft_wrap=True)


def mark_line(items: list[IncidentQuarantined]) -> str | None:
    """How to decide on these items as a group. None: they are of several, or no decision is about all of them."""
    if len({(item.origin, item.subject) for item in items}) != 1:
        return None
    states = {item.state for item in items}
    decisions = [decision for decision in ("approve", "deny", "reopen") if states <= set(BEFORE[decision])]
    if not decisions:
        return None
    which = "this item" if len(items) == 1 else f"these {len(items)} items"
    what = f"To {' or '.join(decisions)} {which} as all of the group, which is refused when it has others by then"
    return f"{what}: {_group(items[0])} --seen {mark(items)}"


def _group(item: IncidentQuarantined) -> str:
    return f"--group {shlex.quote(marked(item.origin))} {shlex.quote(marked(item.subject))}"


def _about(item: IncidentQuarantined) -> Iterator[str]:
    yield f"Item {item.item_id}: {item.state.value}" + (
        f", {_expires(item)}" if item.state is QuarantineState.PENDING else ""
    )
    yield f"  incident   {marked(item.origin)}/{marked(item.incident.fingerprint)}, event {item.event_id}"
    yield f"  group      {_group(item)}"
    yield f"  held       {_moment(item.held_at)}, rules {item.rules_version or 'unknown'}"
    yield from (f"  reason     {_reason(reason)}" for reason in item.reasons)
    if item.trust is not None:
        before = "" if item.held_trust is None else f", reopened {item.held_trust:g}"
        yield f"  trust      {item.trust:g}{before}"
    if item.masked:
        yield f"  masked     {', '.join(f'{count} {kind}' for kind, count in item.masked.items())}"
    if item.risky:
        yield f"  risky      {', '.join(item.risky)}"
    for decision in item.decisions:
        by = f" by {marked(decision.who)}" if decision.who else ""
        why = f": {marked(decision.why)}" if decision.why else ""
        yield f"  {_DONE[decision.decision].lower():<10} {_moment(decision.at)}{by}{why}"


def _beside(one: Reviewed) -> Iterator[str]:
    for earlier in one.earlier:
        title = "memory has nothing of it any more" if earlier.title is None else marked(earlier.title)
        yield f"  before it  {marked(earlier.incident or earlier.event_id)}: {title}"
    if one.newer_at is not None:
        at = _moment(one.newer_at)
        yield f"  WARNING    Memory has a newer revision of this incident already, of {at}: this one would be stale."


def _text(item: IncidentQuarantined) -> Iterator[str]:
    """All that the incident says, field by field."""
    said = item.incident.model_dump(mode="json", exclude_defaults=True, exclude={"tenant"})
    for where, text in _fields(said):
        first, *more = marked(text).split("\n")
        yield f"  {marked(where)}: {first}"
        yield from (f"    {line}" for line in more)


def _fields(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Every value that is none of others, as text, with the path that leads to it."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _fields(part, f"{where}.{key}".lstrip("."))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _fields(part, f"{where}.{index}")
    elif value is not None:
        yield where, str(value)


def _reason(reason: QuarantineReason) -> str:
    where = f" in {marked(reason.detail)}" if reason.detail else ""
    burst = f", {reason.burst_count} within the window" if reason.burst_count is not None else ""
    return f"{reason.rule} ({reason.category}){where}{burst}"


def _moment(epoch_ms: int) -> str:
    return f"{instant(epoch_ms):%Y-%m-%d %H:%M:%S} UTC"


def _expires(item: IncidentQuarantined) -> str:
    if item.state is not QuarantineState.PENDING:
        return ""
    minutes = (item.expires_at - int(time.time() * 1_000)) // 60_000
    if minutes < 1:
        return "any moment now"
    days, hours = divmod(minutes // 60, 24)
    return f"in {days} d {hours} h" if days else f"in {hours} h {minutes % 60} min"


def tell(done: Done, *, each: bool) -> None:
    """What came of a decision, with ``each`` also on which items. Where guard refused it, the program ends with the
    reason."""
    if done.counts:
        console().print(f"{_DONE[done.decision]}{numbers(done.counts)}", markup=False, soft_wrap=True)
    if done.outcomes:
        became = Counter(outcome.outcome for outcome in done.outcomes.values())
        told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(became.items()))
        console().print(f"Of what was let in: {told}.", markup=False, soft_wrap=True)
    if each and done.items:
        for line in (f"Decided on {len(done.items)}:", *(f"  {item_id}" for item_id in done.items)):
            console().print(line, markup=False, soft_wrap=True)
    if done.refusal is not None:
        fail(shown(done.refusal.detail or f"The decision was {done.refusal.outcome}: {done.refusal.reason}."))
