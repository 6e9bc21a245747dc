"""Secrets that are known by what stands before them: a name with a value, a header, a flag, a command."""

from collections.abc import Iterator
from typing import Any

from twiceshy.core.redact_opaque import random_looking
from twiceshy.core.redact_spans import NAMED, Rule, Span, compiled, has_digit, shape

_HINT = "pass|pwd|token|jwt|secret|key|cred|auth|sid|sess|csrf|xsrf|nonce|sig|sas|otp|cookie|code"
_NAME = compiled(
    r"(?i)(pass(?:word|wd|phrase|code|w)?|pwd|(?:auth|access|refresh|bearer|session|api|id)?[_.-]?token|jwt|secret|credentials?"
    r"|(?:api|access|secret|account|accesskey|shared|sharedaccess|private|signing|encryption|encrypt|master|license|storage|service"
    r"|admin|webhook|deploy|app|application|consumer|hmac|aes|ssh|rsa|client|routing|integration|instrumentation)[_.-]?key"
    r"|client[_.-]?key[_.-]?data|private[_.-]?key[_.-]?id"
    r"|key|auth|j?session(?:[_.-]?id)?|phpsessid|sess|sid|csrf|xsrf|nonce|sig|signature|sas|otp|cookie|code)"
    r"(?:[_-]?[0-9]{1,2})?(?:\\*[\"']|\])*[ \t]*(=>|:=|[!=]=|=|:|%3[Dd]|&#61;)[ \t]*"
)
_WEAK = frozenset(
    """key auth session jsession sessionid jsessionid phpsessid sess sid csrf xsrf nonce sig signature sas otp cookie
    code routingkey integrationkey instrumentationkey pass passw""".split()
)
"""Names of much that is no secret: their values have to look like one."""

_QUOTED = {
    quote: compiled(rf"(?:[^{quote.decode()}\\\n\x00]|\\[^\n\x00])*") for quote in (b'"', b"'", b"`")
}  # fmt: skip
_ESCAPED = compiled(r"[^\"'\\\n\x00]*")
_RUN_END = compiled(r"[\s\x00\"'`]")
_RUN_BYTES = 1_024
_NEXT_PAIR = compiled(r"(?:[&;,]|&amp;|%26)[ \t]*[A-Za-z_][A-Za-z0-9_.-]*(?:=|:|%3[Dd])|</|\\[nrt\"']|&#|&quot;")
_NO_SECRET = compiled(
    r"(?i)(?:null|none|nil|undefined|true|false|yes|no|empty|unset|required|optional|missing|redacted|masked|hidden"
    r"|[*x.•#_-]{2,}|\[[a-z_ -]*\]|<[^<>]*>|\$\{.*|\$\(.*|\{\{.*|%\(?[a-z_]*\)?[sd]|\$[A-Z_][A-Z0-9_]*|@[a-z_]+"
    r"|(?:vault|ssm|arn|file|env|op|secretref|projects)[:/].*|/(?:run|var|etc|vault|mnt)/.*"
    r"|(?:os|process|sys|self|this|config|settings|request|req|ctx)\.[a-z_.]+.*|[a-z_][a-z0-9_.]*[(\[].*)"
)
_TRAILING = b".,;:)]}\\"


def names_secret(name: str) -> str | None:
    """The kind of what a field of this name holds, if it holds a secret: `password`, `token` or `secret`."""
    match = next(
        (match for match in _NAME.finditer(name.encode() + b"=") if match.end() == len(name.encode()) + 1), None
    )
    return _kind(match.group(1)) if match is not None and _folded(match.group(1)) not in _WEAK else None


def worth_masking(value: str) -> bool:
    """Whether what a field with a secret's name holds is a value: not blank, not a placeholder, not a reference."""
    value = value.strip()
    return bool(value) and not _NO_SECRET.fullmatch(value.encode()) and not (value.isdigit() and len(value) < 4)


def _folded(name: bytes) -> str:
    return name.translate(None, b"_.-").lower().decode()


def _kind(name: bytes) -> str:
    name = name.lower()
    return (
        "password" if name.startswith((b"pass", b"pwd")) else "token" if name.endswith((b"token", b"jwt")) else "secret"
    )


def _assigned(text: bytes) -> Iterator[Span | None]:
    """The value of every ``name = value``. What one name's value covered is not searched for names again."""
    match = _NAME.search(text)
    while match is not None:
        span = _value(text, match)
        yield span
        match = _NAME.search(text, span.end if span else match.end())


def _value(text: bytes, name: Any) -> Span | None:
    at = name.end() + (text[name.end() : name.end() + 2] in (b'b"', b"b'"))
    quote = text[at : at + 1]
    kind = _kind(name.group(1))
    if quote in _QUOTED:
        start, end = at + 1, _QUOTED[quote].match(text, at + 1).end()
    elif quote == b"\\" and text[at:].lstrip(b"\\")[:1] in (b'"', b"'"):
        start = at + text[at : at + 16].find(text[at:].lstrip(b"\\")[:1]) + 1
        end = _ESCAPED.match(text, start).end()
    else:
        start, end = at, _run_end(text, at)
        if end - start >= _RUN_BYTES:
            return Span(start, end, kind, NAMED)
    value = text[start:end].decode(errors="replace")
    return Span(start, end, kind, NAMED) if _is_secret(value, text, name, start > at, end) else None


