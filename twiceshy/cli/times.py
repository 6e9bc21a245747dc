"""Times as tables and texts write them, made instants. What could be more than one moment is refused, not guessed."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, tzinfo

_WRITTEN = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:[T ]\s*(?P<time>\d?\d:\d\d(?::\d\d(?:[.,]\d+)?)?)\s*(?P<offset>Z|UTC|GMT|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE | re.ASCII,
)

_HOURS = ("%H", "%I", "%X", "%c")


@dataclass(frozen=True, slots=True)
class Clock:
    """How times are read: ``zone`` is that of times without an offset, ``days`` that of dates without a time; where
    one is None, such are refused. ``layout`` is a `strptime` format, of all times, in place of ISO 8601."""

    zone: tzinfo | None = None
    days: tzinfo | None = None
    layout: str | None = None

    def instant(self, text: str, *, ends: bool = False) -> datetime:
        """The moment that ``text`` names, with an offset. A date alone is the first second of its day, or with
        ``ends`` the last: by then it was over, and it did not start later than it ended.

        Raises:
            ValueError: it is no time, or not clearly one moment; the message says what to write.
        """
        if self.layout is not None:
            moment = _by_layout(text, self.layout)
            if any(directive in self.layout for directive in _HOURS):
                return self._placed(moment)
            return _in_zone(_bound_of_day(moment, ends=ends), self.days)
        found = _WRITTEN.fullmatch(text.strip())
        if found is None:
            raise ValueError("write the time as 2026-11-02T03:10:00Z, or with another offset")
        day = _iso(found["day"])
        if found["time"] is None:
            return _in_zone(_bound_of_day(day, ends=ends), self.days)
        offset = found["offset"] or ""
        hours = found["time"] if found["time"][1] != ":" else f"0{found['time']}"
        return self._placed(_iso(f"{found['day']}T{hours}{'Z' if offset.isalpha() else offset}"))

    def _placed(self, moment: datetime) -> datetime:
        return moment if moment.tzinfo is not None else _in_zone(moment, self.zone)


def _by_layout(text: str, layout: str) -> datetime:
    try:
        # Whether it has an offset is looked at afterwards, for both ways of reading.
        return datetime.strptime(text.strip(), layout)
    except ValueError:
        raise ValueError(f"the time is not written as --time-format says ({layout})") from None


def _iso(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("there is no such day or time: write it as 2026-11-02T03:10:00Z") from None


def _bound_of_day(day: datetime, *, ends: bool) -> datetime:
    return datetime.combine(day, time(23, 59, 59) if ends else time())


def _in_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    if zone is None:
        raise ValueError(
            "the time has no offset: write it as 2026-11-02T03:10:00Z, "
            "or say which zone such times are in, as --timezone Europe/Berlin"
        )
    once, again = (moment.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if zone is not UTC and once.utcoffset() != again.utcoffset():
        raise ValueError(
            f"the clocks of {zone} were changed then, so that it is twice or never: write it with an offset"
        )
    return once
