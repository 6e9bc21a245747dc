"""SituatedQA and YAGO15k: facts with their times, and questions as of a time whose answers were not made here.

Three memories take the same facts and answer the same questions: what Twiceshy's core believes, one that always
gives the latest value, and one that overwrites in place. None of them sees ``gold``; only `right` and `miss` do.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import orjson

from twiceshy.core.temporal import FOREVER, Observation, believed
from twiceshy.events.common import milliseconds

TEMPORAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "temporal" / "temporal.jsonl"
DAY_MS = 86_400_000

Value: TypeAlias = tuple[str, ...]
Place: TypeAlias = tuple[str, str]


class Span(NamedTuple):
    """World time ``[start, end)`` in milliseconds."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fact:
    """``value`` holds for the place, a subject and a predicate, in a time; a value may have many names in it."""

    place: Place
    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class Question:
    """What holds for the place at some time in ``asked``; ``kind`` is the set's own word for where its date is from."""

    place: Place
    asked: Span
    kind: str
    gold: frozenset[str]


Answers: TypeAlias = Callable[[Question], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Collection:
    """One set. A question of it is right with any of the gold answers, or, where many hold at once, with them all."""

    name: str
    many_valued: bool
    facts: tuple[Fact, ...]
    questions: tuple[Question, ...]

    def right(self, question: Question, given: frozenset[str]) -> bool:
        gold, said = _folded(question.gold), _folded(given)
        return said == gold if self.many_valued else bool(said & gold)

    def miss(self, question: Question, given: frozenset[str]) -> str:
        """Why an answer that is not right is not."""
        if not given:
            return "nothing is believed then"
        told = {word for fact in self.facts if fact.place == question.place for word in _folded(fact.value)}
        return "another value" if told & _folded(question.gold) else "gold is in none of the facts' words"


def _folded(words: Iterable[str]) -> set[str]:
    return {word.casefold() for word in words}


def span_of(text: str) -> Span:
    """The day or the year that a date names: ``1988``, ``2019-03-01`` or ``March 01, 2019``."""
    if text.isdecimal():
        first, after = date(int(text), 1, 1), date(int(text) + 1, 1, 1)
    else:
        first = date.fromisoformat(text) if text[0].isdecimal() else _in_words(text)
        after = first + timedelta(days=1)
    return Span(_midnight(first), _midnight(after))


def _in_words(text: str) -> date:
    return datetime.strptime(text, "%B %d, %Y").replace(tzinfo=UTC).date()


def _midnight(day: date) -> int:
    return milliseconds(datetime(day.year, day.month, day.day, tzinfo=UTC))


def read_collections(path: Path = TEMPORAL) -> tuple[Collection, Collection]:
    """SituatedQA and YAGO15k.

    A bare year as an end means the first instant of the next year, a day its own first instant. A question about
    a year is one about its last day (SituatedQA) or about any part of it (YAGO15k, whose predicates are many-valued).
    """
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    return (
        _collection(rows, "situatedqa", many_valued=False),
        _collection(rows, "yago15k", many_valued=True),
    )


def _collection(rows: Sequence[dict[str, Any]], name: str, *, many_valued: bool) -> Collection:
    of_set = [row for row in rows if row["set"] == name]
    facts = tuple(_fact(row) for row in of_set if row["kind"] == "fact")
    questions = tuple(_question(row, whole=many_valued) for row in of_set if row["kind"] == "asof_query")
    return Collection(name, many_valued, facts, questions)


def _fact(row: dict[str, Any]) -> Fact:
    end = row["valid_to"]
    until = FOREVER if end is None else span_of(end).end if end.isdecimal() else span_of(end).start
    return Fact(_place(row), tuple(row["value"]), Span(span_of(row["valid_from"]).start, until))


def _question(row: dict[str, Any], *, whole: bool) -> Question:
    span = span_of(row["as_of"])
    asked = span if whole else Span(span.end - DAY_MS, span.end)
    return Question(_place(row), asked, row.get("date_type", "year"), frozenset(row["gold"]))


def _place(row: dict[str, Any]) -> Place:
    return row["subject"], row.get("predicate", "answer")


def core(facts: Sequence[Fact], *, many_valued: bool) -> Answers:
    """What `believed` makes of the facts as observations; a many-valued predicate has the object in its slot too."""
    slots: dict[Place, dict[str, list[Observation]]] = defaultdict(lambda: defaultdict(list))
    for arrival, fact in enumerate(facts):
        seen = _observation(fact, arrival, many_valued=many_valued)
        slots[fact.place][seen.slot].append(seen)
    held = {
        place: [segment for said in of_place.values() for segment in believed(said)]
        for place, of_place in slots.items()
    }

    def answers(question: Question) -> frozenset[str]:
        asked = question.asked
        given = [s.object for s in held.get(question.place, ()) if s.start < asked.end and asked.start < s.end]
        return frozenset(word for said in given for word in orjson.loads(said))

    return answers


def _observation(fact: Fact, arrival: int, *, many_valued: bool) -> Observation:
    said = orjson.dumps(fact.value).decode()
    return Observation(
        slot="|".join((*fact.place, said) if many_valued else fact.place),
        object=said,
        holds=True,
        valid_from=fact.span.start,
        valid_to=fact.span.end,
        incident=f"{arrival}",
        revised_at=arrival,
        event_id=f"{arrival:06}",
        trust=0.3,
        confidence=1.0,
        t_created=arrival,
    )


def always_latest(facts: Sequence[Fact]) -> Answers:
    """The value that starts last, whenever is asked about."""
    latest: dict[Place, Fact] = {}
    for fact in facts:
        if fact.place not in latest or fact.span.start >= latest[fact.place].span.start:
            latest[fact.place] = fact
    return lambda question: frozenset(latest[question.place].value) if question.place in latest else frozenset()


def overwriting(facts: Sequence[Fact]) -> Answers:
    """Each fact, as it arrives, closes the one that arrived before it at its own start; of what then holds, all."""
    kept: dict[Place, list[Fact]] = defaultdict(list)
    for fact in facts:
        before = kept[fact.place]
        if before:
            last = before[-1]
            before[-1] = Fact(last.place, last.value, Span(last.span.start, min(last.span.end, fact.span.start)))
        before.append(fact)

    def answers(question: Question) -> frozenset[str]:
        asked = question.asked
        holding = [f for f in kept[question.place] if max(f.span.start, asked.start) < min(f.span.end, asked.end)]
        return frozenset(word for fact in holding for word in fact.value)

    return answers
