"""Decisions about what is held back: which items one changes, why it changes none, and what an item is afterwards.

    approve   pending             → released   appended to the log
    deny      pending             → rejected   trust at most 0.1
    expire    pending             → expired    the same, when nobody decided in time
    reopen    rejected, expired   → pending    with the trust that it had, and a time to live anew

A decision changes an item only if it is made later than the item's last change, in the tenant's one order. So it
finds the same to do however often it is delivered.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from twiceshy.core.ids import derive
from twiceshy.events.common import instant
from twiceshy.events.quarantine import IncidentQuarantined, QuarantineDecided, QuarantineSettlement, QuarantineState

REJECTED_TRUST_MAX = 0.1
DECIDED_ITEMS_MAX = 500
DECIDED_BYTES_MAX = 8 * 1024 * 1024
DECISIONS_KEPT = 20
"""So many of its newest decisions an item tells of, so that however often it is reopened it fits into a record."""

MARK_CHARS = 20

BEFORE: dict[str, tuple[QuarantineState, ...]] = {
    "approve": (QuarantineState.PENDING,),
    "deny": (QuarantineState.PENDING,),
    "expire": (QuarantineState.PENDING,),
    "reopen": (QuarantineState.REJECTED, QuarantineState.EXPIRED),
}
AFTER = {
    "approve": QuarantineState.RELEASED,
    "deny": QuarantineState.REJECTED,
    "expire": QuarantineState.EXPIRED,
    "reopen": QuarantineState.PENDING,
}

_DONE = {"approve": "approved", "deny": "denied", "expire": "not decided on in time, and expired", "reopen": "reopened"}
_COUNTED = {"approve": "items_released", "deny": "items_denied", "reopen": "items_reopened"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item as a decision sees it. ``changed_at`` is when it was held or last changed, ``size`` is in bytes."""

    item_id: str
    event_id: str
    state: QuarantineState
    held_at: int
    changed_at: int
    content_hash: str
    rules_version: str
    size: int
    last: QuarantineSettlement | None


