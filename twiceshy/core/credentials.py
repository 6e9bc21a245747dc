"""Who is speaking: signatures of events, and what the holder of a credential may speak for.

    signature = sign("alerting", secret, said, at_ms)         "v1;key=alerting;t=1800000000000;h=9f…"
    signature = parse(text)                                    or None
    speaks(signature, credential, said)                        whether one of the credential's secrets made it

A signature is the CloudEvents extension `SIGNATURE`: the header ``ce_twiceshysignature`` in binary mode, a member of
the envelope in structured mode (the header serves there too), so that whoever carries an event over from one mode to
the other carries its signature over as well. It is HMAC-SHA256 in hexadecimal, with the secret's UTF-8 text as the
key, of these parts, each as a netstring (``<length in bytes>:<bytes>,``), so that no two events are joined to the same
message:

    v1, key, t, ce_type, ce_source, ce_id, ce_time, tenant, origin, body

``key`` is the credential's id and ``t`` the UTC epoch milliseconds of the signing, as the signature has them; the
attributes are the text on the wire, empty where there is none; tenant and origin are those that the body claims, empty
where it claims none; the body is the event's data: the value in binary mode; in structured mode what ``data_base64``
holds, or ``data`` as compact JSON in UTF-8, its members in the order in which they came.
"""

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, get_args

from twiceshy.core.aliases import folded

SIGNATURE = "twiceshysignature"
VERSION = "v1"

UNSIGNED = "unsigned/"
"""What the names of origins begin with that no credential vouches for, where another origin has the plain name."""

UNSIGNED_TRUST_MAX = 0.3

CommandKind = Literal[
    "alias",
    "unalias",
    "supersede",
    "origin-invalidation",
    "unblock",
    "compaction",
    "mistake-resolution",
    "mode-change",
    "switch",
    "decide",
]
"""What a credential can be good for besides incidents: operators' commands, and deciding on what is quarantined."""

COMMAND_KINDS: tuple[str, ...] = get_args(CommandKind)

Scope = tuple[str, ...] | Literal["*"]
"""Names, or ``*`` for whichever."""

_SIGNATURE = re.compile(r"v1;key=([a-z][a-z0-9_-]{0,63});t=(0|[1-9][0-9]{0,15});h=([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Credential:
    """Who holds one of its secrets may speak for its tenants and origins, and give its kinds of commands there."""

    id: str
    secrets: tuple[bytes, ...] = field(repr=False)
    tenants: Scope = ()
    origins: Scope = ()
    commands: Scope = ()


@dataclass(frozen=True, slots=True)
class Said:
    """What a signature is over, as it is on the wire."""

    type: bytes
    source: bytes
    id: bytes
    time: bytes
    tenant: str
    origin: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature as it was read: nothing is known yet of whether it is good."""

    key: str
    at_ms: int
    digest: str


def covers(scope: Scope, name: str) -> bool:
    return scope == "*" or name in scope


def sign(key: str, secret: bytes, said: Said, at_ms: int) -> str:
    """The signature of an event, made at ``at_ms`` with a secret of the credential ``key``."""
    return f"{VERSION};key={key};t={at_ms};h={_digest(key, secret, said, at_ms)}"


def parse(text: str) -> Signature | None:
    """The parts of a signature; None where the text is none."""
    found = _SIGNATURE.fullmatch(text)
    return None if found is None else Signature(found[1], int(found[2]), found[3])


def speaks(signature: Signature, credential: Credential, said: Said) -> bool:
    """Whether a secret of the credential made the signature, of exactly this."""
    made = [_digest(signature.key, secret, said, signature.at_ms) for secret in credential.secrets]
    # Each is compared, in constant time: how long this takes tells nothing of any.
    agreeing = [hmac.compare_digest(digest, signature.digest) for digest in made]
    return signature.key == credential.id and any(agreeing)


def _digest(key: str, secret: bytes, said: Said, at_ms: int) -> str:
    parts = (
        VERSION.encode(),
        key.encode(),
        str(at_ms).encode(),
        said.type,
        said.source,
        said.id,
        said.time,
        said.tenant.encode("utf-8", "surrogatepass"),
        said.origin.encode("utf-8", "surrogatepass"),
        said.body,
    )
    message = b"".join([b"%d:%b," % (len(part), part) for part in parts])
    return hmac.new(secret, message, sha256).hexdigest()


class Reserved:
    """The names of origins under which nobody speaks without a signature.

    Those that a credential speaks for, whichever spelling looks alike, and those that the operator trusts more than
    the unsigned: else a later revision under such a name would take back what its owner had said.
    """

    def __init__(self, credentials: Iterable[Credential], trusted: Iterable[str]) -> None:
        scopes = [credential.origins for credential in credentials]
        self._all = "*" in scopes
        named = [name for scope in scopes if scope != "*" for name in scope]
        self._names = frozenset(map(folded, [*named, *trusted]))

    def __contains__(self, origin: str) -> bool:
        return not origin.startswith(UNSIGNED) and (self._all or folded(origin) in self._names)
