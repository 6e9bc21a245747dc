"""A reply cut to size."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from twiceshy.events.items import Claim, Episode, Fact, FactVersion, Lesson, Why
from twiceshy.events.recall import HistoryReplied, ItemsReplied, RecallReplied, Reply, ValueReplied
from twiceshy.stream.codec import encode
from workers.recall_size import BYTES_PER_TOKEN, NO_ROOM, REPLY_BYTES_MAX, bounded, fitted

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STAMPS: dict[str, Any] = {
    "origin": "x",
    "trust": 0.3,
    "t_valid": NOW,
    "t_invalid": None,
    "ingested_at": NOW,
    "t_expired": None,
}


def episode(number: int, **fields: Any) -> Episode:
    told: dict[str, Any] = {
        "rank": number,
        "fingerprint": f"f{number}",
        "title": "It broke",
        "score": 0.1,
        "incomplete": False,
    }
    return Episode(id=f"e{number}", concluded_at=NOW, why=Why(), **STAMPS, **told, **fields)


def reply(*episodes: Episode, lessons: int = 0) -> RecallReplied:
    told = tuple(Lesson(id=f"l{number}", text="a lesson", **STAMPS) for number in range(lessons))
    return RecallReplied(status="ok", results=episodes, lessons=told)


def test_a_reply_that_fits_is_as_it_was() -> None:
    whole = reply(*(episode(number, summary="short") for number in range(1, 6)), lessons=5)
    assert fitted(whole, None) is whole
    assert fitted(whole, 1_000_000) == whole


@pytest.mark.parametrize("max_tokens", [1, 60, 150, 400, 1_000])
def test_items_take_no_more_than_the_tokens(max_tokens: int) -> None:
    cut = fitted(reply(*(episode(number, summary="words " * 80) for number in range(1, 9)), lessons=9), max_tokens)
    assert sum(len(encode(item)) for item in (*cut.results, *cut.lessons)) <= BYTES_PER_TOKEN * max_tokens
    assert cut.truncated


def test_results_get_room_before_lessons_and_each_part_is_cut_from_its_end() -> None:
    whole = reply(*(episode(number) for number in range(1, 9)), lessons=9)
    cut = fitted(whole, 300)
    assert cut.results == whole.results[: len(cut.results)]
    assert 0 < len(cut.results) < 8
    assert cut.lessons == whole.lessons[: len(cut.lessons)]


@pytest.mark.parametrize("text", ["plain words " * 900, 'line\n"quoted"\t' * 900, "…“ünïcode”" * 900])
def test_first_result_is_shortened_to_what_has_room(text: str) -> None:
    links = tuple(f"https://example.com/{number}" for number in range(60))
    long = episode(1, summary=text, cause=text, resolution=text, links=links)
    cut = fitted(reply(long), 400)
    assert cut.truncated
    assert len(encode(cut.results[0])) <= 400 * BYTES_PER_TOKEN
    assert cut.results[0].title == "It broke"
    assert (cut.results[0].summary or "")[:10] == text[:10]
    assert cut.results[0].links == ()


def test_no_reply_is_longer_than_the_broker_takes() -> None:
    text = "ü" * 16_000
    whole = reply(*(episode(number, summary=text, cause=text, resolution=text) for number in range(1, 51)))
    assert len(encode(whole)) > REPLY_BYTES_MAX
    cut = fitted(whole, None)
    assert cut.truncated
    assert REPLY_BYTES_MAX * 0.8 < len(encode(cut)) <= REPLY_BYTES_MAX


LONG = Claim(id="c", object="ü" * 200, holds=True, origin="ü" * 200, trust=0.9, valid_from=NOW, valid_to=None)


def facts(count: int) -> tuple[Fact, ...]:
    claims = (LONG,) * 20
    return tuple(
        Fact(id=f"{n}", subject="s", predicate="p", object=f"{n}", contested_by=claims, **STAMPS) for n in range(count)
    )


def versions(count: int) -> tuple[FactVersion, ...]:
    return tuple(
        FactVersion(**dict(told), founder="ü" * 400, source="e")
        for told in (fact.model_copy(update={"contested_by": ()}) for fact in facts(count))
    )


def test_another_reply_that_fits_is_as_it_was() -> None:
    for whole in (HistoryReplied(status="ok", versions=versions(9)), ValueReplied(status="ok", facts=facts(9))):
        assert bounded(whole) is whole


def test_of_a_history_the_newest_versions_stay() -> None:
    whole = HistoryReplied(status="ok", versions=versions(2_000))
    cut = bounded(whole)
    assert isinstance(cut, HistoryReplied)
    assert cut.truncated
    assert cut.versions == whole.versions[-len(cut.versions) :]
    assert REPLY_BYTES_MAX * 0.9 < len(encode(cut)) <= REPLY_BYTES_MAX


@pytest.mark.parametrize(
    ("whole", "part"),
    [
        (ValueReplied(status="ok", facts=facts(90)), "facts"),
        (ItemsReplied(status="ok", items=facts(90), missing_ids=("x",)), "items"),
    ],
)
def test_of_all_else_what_comes_first_stays_and_the_reply_says_so(whole: Reply, part: str) -> None:
    cut = bounded(whole)
    kept = getattr(cut, part)
    assert 0 < len(kept) < 90
    assert kept == getattr(whole, part)[: len(kept)]
    assert len(encode(cut)) <= REPLY_BYTES_MAX
    assert (cut.partial, cut.detail) == ((True, NO_ROOM) if part == "facts" else (False, None))
    assert getattr(cut, "truncated", None) is (None if part == "facts" else True)


def test_an_item_says_its_kind_on_the_wire() -> None:
    whole = ItemsReplied(status="ok", items=(episode(1), *facts(1), Lesson(id="l", text="a lesson", **STAMPS)))
    assert [item["kind"] for item in orjson.loads(encode(whole))["items"]] == ["episode", "fact", "lesson"]
    assert ItemsReplied.model_validate_json(encode(whole)) == whole
