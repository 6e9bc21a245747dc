"""A written time is one instant, or it is refused."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from twiceshy.cli.times import Clock

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-02T12:00:00Z",
        "2026-11-02t12:00z",
        "2026-11-02 12:00 UTC",
        "2026-11-02 12:00:00.000 GMT",
        "2026-11-02T13:00:00+01:00",
        "2026-11-02 13:00 +0100",
        " 2026-11-02 7:00-05:00 ",
    ],
)
def test_time_with_an_offset_is_that_instant_whatever_the_zone(text: str) -> None:
    assert [Clock().instant(text), Clock(zone=BERLIN).instant(text)] == [NOON, NOON]


def test_time_without_an_offset_is_one_of_the_zone() -> None:
    clock = Clock(zone=BERLIN)
    assert [clock.instant("2026-11-02 13:00"), clock.instant("2026-07-02T14:00:00")] == [NOON, NOON.replace(month=7)]


@pytest.mark.parametrize("text", ["2026-11-02 13:00", "2026-11-02T13:00:00", "2026-11-02"])
def test_time_without_an_offset_is_refused_where_no_zone_is_given(text: str) -> None:
    with pytest.raises(ValueError, match=r"no offset: write it as .*, or .* --timezone Europe/Berlin"):
        Clock().instant(text)


@pytest.mark.parametrize("text", ["2026-10-25 02:30", "2026-03-29 02:30"])
def test_time_that_is_twice_or_never_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="clocks of Europe/Berlin were changed"):
        Clock(zone=BERLIN).instant(text)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "1777777777", "02.11.2026", "11/2/2026 3 PM", "2026-11-02 13:00 CET"]
)
def test_what_could_be_several_times_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write the time as"):
        Clock(zone=BERLIN, days=BERLIN).instant(text)


@pytest.mark.parametrize("text", ["2026-02-30", "2026-11-02 25:00Z", "2026-11-02 12:00+25:00"])
def test_day_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no such day or time"):
        Clock(days=UTC).instant(text)


def test_date_alone_is_the_beginning_of_its_day_or_its_end() -> None:
    clock = Clock(days=BERLIN)
    assert clock.instant("2026-11-02") == datetime(2026, 11, 1, 23, tzinfo=UTC)
    assert clock.instant("2026-11-02", ends=True) == datetime(2026, 11, 2, 22, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("layout", "text", "expected"),
    [
        ("%d/%b/%y %I:%M %p", "02/Nov/26 1:00 PM", NOON),
        ("%d.%m.%Y %H:%M %z", "02.11.2026 12:00 +0000", NOON),
        ("%m/%d/%Y", "11/02/2026", datetime(2026, 11, 1, 23, tzinfo=UTC)),
    ],
)
def test_layout_says_how_times_are_written(layout: str, text: str, expected: datetime) -> None:
    assert Clock(zone=BERLIN, days=BERLIN, layout=layout).instant(text) == expected


def test_time_of_another_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="not written as --time-format says"):
        Clock(layout="%d.%m.%Y").instant("2026-11-02")
