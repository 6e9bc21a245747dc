"""Where the memory of a history answers otherwise than the oracle of points does."""

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import TypeAlias

from tests.unit.core.oracle import Oracle, Rows
from tests.unit.core.recorded_tables import Tables
from tests.unit.core.temporal_histories import Aliased, History, Published, remember
from twiceshy.core.aliases import Alias, Names
from twiceshy.core.facts import FACT
from twiceshy.core.memory import Row
from twiceshy.core.temporal import FOREVER

Lived: TypeAlias = tuple[int, int, tuple[object, ...]]
"""A row, from when on it was believed, and from when on no longer."""


def counterexample(history: History) -> str | None:
    """The first difference, in a sentence; or None.

    Asked at every point of world time, at the first and the last moment of every state of the memory.
    """
    memory, oracle, names = remember(history), Oracle(), names_of(history)
    told, named = lived(memory.tables), set[object]()
    if memory.stamps and any(known(told, memory.stamps[0] - 1).values()):
        return "something is known before anything was said"
    for count, (entry, stamp) in enumerate(zip(history, memory.stamps, strict=True), start=1):
        before = oracle.watermark
        oracle.read(entry)
        if oracle.watermark == before:
            continue
        if stamp != oracle.watermark:
            return f"entry {count} is stamped {stamp}, expected {oracle.watermark}"
        expected = expected_of(oracle)
        last = min((later for later in memory.stamps if later > stamp), default=FOREVER) - 1
        for known_at in {stamp, last}:
            found = difference(known(told, known_at), expected)
            aliases = tuple(each for each in memory.tables.aliases() if each.t_created <= known_at < each.t_expired)
            if not found and (aliases, oracle.aliases) not in named:  # or every name has come to the same before
                named.add((aliases, oracle.aliases))
                found = misnamed(aliases, oracle, names)
            if found:
                return f"after {count} entries, known {known_at}: {found}"
    return None


def expected_of(oracle: Oracle) -> dict[str, Rows]:
    return {
        "facts": oracle.facts(),
        "observations": oracle.statements(),
        "episodes": oracle.episodes(),
        "supersessions": oracle.supersessions(),
    }


def lived(tables: Tables) -> dict[str, list[Lived]]:
    """All that tables hold, in the oracle's words and in order, each from when until when it was believed."""
    episodes = tables.episodes

    def spans(rows: Iterable[Row], told: Callable[[Row], tuple[object, ...]], end: str = "t_expired") -> list[Lived]:
        return sorted(((row["t_created"], row[end], told(row)) for row in rows), key=itemgetter(2))

    return {
        "facts": spans(tables.facts.values(), fact_of),
        "observations": spans(
            (row for row in tables.observations.values() if row["slot"].startswith(FACT)), OBSERVED, "t_retracted"
        ),
        "episodes": spans(episodes.values(), EPISODE),
        "supersessions": spans(
            (edge for kind, edge in tables.edges if kind == "SUPERSEDES"),
            lambda edge: (
                *(episodes[edge[end]]["incident"] for end in ("to", "from")),
                *(edge["t_valid"], edge["status"]),
            ),
        ),
    }


def known(told: dict[str, list[Lived]], known_at: int) -> dict[str, Rows]:
    """What was believed at a moment."""
    return {kind: [row for created, ended, row in rows if created <= known_at < ended] for kind, rows in told.items()}


EPISODE = itemgetter("incident", "content_hash", "t_valid", "t_invalid")
# When it was learned comes last: all else is the same in whichever order it was said.
OBSERVED = itemgetter(
    "subject", "predicate", "object", "holds", "valid_from", "valid_to", "event_id", "trust", "said_at"
)


def fact_of(row: Row) -> tuple[object, ...]:
    """No name in these histories has a vertical line."""
    slot = tuple(row["slot"].removeprefix(FACT).split("|"))
    assert slot[:2] == (row["subject"], row["predicate"])
    return slot, row["t_valid"], row["t_invalid"], row["object"], row["founder"]


def difference(found: dict[str, Rows], expected: dict[str, Rows]) -> str | None:
    for kind, rows in expected.items():
        if found[kind] != rows:
            missing = [row for row in rows if row not in found[kind]]
            stray = [row for row in found[kind] if row not in rows]
            return f"of {kind} {missing} are missing and {stray} are not to be there"
    return None


def names_of(history: History) -> list[str]:
    """All names that a history has."""
    names: dict[str, None] = {}
    for entry in history:
        if isinstance(entry, Published):
            names |= dict.fromkeys(name for said in entry.says for name in (said.subject, said.object))
        elif isinstance(entry, Aliased):
            names |= dict.fromkeys((entry.alias, entry.canonical))
    return list(names)


def misnamed(aliases: Iterable[Alias], oracle: Oracle, names: list[str]) -> str | None:
    known_then, sets = Names(aliases), oracle.names()
    wrong = [name for name in names if known_then.resolved(name) != sets.called(name)]
    return f"{wrong} come to other names" if wrong else None
