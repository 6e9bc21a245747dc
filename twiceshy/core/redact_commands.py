"""Secrets that are known by what stands before them: a header, a flag, a command, a sentence."""

from typing import Any

from twiceshy.core.redact_names import is_odd
from twiceshy.core.redact_opaque import random_looking
from twiceshy.core.redact_spans import NAMED, Accept, Rule, has_digit, shape
from twiceshy.core.redact_values import is_reference, worth_masking

_PROSE = frozenset("option flag argument parameter setting is was and or for to in with the a of on file".split())
_TRAILING = b".,;:)]}\\"
_OPAQUE_BYTES_MIN = 16


def _given(match: Any) -> tuple[int, int] | None:
    span: tuple[int, int] = match.span(1)
    value = match.group(1).decode(errors="replace").strip("\"'")
    if is_reference(match.string, span[0]) or value.lower() in _PROSE:
        return None
    return span if worth_masking(value) else None


def _given_odd(match: Any) -> tuple[int, int] | None:
    """What is given where prose may stand too: a value that is no word."""
    return _given(match) if is_odd(match.group(1).decode(errors="replace")) else None


def _with_digit(match: Any) -> tuple[int, int] | None:
    span: tuple[int, int] = match.span(1)
    value = match.group(1)
    return span if len(value) >= 20 or has_digit(value) else None


def _spoken(match: Any) -> tuple[int, int] | None:
    """A password in a sentence has letters, and a digit or a sign that words do not have."""
    start = match.start(1)
    value = match.group(1).rstrip(_TRAILING).decode(errors="replace")
    if not is_odd(value) or len(value) < 6 or not worth_masking(value):
        return None
    return start, start + len(value.encode(errors="replace"))


def _opaque(match: Any) -> tuple[int, int] | None:
    """A token in a sentence has no words in it: letters and digits only, or what looks random."""
    start = match.start(1)
    value = match.group(1).rstrip(_TRAILING)
    opaque = (value.isalnum() and has_digit(value) and not value.isdigit()) or random_looking(value)
    return (start, start + len(value)) if len(value) >= _OPAQUE_BYTES_MIN and opaque else None


def _named(kind: str, hint: str, pattern: str, accept: Accept = _given) -> Rule:
    return shape(kind, hint, pattern, NAMED, accept)


_WORDS = r"(?:password|passwd|pwd|pass|token|secret|api-?key|access-?key|auth-?key|client-secret|passphrase)"
_LINE = r"(?:\\\r?\n|[^\n\x00])*?"
"""The rest of a command, which a backslash continues on the next line."""

RULES: tuple[Rule, ...] = (
    _named(
        "token",
        "authorization",
        r"(?i)authorization(?:\\*[\"'])*[ \t]*[:=][ \t]*(?:\\*[\"'])*(?:[A-Za-z0-9-]{2,20}[ \t]+)?"
        r"([^\s\x00\"'\\,<]{4,})",
    ),
    _named(
        "token",
        "bearer |basic |ssws ",
        r"(?i)(?:bearer|basic|ssws)[ \t]+([A-Za-z0-9+/_.~=-]{8,})",
        _with_digit,
    ),
    shape(
        "cookie",
        "cookie:",
        r"(?i)cookie:[ \t]*([^\s\x00=;\"']+=[^\s\x00;\"']*(?:; ?[^\s\x00=;\"']+=[^\s\x00;\"']*)*)",
        NAMED,
    ),
    _named(
        "secret",
        "--",
        rf"(?i)--[a-z-]*{_WORDS}[ \t]+(\"[^\"\n\x00]+\"|'[^'\n\x00]+'|[^\s\x00\"'-][^\s\x00\"']+)",
    ),
    _named(
        "password",
        "curl|sshpass|identified by|mysql|redis-cli|pass:|requirepass",
        rf"(?i)(?:curl {_LINE}(?:-u|--user)[ =]?[\"']?[^\s:\x00\"'\\]+:|sshpass -p ?|identified by [\"']"
        rf"|mysql[a-z]* {_LINE} -p|redis-cli {_LINE}-a |-pass(?:in|out) pass:|requirepass )"
        r"[\"']?([^\s\x00\"';|]{3,})",
    ),
    _named(
        "password",
        "login|mongo|sqlcmd|ldap|-storepass|-keypass|kinit|smbclient|identified by|auth ",
        rf"(?i)(?:\b(?:docker|podman|az|helm registry|oc|nerdctl|skopeo|crane) login {_LINE}[ \n]-p[ =]?"
        rf"|\bmongo[a-z]* {_LINE}[ \n]-p[ =]?|\bsqlcmd {_LINE}[ \n]-p ?|\bldap[a-z]+ {_LINE}[ \n]-w[ =]?"
        rf"|-(?:store|key|srcstore|deststore)pass[ =]|identified by |(?-i:(?:^|[\n>] ?)AUTH ))"
        r"[\"']?([^\s\x00\"';|\\-][^\s\x00\"';|\\]{2,})",
        _given_odd,
    ),
    _named(
        "password",
        "password(|chpasswd|sqlplus|@tcp(|@unix(|@udp(",
        r"(?i)\bpassword\([\"']([^\"'\n\x00]{3,})[\"']\)"
        r"|[\"' \n:][a-z0-9_.-]+:([^\s\x00\"':|]{3,})[\"']?[ \t]*\|[ \t]*(?:sudo )?chpasswd"
        r"|\bsqlplus (?:-[a-z]+ )*[\"']?[a-z0-9_$#]+/([^\s\x00\"'@/]{3,})"
        r"|[a-z0-9_.-]+:([^\s\x00\"'`<>]{3,})@(?:tcp|unix|udp)\(",
        lambda match: _one_given(match),
    ),
    _named(
        "password",
        "pass|pwd",
        r"(?i)(?:password|passphrase|passcode|pwd) (?:is|was|to|set to|changed to)? ?[\"'`]?([^\s\x00\"'`<]{4,})",
        _spoken,
    ),
    _named(
        "token",
        "token |key |secret ",
        r"(?i)(?:token|secret|api[ _-]?key|access[ _-]?key) (?:is|was|to|set to|changed to)?:? ?[\"'`]?"
        r"([A-Za-z0-9+/_.=-]{16,})",
        _opaque,
    ),
    _named(
        "password",
        "password>|passwd>|secret>|token>|apikey>",
        r"(?i)<[A-Za-z0-9_:.-]*(?:password|passwd|secret|token|apikey)>(?:<!\[CDATA\[)?([^<\]\x00]{3,})(?:\]\]>)?</",
    ),
)
"""What stands after something that says what it is."""


def _one_given(match: Any) -> tuple[int, int] | None:
    """The group that matched, unless a variable or a placeholder stands there."""
    index: int = match.lastindex
    span: tuple[int, int] = match.span(index)
    reference = is_reference(match.string, span[0]) or not worth_masking(match.group(index).decode(errors="replace"))
    return None if reference else span
