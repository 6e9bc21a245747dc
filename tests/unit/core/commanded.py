"""Memories to which commands were given, as examples need them."""

from collections.abc import Sequence
from typing import Any

from tests.unit.core.counterexamples import counterexample
from tests.unit.core.recorded_tables import Tables
from tests.unit.core.temporal_histories import TENANT, Aliased, Entry, Published, Statement, logged
from twiceshy.core.temporal import FOREVER
from twiceshy.events.chain import EntryLogged, LoggedCommand, Recorded

NOW = 1_000
OWNER = "fact|service:pay|owner"
CANONICAL = "fact|service:payments|owner"


def said(
    incident: str, thing: str, start: int = 0, *, number: int = 1, title: str = "It broke", **fields: Any
) -> Entry:
    """A revision that says who owns a service from a moment on."""
    told = {name: fields.pop(name) for name in ("subject", "valid_to", "holds") if name in fields}
    statement = Statement(thing, start, predicate="owner", **{"subject": "service:pay", **told})
    fields.setdefault("ce_time", number)
    return Published(incident, f"{incident} {number}", NOW + number, says=(statement,), title=title, **fields)


def remembered(history: Sequence[Entry]) -> tuple[Tables, Recorded]:
    """The tables after a history, about which the oracle is asked too, and what the last entry came to."""
    assert counterexample(history) is None
    tables = Tables()
    results = [tables.remember(entry) for entry in logged(history)]
    return tables, results[-1][0]


def current(tables: Tables) -> dict[str, list[tuple[int, str]]]:
    """By slot, what is believed: start and object."""
    return {slot: [(start, thing) for start, _, thing in held] for slot, held in tables.current().items()}


def founders(tables: Tables) -> list[str]:
    return sorted(row["founder"] for row in tables.facts.values() if row["t_expired"] == FOREVER)


def refusal(result: Recorded) -> tuple[str, str | None, bool]:
    return result.change, result.reason, bool(result.detail)


def command(of: LoggedCommand, number: int = 99) -> EntryLogged:
    [entry] = logged([Aliased("a", "b", NOW + number)])
    return entry.model_copy(update={"event_id": f"command at {number}", "kind": of.kind, "command": of})


ASKED: dict[str, Any] = {"tenant": TENANT, "who": "ada", "why": "It is so."}
