"""How much of a backfill may be on its way."""

from workers.room import ENTRIES_MIN, SAMPLE_SECONDS, Room


def test_first_entries_are_let_in_before_anybody_knows_how_fast_the_chain_is() -> None:
    assert Room(200).entries(0, 10.0) == ENTRIES_MIN


def test_as_much_is_let_in_as_the_chain_does_in_a_moment() -> None:
    room = Room(200)
    room.entries(1_000, 10.0)
    assert room.entries(1_200, 12.0) == 70


def test_no_more_is_let_in_than_was_set() -> None:
    room = Room(200)
    room.entries(0, 10.0)
    assert room.entries(5_000, 11.0) == 200


def test_what_the_chain_did_long_ago_does_not_count() -> None:
    room = Room(200)
    room.entries(0, 10.0)
    room.entries(500, 11.0)
    assert room.entries(500, 11.0 + SAMPLE_SECONDS + 1.0) == ENTRIES_MIN


def test_log_that_begins_anew_is_no_chain_that_goes_backwards() -> None:
    room = Room(200)
    room.entries(5_000, 10.0)
    assert room.entries(0, 11.0) == ENTRIES_MIN
    assert room.entries(60, 12.0) == 42
