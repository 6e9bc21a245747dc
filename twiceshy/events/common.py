"""The types that every event is made of: bounded text, names, tenants and instants."""

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

TEXT_CHARS_MAX = 16_384
DETAILS_CHARS_MAX = 98_304
NAME_CHARS_MAX = 200
EVENT_BYTES_MAX = 256 * 1024
WHY_CHARS_MAX = 1_000

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Event(BaseModel):
    """An immutable, closed record: an unknown field is refused, not ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def milliseconds(instant: datetime) -> int:
    """UTC epoch milliseconds of an aware datetime, exact (no float on the way)."""
    delta = instant - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000 + delta.microseconds // 1_000


def instant(epoch_ms: int) -> datetime:
    """The aware UTC datetime of ``epoch_ms`` milliseconds, the inverse of `milliseconds`."""
    return _EPOCH + timedelta(milliseconds=epoch_ms)


def _timestamp_text(value: Any) -> Any:
    # Pydantic reads numbers as Unix seconds or milliseconds, whichever seems likelier. A producer
    # that sends one has made a mistake that must not become a guess about when something was true.
    if isinstance(value, datetime) or (isinstance(value, str) and _RFC_3339.match(value)):
        return value
    raise ValueError("write the time as an RFC 3339 string with an offset, such as 2026-11-02T03:10:00Z")


def _expressible(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("must lie between the years 1 and 9999, in UTC too") from None


def _printable(value: str) -> str:
    normal = unicodedata.normalize("NFC", value)
    if not normal.strip():
        raise ValueError("must not be blank")
    if not normal.isprintable():
        raise ValueError("must be printable text without control or invisible characters")
    return normal


def _without_nul(value: str) -> str:
    # NUL ends a query of the graph half-way, and says nothing to a reader.
    return value.replace("\x00", "\N{REPLACEMENT CHARACTER}")


def _one_line(value: str) -> str:
    line = " ".join(_without_nul(value).split())
    if not line:
        raise ValueError("must not be blank")
    return line


Instant = Annotated[AwareDatetime, BeforeValidator(_timestamp_text), AfterValidator(_expressible)]
Tenant = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
Name = Annotated[str, Field(min_length=1, max_length=NAME_CHARS_MAX), AfterValidator(_printable)]
Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
Title = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_one_line)]
Text = Annotated[str, Field(max_length=TEXT_CHARS_MAX), AfterValidator(_without_nul)]
Why = Annotated[str, Field(max_length=WHY_CHARS_MAX), AfterValidator(_without_nul)]
Details = Annotated[str, Field(max_length=DETAILS_CHARS_MAX), AfterValidator(_without_nul)]
Url = Annotated[str, Field(max_length=2_048, pattern=r"^https?://\S+$")]
Id = Annotated[str, Field(min_length=1, max_length=100)]
Milliseconds = Annotated[int, Field(ge=0, description="UTC epoch milliseconds")]
WorldMilliseconds = Annotated[int, Field(description="UTC epoch milliseconds; some incidents are older than 1970")]
Unit = Annotated[float, Field(ge=0.0, le=1.0)]