class Seen(Protocol):
    """What of an item is looked at: a `Candidate`, or the item itself."""

    @property
    def item_id(self) -> str: ...
    @property
    def content_hash(self) -> str: ...
    @property
    def rules_version(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a decision changes nothing: a code, and a sentence."""

    reason: str
    detail: str


def judged(decided: QuarantineDecided, found: Sequence[Candidate], at: int) -> list[str] | Refusal:
    """The ids of the items that a decision of the moment ``at`` changes, of what was ``found`` of those it names.

    ``found`` is oldest first; so are the ids, of which there is one at least.
    """
    fitting = [one for one in found if _fits(decided, one, at)]
    named = found if decided.group is None else fitting
    if not named:
        return _nothing(decided)
    if not _looked_at(decided, named):
        return Refusal("changed", "This is not what was looked at: look again, with `twiceshy quarantine list`.")
    if not fitting:
        return _decided_before(named[0])
    return [one.item_id for one in taken(fitting)]


def counted(
    decided: QuarantineDecided, found: Sequence[Candidate], changed: Collection[str], at: int
) -> dict[str, int]:
    """What a decision did in numbers: it has ``changed`` these of what was found, before that or after."""
    others = [one for one in found if one.item_id not in changed]
    left = sum(_fits(decided, one, at) for one in others)
    counts = {
        _COUNTED[decided.decision]: len(changed),
        "items_left": left,
        "items_decided_before": 0 if decided.group else len(others) - left,
        "items_unknown": len(set(decided.items) - {one.item_id for one in found}),
    }
    return {name: count for name, count in counts.items() if count}


def taken(fitting: Sequence[Candidate]) -> list[Candidate]:
    """The first of ``fitting`` that one decision changes: what follows them is left to the next one."""
    size, chosen = 0, list[Candidate]()
    for one in fitting[:DECIDED_ITEMS_MAX]:
        size += one.size
        if chosen and size > DECIDED_BYTES_MAX:
            break
        chosen.append(one)
    return chosen


def digest(items: Collection[Candidate]) -> str:
    """What a decision on ``items`` is bound to: the content of one, of several each with the rules that held it."""
    if len(items) == 1:
        [one] = items
        return one.content_hash
    return _hash(items)


def mark(items: Collection[Seen]) -> str:
    """What a reviewer repeats to decide on the items that were shown, and on no others. It fits on a line."""
    return _hash(items)[:MARK_CHARS]


def _hash(items: Collection[Seen]) -> str:
    lines = sorted(f"{one.item_id} {one.content_hash} {one.rules_version}\n" for one in items)
    return sha256("".join(lines).encode()).hexdigest()


def standing(
    held: IncidentQuarantined, state: QuarantineState, expires_at: int, decisions: Sequence[QuarantineSettlement]
) -> IncidentQuarantined:
    """An item as it stands after ``decisions``, oldest first. ``held`` is the item in any state."""
    trust = held.trust if held.held_trust is None else held.held_trust
    changes = {
        "state": state,
        "expires_at": expires_at,
        "decisions": tuple(decisions)[-DECISIONS_KEPT:],
        "trust": trust,
        "held_trust": None,
    }
    if trust is not None and state in BEFORE["reopen"]:
        changes |= {"trust": min(trust, REJECTED_TRUST_MAX), "held_trust": trust}
    return held.model_copy(update=changes)


def changed_at(item: IncidentQuarantined) -> int:
    """When an item was held or last changed."""
    return item.decisions[-1].at if item.decisions else item.held_at


def expiry_id(item_id: str, expires_at: int) -> str:
    """The id of an expiry, which is no event that came in."""
    return derive("expired", item_id, str(expires_at))


def _fits(decided: QuarantineDecided, one: Candidate, at: int) -> bool:
    seen = decided.group is None or decided.seen_until is None or one.held_at <= decided.seen_until
    return seen and one.state in BEFORE[decided.decision] and one.changed_at < at


def _looked_at(decided: QuarantineDecided, found: Sequence[Candidate]) -> bool:
    # Of a group one decision takes a part when it is large, and that part is what was looked at.
    seen = found if decided.group is None else taken(found)
    if decided.content_hash is not None and decided.content_hash != digest(seen):
        return False
    return decided.rules_version is None or {one.rules_version for one in seen} == {decided.rules_version}


def _nothing(decided: QuarantineDecided) -> Refusal:
    if decided.group is None:
        which = f"no item {decided.items[0]}" if len(decided.items) == 1 else "none of these items"
        return Refusal(
            "unknown_item",
            f"There is {which} in the quarantine of tenant {decided.tenant}: `twiceshy quarantine list` shows what is.",
        )
    states = " or ".join(state.value for state in BEFORE[decided.decision])
    return Refusal(
        "nothing_held",
        f"Nothing of this group is {states} in the quarantine of tenant {decided.tenant}: "
        "`twiceshy quarantine list --state all` shows what is there.",
    )


def _decided_before(one: Candidate) -> Refusal:
    if one.last is None:
        return Refusal("pending", f"Item {one.item_id} is pending: there is nothing to reopen.")
    by = f" by {one.last.who}" if one.last.who else ""
    sentence = f"Item {one.item_id} was {_DONE[one.last.decision]}{by} on {instant(one.last.at):%Y-%m-%d %H:%M:%S} UTC"
    if one.state is QuarantineState.PENDING:
        return Refusal("pending", f"{sentence}: look at it, and decide on it as it is now.")
    if one.state is QuarantineState.RELEASED:
        return Refusal("already_decided", f"{sentence}: it is in the log, and memory forgets no single incident.")
    return Refusal("already_decided", f"{sentence}: `twiceshy quarantine reopen` makes it pending again.")
