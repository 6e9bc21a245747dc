"""CloudEvents 1.0 over Kafka. Binary mode: attributes in headers, the event as JSON in the value.

Structured mode has both in one JSON envelope; `binary` opens it at the edge, and nothing behind knows of it.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from twiceshy.errors import PoisonError
from twiceshy.events.catalogue import EVENT_TYPES, TYPE_OF
from twiceshy.events.common import Event, Instant, milliseconds
from twiceshy.stream.records import Headers, Record

CONTENT_TYPE = b"application/json"
SPECVERSION = "1.0"
ENVELOPES = b"application/cloudevents"
STRUCTURED = ENVELOPES + b"+json"
BATCH = ENVELOPES + b"-batch"
ONE_EVENT = "Send one event a record: a batch of events is not taken."
FIELD_CHARS_MAX = 200
ATTRIBUTE_CHARS_MAX = 2_048

_REQUIRED = ("specversion", "id", "source", "type")
_TEXTS = (*_REQUIRED, "time", "subject", "dataschema", "datacontenttype")
_DATA = ("data", "data_base64")
_ATTRIBUTE_NAME = re.compile(rf"[a-z0-9]{{1,{FIELD_CHARS_MAX}}}")
_HEADER_OF = {"datacontenttype": "content-type", "traceparent": "traceparent", "tracestate": "tracestate"}
"""The headers of attributes that are not named ``ce_`` and the attribute's name."""

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
            raise PoisonError(
                "missing_header",
                f"Set the header {name}: events are CloudEvents 1.0 in binary mode, or in structured mode with the "
                f"content-type {STRUCTURED.decode()}.",
            )
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
    if len(text) > ATTRIBUTE_CHARS_MAX:
        raise PoisonError("malformed_header", f"The header {name} must have at most {ATTRIBUTE_CHARS_MAX} characters.")
    return text


def _time(text: str | None, kind: str = "header", name: str = "ce_time") -> int | None:
    if not text:
        return None
    try:
        return milliseconds(_INSTANT.validate_python(text))
    except ValidationError:
        detail = f"The {kind} {name} must be an RFC 3339 time with an offset."
        raise PoisonError(f"malformed_{kind}", detail) from None


def binary(record: Record) -> Record:
    """The record in binary mode: one in structured mode with its envelope opened, any other one as it is.

    The value is the envelope's data, written anew in the order in which they came, so that one record has one value
    however often it is delivered.

    Raises:
        PoisonError: the envelope is not that of one event; the detail names the attribute at fault.
    """
    envelope = _envelope(record)
    if envelope is None:
        return record
    _check(envelope)
    return _opened(record, envelope, _data(envelope))


def claimed(record: Record) -> Record:
    """As `binary`, with what can be read where that refuses: whose event it is and of which trace, to tell of it."""
    try:
        envelope = _envelope(record)
    except PoisonError:
        return record
    if envelope is None:
        return record
    try:
        value = _data(envelope)
    except PoisonError:
        return _opened(record, envelope, record.value)
    return _opened(record, envelope, value)


def _envelope(record: Record) -> dict[str, Any] | None:
    """The members of a structured record's envelope, or None when the record is in binary mode."""
    media_type = _media_type(record.headers.get("content-type", b""))
    if not media_type.startswith(ENVELOPES):
        return None
    if media_type.startswith(BATCH):
        raise PoisonError("batch", ONE_EVENT)
    if media_type != STRUCTURED:
        raise PoisonError("unknown_format", f"Send the event as {STRUCTURED.decode()}, or in binary mode.")
    if record.value is None:
        raise PoisonError("tombstone", "A tombstone means nothing in this topic.")
    try:
        envelope = orjson.loads(record.value)
    except orjson.JSONDecodeError as error:
        raise PoisonError("malformed_json", f"The envelope must be JSON in UTF-8: {error}.") from None
    if isinstance(envelope, list):
        raise PoisonError("batch", ONE_EVENT)
    if not isinstance(envelope, dict):
        raise PoisonError("malformed_json", "The envelope must be a JSON object.")
    # CloudEvents has null say that an attribute is not set.
    return {name: value for name, value in envelope.items() if value is not None}


