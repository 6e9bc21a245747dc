"""Where the memory of a history answers otherwise than the oracle of points does."""

from tests.unit.core.oracle import Oracle, Rows
from tests.unit.core.recorded_tables import Tables
from tests.unit.core.temporal_histories import Aliased, History, Published, remember
from twiceshy.core.aliases import Names
from twiceshy.core.facts import FACT
from twiceshy.core.memory import Row
from twiceshy.core.temporal import FOREVER


def counterexample(history: History) -> str | None:
    """The first difference, in a sentence; or None.

    Asked at every point of world time, at the first and the last moment of every state of the memory.
    """
    memory, oracle, names = remember(history), Oracle(), names_of(history)
    if memory.stamps and any(known(memory.tables, memory.stamps[0] - 1).values()):
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
            found = difference(known(memory.tables, known_at), expected)
            if found := found or misnamed(memory.tables, oracle, names, known_at):
                return f"after {count} entries, known {known_at}: {found}"
    return None


def expected_of(oracle: Oracle) -> dict[str, Rows]:
    return {
        "facts": oracle.facts(),
        "observations": oracle.statements(),
        "episodes": oracle.episodes(),
        "supersessions": oracle.supersessions(),
    }


def known(tables: Tables, known_at: int) -> dict[str, Rows]:
    """What tables believe at a moment, in the oracle's words."""

    def live(row: Row, end: str = "t_expired") -> bool:
        return bool(row["t_created"] <= known_at < row[end])

    edges = [edge for kind, edge in tables.edges if kind == "SUPERSEDES" and live(edge)]
    return {
        "facts": sorted(fact_of(row) for row in tables.facts.values() if live(row)),
        "observations": sorted(
            tuple(row[name] for name in OBSERVED)
            for row in tables.observations.values()
            if row["slot"].startswith(FACT) and live(row, "t_retracted")
        ),
        "episodes": sorted(tuple(row[name] for name in EPISODE) for row in tables.episodes.values() if live(row)),
        "supersessions": sorted(
            (*(tables.episodes[edge[end]]["incident"] for end in ("to", "from")), edge["t_valid"], edge["status"])
            for edge in edges
        ),
    }


EPISODE = ("incident", "content_hash", "t_valid", "t_invalid")
# When it was learned comes last: all else is the same in whichever order it was said.
OBSERVED = ("subject", "predicate", "object", "holds", "valid_from", "valid_to", "event_id", "trust", "said_at")


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


def misnamed(tables: Tables, oracle: Oracle, names: list[str], known_at: int) -> str | None:
    known_then, sets = Names.at(tables.aliases(), known_at), oracle.names()
    wrong = [name for name in names if known_then.resolved(name) != sets.called(name)]
    return f"{wrong} come to other names" if wrong else None