def _run_end(text: bytes, start: int) -> int:
    """Where an unquoted value ends: before a blank, a quote or the next pair, without the punctuation of a sentence."""
    window = min(start + _RUN_BYTES, len(text))
    blank = _RUN_END.search(text, start, window)
    end = blank.start() if blank else window
    following = None if text[start:end].isalnum() else _NEXT_PAIR.search(text, start, end)
    if following is not None:
        end = following.start()
    elif blank is None and window < len(text):
        blank = _RUN_END.search(text, window)
        return blank.start() if blank else len(text)
    return start + len(text[start:end].rstrip(_TRAILING))


def _is_secret(value: str, text: bytes, name: Any, quoted: bool, end: int) -> bool:
    """Whether a value is one, by how sure its name is and how much the value looks like prose or code."""
    if len(value) < 3 or not worth_masking(value):
        return False
    is_, gap = name.group(2), text[name.end(1) : name.start(2)]
    if _folded(name.group(1)) in _WEAK:
        before = text[name.start() - 1 : name.start()] if name.start() else b""
        return not before.isalpha() and len(value) >= 16 and (random_looking(value.encode()) or _mixed(value))
    password = _kind(name.group(1)) == "password"
    if not password and value.isdigit() and len(value) < 8:
        return False
    if quoted or (is_ not in (b":", b"==", b"!=") and not gap.endswith((b" ", b"\t"))):
        return True
    if not value.replace("_", "").replace(".", "").replace("-", "").isalpha():
        return True
    return password and is_ == b":" and text[end : end + 1] in (b"", b"\n", b"\0", b"\r")


def _mixed(value: str) -> bool:
    return value.isascii() and value.isalnum() and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


_PROSE = frozenset("option flag argument parameter setting is was and or for to in with the a of on file".split())


def _given(match: Any) -> tuple[int, int] | None:
    span: tuple[int, int] = match.span(1)
    value = match.group(1).decode(errors="replace").strip("\"'")
    return span if worth_masking(value) and value.lower() not in _PROSE else None


def _with_digit(match: Any) -> tuple[int, int] | None:
    span: tuple[int, int] = match.span(1)
    value = match.group(1)
    return span if len(value) >= 20 or has_digit(value) else None


def _spoken(match: Any) -> tuple[int, int] | None:
    """A password in a sentence has letters, and a digit or a sign that words do not have."""
    start = match.start(1)
    value = match.group(1).rstrip(_TRAILING).decode(errors="replace")
    odd = any(letter in "!@#$%^&*?~0123456789" for letter in value)
    if not (odd and any(map(str.isalpha, value))) or len(value) < 6 or not worth_masking(value):
        return None
    return start, start + len(value.encode(errors="replace"))


_WORDS = r"(?:password|passwd|pwd|pass|token|secret|api-?key|access-?key|auth-?key|client-secret|passphrase)"

RULES: tuple[Rule, ...] = (
    Rule(_HINT, _assigned),
    shape(
        "token",
        "authorization",
        r"(?i)authorization(?:\\*[\"'])*[ \t]*[:=][ \t]*(?:\\*[\"'])*(?:[A-Za-z0-9-]{2,20}[ \t]+)?"
        r"([^\s\x00\"'\\,<]{4,})",
        NAMED,
        _given,
    ),
    shape(
        "token", "bearer |basic |ssws ", r"(?i)(?:bearer|basic|ssws)[ \t]+([A-Za-z0-9+/_.~=-]{8,})", NAMED, _with_digit
    ),
    shape(
        "cookie",
        "cookie:",
        r"(?i)cookie:[ \t]*([^\s\x00=;\"']+=[^\s\x00;\"']*(?:; ?[^\s\x00=;\"']+=[^\s\x00;\"']*)*)",
        NAMED,
    ),
    shape(
        "secret",
        "--",
        rf"(?i)--[a-z-]*{_WORDS}[ \t]+(\"[^\"\n\x00]+\"|'[^'\n\x00]+'|[^\s\x00\"'-][^\s\x00\"']+)",
        NAMED,
        _given,
    ),
    shape(
        "password",
        "curl|sshpass|identified by|mysql|redis-cli|pass:|requirepass",
        r"(?i)(?:curl [^\n\x00]*?(?:-u|--user)[ =]?[\"']?[^\s:\x00\"']+:|sshpass -p ?|identified by [\"']"
        r"|mysql[a-z]* [^\n\x00]*? -p|redis-cli [^\n\x00]*?-a |-pass(?:in|out) pass:|requirepass )"
        r"[\"']?([^\s\x00\"';|]{3,})",
        NAMED,
        _given,
    ),
    shape(
        "password",
        "pass|pwd",
        r"(?i)(?:password|passphrase|passcode|pwd) (?:is|was|to|of|set to|changed to)? ?[\"'`]?([^\s\x00\"'`<]{4,})",
        NAMED,
        _spoken,
    ),
    shape(
        "password",
        "password>|passwd>|secret>|token>|apikey>",
        r"(?i)<[A-Za-z0-9_:.-]*(?:password|passwd|secret|token|apikey)>([^<\x00]{3,})</",
        NAMED,
        _given,
    ),
)
"""What stands after something that says what it is."""
