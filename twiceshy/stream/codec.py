"""CloudEvents 1.0 over Kafka, binary mode: attributes in headers, the event as JSON in the value."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from twiceshy.errors import PoisonError
from twiceshy.events.catalogue import EVENT_TYPES, TYPE_OF
from twiceshy.events.common import Event, Instant, milliseconds
from twiceshy.stream.records import Headers, Record

CONTENT_TYPE = b"application/json"
FIELD_CHARS_MAX = 200

E = TypeVar("E", bound=Event)

_INSTANT: TypeAdapter[datetime] = TypeAdapter(Instant)


@dataclass(frozen=True, slots=True)
class Attributes:
    """The CloudEvents attributes of a record. ``time_ms`` is None when the producer gave none."""

    id: str
    source: str
    type: str
    time_ms: int | None


def attributes(record: Record) -> Attributes:
    """The CloudEvents attributes in a record's headers.

    Raises:
        PoisonError: one that must be there is missing, or is not what CloudEvents says.
    """
    text = {name: _text(record, name) for name in ("ce_id", "ce_source", "ce_type", "ce_time")}
    for name in ("ce_id", "ce_source", "ce_type"):
        if not text[name]:
            raise PoisonError("missing_header", f"Set the header {name}: events are CloudEvents 1.0 in binary mode.")
    return Attributes(
        id=text["ce_id"] or "",
        source=text["ce_source"] or "",
        type=text["ce_type"] or "",
        time_ms=_time(text["ce_time"]),
    )


def _text(record: Record, name: str) -> str | None:
    raw = record.headers.get(name)
    if raw is None:
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise PoisonError("malformed_header", f"The header {name} must be UTF-8 text.") from None
    if len(text) > 2_048:
        raise PoisonError("malformed_header", f"The header {name} must have at most 2048 characters.")
    return text


def _time(text: str | None) -> int | None:
    if not text:
        return None
    try:
        return milliseconds(_INSTANT.validate_python(text))
    except ValidationError:
        raise PoisonError("malformed_header", "The header ce_time must be an RFC 3339 time with an offset.") from None


def decode(record: Record, model: type[E]) -> E:
    """The event in a record's value.

    Raises:
        PoisonError: it is a tombstone, no JSON, or not what the schema says; the detail names each field.
    """
    if record.value is None:
        raise PoisonError("tombstone", "A tombstone means nothing in this topic.")
    try:
        return model.model_validate_json(record.value)
    except ValidationError as error:
        code = "malformed_json" if error.errors()[0]["type"] == "json_invalid" else "schema"
        raise PoisonError(code, _explain(error)) from None


def _explain(error: ValidationError) -> str:
    """Each fault as ``field: what is wrong``, without the input, which may hold a secret.

    A field that the schema does not know is named by its producer, at any length.
    """
    faults = [
        f"{'.'.join(str(part)[:FIELD_CHARS_MAX] for part in fault['loc']) or 'the event'}: {fault['msg']}"
        for fault in error.errors(include_input=False, include_url=False)
    ]
    return "; ".join(faults[:5]) + (f"; and {len(faults) - 5} more" if len(faults) > 5 else "")


def encode(event: Event) -> bytes:
    """The event as JSON. What has its default value is left out, so that a default costs no bytes."""
    return event.model_dump_json(exclude_defaults=True).encode()


def event_headers(model: type[Event], *, event_id: str, source: str, time: str | None = None) -> Headers:
    """The CloudEvents headers of an event of type ``model``."""
    headers: list[tuple[str, bytes]] = [
        ("ce_specversion", b"1.0"),
        ("ce_id", event_id.encode()),
        ("ce_source", source.encode()),
        ("ce_type", TYPE_OF[model].encode()),
        ("content-type", CONTENT_TYPE),
    ]
    if time is not None:
        headers.append(("ce_time", time.encode()))
    return tuple(headers)


def event_model(attributes: Attributes) -> type[Event]:
    """The model of the event that the attributes announce.

    Raises:
        PoisonError: no such type is part of the contract.
    """
    model = EVENT_TYPES.get(attributes.type)
    if model is None:
        raise PoisonError("unknown_type", f"{attributes.type!r} is no event type of this contract.")
    return model
