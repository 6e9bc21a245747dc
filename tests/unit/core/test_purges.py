"""What a purge takes away, and who is turned away after it."""

import pytest

from twiceshy.core.purges import Purge, blocked, purged


def purge(*, since: int = 0, at: int = 20, block: bool = False, unblocked_at: int = 30, origin: str = "p") -> Purge:
    return Purge(origin=origin, since=since, at=at, block=block, unblocked_at=unblocked_at)


@pytest.mark.parametrize(("learned", "gone"), [(0, True), (19, True), (20, False), (21, False)])
def test_purge_takes_what_precedes_it_in_the_log(learned: int, gone: bool) -> None:
    assert purged([purge()], "p", learned) is gone


@pytest.mark.parametrize(("learned", "gone"), [(9, False), (10, True), (19, True), (20, False)])
def test_purge_since_a_moment_takes_what_was_learned_from_then_on(learned: int, gone: bool) -> None:
    assert purged([purge(since=10)], "p", learned) is gone


@pytest.mark.parametrize("origin", ["P", "pp", "p ", None])
def test_purge_takes_what_its_origin_said_and_matches_exactly(origin: str | None) -> None:
    assert not purged([purge()], origin, 10)


def test_what_any_of_several_purges_took_is_purged() -> None:
    several = [purge(since=5, at=10), purge(since=20, at=25), purge(origin="q", at=99)]
    assert [learned for learned in range(30) if purged(several, "p", learned)] == [*range(5, 10), *range(20, 25)]
    assert not purged([], "p", 10)


@pytest.mark.parametrize(("at", "turned_away"), [(19, False), (20, True), (29, True), (30, False)])
def test_blocked_origin_is_turned_away_until_it_is_unblocked(at: int, turned_away: bool) -> None:
    assert blocked([purge(block=True)], "p", at) is turned_away


def test_purge_without_block_turns_nobody_away() -> None:
    assert not blocked([purge()], "p", 25)


def test_origin_is_turned_away_as_long_as_one_block_stands() -> None:
    several = [purge(block=True), purge(block=True, at=25, unblocked_at=40)]
    assert [at for at in range(50) if blocked(several, "p", at)] == list(range(20, 40))
    assert not blocked(several, "q", 25)
