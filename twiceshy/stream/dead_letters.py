"""Dead letters: the original record, redacted, with why it could not be processed in its headers."""

from dataclasses import replace

from twiceshy.core.credentials import Said
from twiceshy.core.redact import Redactor
from twiceshy.errors import PoisonError
from twiceshy.stream.records import RECORD_BYTES_MAX, Output, Record, size
from twiceshy.stream.signing import SIGNATURE_HEADER, said, signature_in
from twiceshy.stream.topics import TOPICS
from twiceshy.stream.trace import trace_headers

_KNOWN_BY = ("ce_id", "ce_source")


def dead_letter(record: Record, worker: str, error: PoisonError, attempts: int, redactor: Redactor) -> Output:
    """The original record with why it could not be processed.

    Its value is redacted when it is JSON. It is withheld when it is none and holds a secret, when what the record is
    known by holds one, and with the key where all is too large. A redrive reads the original where it stands, so that
    nothing is lost with the value. A letter says where a signature would no longer be good for what it has.
    """
    why = {
        "dlq_topic": record.topic,
        "dlq_partition": str(record.partition),
        "dlq_offset": str(record.offset),
        "dlq_timestamp": str(record.timestamp_ms),
        "dlq_reason": error.code,
        "dlq_detail": error.detail,
        "dlq_attempts": str(attempts),
        "dlq_worker": worker,
    }
    told = tuple((name, text.encode("utf-8", "replace")) for name, text in why.items())
    topic = TOPICS.dead_letters.named(topic=record.topic).name
    try:
        kept, withheld = _redacted(record, redactor)
    except Exception:  # noqa: BLE001 - the letter has to be written, whatever redaction stumbles over
        kept, withheld = replace(record, key=b"", value=b"", headers={}), True
    if withheld:
        told = (*told, ("dlq_withheld", b"secret"))
    elif _signed(kept) != _signed(record):
        told = (*told, ("dlq_redacted", b"secret"))
    letter = Output(topic, kept.key or b"", kept.value, (*kept.headers.items(), *told), partition=0)
    if size(letter) <= RECORD_BYTES_MAX:
        return letter
    return Output(topic, b"", b"", (*told, ("dlq_withheld", b"too_large")), partition=0)


def _redacted(record: Record, redactor: Redactor) -> tuple[Record, bool]:
    """The record without a secret, and whether more than that is withheld: a letter is found by its key and its ids."""
    value = None if record.value is None else redactor.body(record.value)
    key = None if record.key is None else _text(record.key, redactor)
    headers = {
        redactor.text(name): raw if _is_no_text(name, raw, redactor) else _text(raw, redactor)
        for name, raw in record.headers.items()
    }
    ids = any(headers.get(name) != record.headers.get(name) for name in _KNOWN_BY)
    withheld = ids or key != record.key or (value is None and record.value is not None)
    return replace(record, key=key, value=b"" if withheld else value, headers=headers), withheld


def _signed(record: Record) -> tuple[Said, bytes | None]:
    return said(record.headers, record.value), record.headers.get(SIGNATURE_HEADER)


def _is_no_text(name: str, raw: bytes, redactor: Redactor) -> bool:
    """Whether a header is kept as it came for its form. A signature that was cut would be taken for a bad one."""
    if name == SIGNATURE_HEADER and (signature := signature_in({name: raw})):
        return redactor.text(signature.key) == signature.key
    return name == "traceparent" and trace_headers(raw) != ()


def _text(raw: bytes, redactor: Redactor) -> bytes:
    text = raw.decode("utf-8", "replace")
    masked = redactor.text(text)
    return raw if masked == text else masked.encode()
