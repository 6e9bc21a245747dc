"""The signature of an event in its headers: made for what a client publishes, read from what guard gets."""

import time
from collections.abc import Mapping

from twiceshy.core.credentials import SIGNATURE, Said, Signature, parse, sign
from twiceshy.settings import Settings
from twiceshy.stream.codec import claims
from twiceshy.stream.records import Headers, Record

SIGNATURE_HEADER = f"ce_{SIGNATURE}"


def said(headers: Mapping[str, bytes], body: bytes | None) -> Said:
    """What a signature of an event in binary mode is over."""
    tenant, origin, _ = claims(body)
    return Said(
        type=headers.get("ce_type", b""),
        source=headers.get("ce_source", b""),
        id=headers.get("ce_id", b""),
        time=headers.get("ce_time", b""),
        tenant=tenant or "",
        origin=origin or "",
        body=body or b"",
    )


def signature_in(headers: Mapping[str, bytes]) -> Signature | None:
    """The signature that an event came with, whatever it is worth."""
    return parse(headers.get(SIGNATURE_HEADER, b"").decode("utf-8", "replace"))


def came_signed(record: Record, opened: Record) -> bool:
    """Whether a record came with a signature, whatever it is worth: in its headers, or (``opened``) in its envelope."""
    return SIGNATURE_HEADER in record.headers or SIGNATURE_HEADER in opened.headers


class Signer:
    """Signs what a process publishes with the credential of its settings; without one, leaves it as it is.

    Raises:
        NotReadyError: when it is made, the credential's secret is not where it is said to be.
    """

    def __init__(self, settings: Settings) -> None:
        self._secret = settings.signing_secret()

    @property
    def signs(self) -> bool:
        return self._secret is not None

    def signed(self, headers: Headers, body: bytes) -> Headers:
        """The headers of an event with its signature. What they say of the event is what is signed."""
        if self._secret is None:
            return headers
        key, secret = self._secret
        signature = sign(key, secret, said(dict(headers), body), int(time.time() * 1_000))
        return (*headers, (SIGNATURE_HEADER, signature.encode()))