def _media_type(content_type: bytes) -> bytes:
    """Without parameters, in lower case."""
    return content_type.split(b";")[0].strip().lower()


def _check(envelope: Mapping[str, Any]) -> None:
    for name, value in envelope.items():
        if name not in _DATA and (fault := _fault(name, value)):
            raise PoisonError("malformed_attribute", f"The attribute {name[:FIELD_CHARS_MAX]} {fault}.")
    for name in _REQUIRED:
        if not envelope.get(name):
            raise PoisonError("missing_attribute", f"Set the attribute {name}: events are CloudEvents {SPECVERSION}.")
    if envelope["specversion"] != SPECVERSION:
        raise PoisonError("unknown_specversion", f'The attribute specversion must be "{SPECVERSION}".')
    if _media_type(envelope.get("datacontenttype", "").encode()).startswith(ENVELOPES):
        raise PoisonError("malformed_attribute", "The attribute datacontenttype must not be that of another envelope.")
    _time(envelope.get("time"), "attribute", "time")


def _fault(name: str, value: Any) -> str | None:
    text = _text_of(value)
    if not _ATTRIBUTE_NAME.fullmatch(name):
        return f"must have a name of at most {FIELD_CHARS_MAX} lower-case letters and digits"
    if text is None or (name in _TEXTS and not isinstance(value, str)):
        return "must be text"
    if len(text) > ATTRIBUTE_CHARS_MAX:
        return f"must have at most {ATTRIBUTE_CHARS_MAX} characters"
    return None


def _text_of(value: Any) -> str | None:
    """An attribute's value as text, a number or a boolean as JSON has it; None for what no attribute can be."""
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode() if isinstance(value, int | float) else None


def _data(envelope: Mapping[str, Any]) -> bytes:
    if all(name in envelope for name in _DATA):
        raise PoisonError("two_data", "Send data or data_base64, not both.")
    if "data_base64" in envelope:
        try:
            return base64.b64decode(envelope["data_base64"], validate=True)
        except (TypeError, ValueError):
            raise PoisonError("malformed_base64", "data_base64 must be text in base64 (RFC 4648).") from None
    if "data" not in envelope:
        raise PoisonError("missing_attribute", "Set data: it is the event itself.")
    try:
        return orjson.dumps(envelope["data"])
    except orjson.JSONEncodeError:
        raise PoisonError("malformed_json", "The data are nested too deeply.") from None


def _opened(record: Record, envelope: Mapping[str, Any], value: bytes | None) -> Record:
    told = {name: _text_of(member) for name, member in envelope.items() if name not in _DATA}
    headers = {_HEADER_OF.get(name, f"ce_{name}"): text.encode() for name, text in told.items() if text is not None}
    # The envelope alone says what event this is. But where the record itself tells of a trace, that is a later hop's.
    own = {name: text for name, text in record.headers.items() if name != "content-type" and not name.startswith("ce_")}
    return replace(record, value=value, headers={"content-type": CONTENT_TYPE, **headers, **own})


def claims(body: bytes | None) -> tuple[str | None, str | None, str | None]:
    """Tenant, origin and fingerprint as a body claims them, whatever else is wrong with it."""
    try:
        parsed = orjson.loads(body or b"")
    except orjson.JSONDecodeError:
        return None, None, None
    if not isinstance(parsed, dict):
        return None, None, None
    origin = parsed.get("origin")
    named = (parsed.get("tenant"), origin.get("name") if isinstance(origin, dict) else None, parsed.get("fingerprint"))
    tenant, name, fingerprint = (value if isinstance(value, str) else None for value in named)
    return tenant, name, fingerprint


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
