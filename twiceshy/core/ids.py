"""Ids are derived from what is written, so that a replay of the log makes the same ones again.

Every derived id is a UUIDv5 (RFC 9562, section 5.5) below one namespace, in the usual text form of 36
characters. Its name is made of netstrings, so that no two lists of parts are joined to the same name. Nothing
here raises on any text: a lone surrogate has a name of its own.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha1, sha256
from uuid import UUID

_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}

NAMESPACE = UUID("7b1d0c5e-3f0a-5b7e-9a53-6d2f4e8c1a90")
"""The namespace of every derived id. Fixed for life: another one is another memory."""

_NAMESPACE_BYTES = NAMESPACE.bytes


def derive(*parts: str) -> str:
    """The id of a list of texts: equal lists have equal ids, different lists different ones.

    Each part becomes a netstring, ``<length in UTF-8 bytes>:<bytes>,``; together they are the UUIDv5's name.
    The lengths make the joining injective, whatever separators the parts themselves hold. The hash is taken
    here because ``uuid.uuid5`` of Python 3.11 takes no bytes, and a lone surrogate has no strict UTF-8 form.

    >>> derive("a", "bc") == derive("ab", "c")
    False
    >>> derive("payments-team", "owner")
    '632ef55f-fe7c-54f5-b8ec-5527bbe083a5'
    """
    text = "".join([f"{len(part)}:{part}," for part in parts])
    name = text.encode() if text.isascii() else _netstrings(parts)
    digest = sha1(_NAMESPACE_BYTES + name, usedforsecurity=False).hexdigest()
    # The version and the variant of RFC 9562, set in the text: a UUID object costs three times as much.
    variant = _VARIANT[digest[16]]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


def _netstrings(parts: Sequence[str]) -> bytes:
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join([b"%d:%b," % (len(part), part) for part in encoded])


def event_id(tenant: str, ce_source: str, ce_id: str, body: bytes, *, signed: bool = False) -> str:
    """The id of an event: its tenant, its source, the producer's id for it, its body as received, and whether it came
    with a signature.

    The body counts by its SHA-256, so that a ``ce_id`` used twice for different bodies names two events, and
    a redelivery names the same one. A copy without the signature is another event, so that nobody who cannot sign
    takes the place of one that is signed. By which credential does not count: a secret may be replaced.

    >>> event_id("payments-team", "/pagerduty", "1", b"{}")
    '1117a195-b3d9-5627-9d86-23e60142146f'
    """
    return derive("signed-event" if signed else "event", tenant, ce_source, ce_id, sha256(body).hexdigest())


# An incident's is asked for by each part of what is made of it.
@lru_cache(maxsize=1_024)
def incident_key(origin: str, fingerprint: str) -> str:
    """One occurrence within a tenant, readable: the origin, a slash, the fingerprint as it is.

    A slash in the origin is written ``%2F`` and a percent sign ``%25``: the first slash always ends the
    origin, so that different pairs have different keys.

    >>> incident_key("pagerduty", "PD-Q3K2/2026-11-02")
    'pagerduty/PD-Q3K2/2026-11-02'
    >>> incident_key("grafana/eu", "42")
    'grafana%2Feu/42'
    """
    return f"{origin.replace('%', '%25').replace('/', '%2F')}/{fingerprint}"


def incident_parts(key: str) -> tuple[str, str]:
    """The origin and the fingerprint that a key names, the inverse of `incident_key`.

    Raises:
        ValueError: it has no slash, and so no two parts.

    >>> incident_parts("grafana%2Feu/42")
    ('grafana/eu', '42')
    """
    origin, slash, fingerprint = key.partition("/")
    if not slash:
        raise ValueError("there is no slash between origin and fingerprint")
    return origin.replace("%2F", "/").replace("%25", "%"), fingerprint


def version_id(tenant: str, slot: str, t_valid: int, t_created: int) -> str:
    """The id of a version: where it begins on both axes (epoch milliseconds) in its slot.

    What is believed at one moment does not overlap, so a slot has at most one version a (t_valid, t_created).

    >>> version_id("payments-team", "service:payments/pool_size", 100, 205)
    '72cedcbc-8826-5d46-bc4e-08ff3096711e'
    """
    return derive("version", tenant, slot, str(t_valid), str(t_created))
