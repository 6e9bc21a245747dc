"""Secrets that are known by a name with a sign and a value after it, in code, files of settings and logs."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from twiceshy.core.redact_opaque import random_looking
from twiceshy.core.redact_spans import NAMED, Rule, Span, compiled
from twiceshy.core.redact_values import is_reference, worth_masking

_HINT = (
    "pass|pwd|pw|token|jwt|secret|key|cred|auth|sid|sess|csrf|xsrf|nonce|sig|sas|otp|cookie|code"
    "|kennwort|contrase|senha|wachtwoord|senord|adgangskode|haslo|hasło|Hasło|HASŁO|heslo|jelsz|parol|ifre|salasana|sandi"
    "|пароль|Пароль|ПАРОЛЬ|密码|密碼|口令|パスワード|비밀번호|암호|كلمة المرور|mat kh|mật kh|Mật kh"
)
STRONG = (
    r"client[_.-]?key[_.-]?data|private[_.-]?key[_.-]?id|pass(?:word|wd|phrase|code|wort|ord)|pwd|kennwort|mot de passe"
    r"|contrase(?:ñ|n)a|senha|wachtwoord|l(?:ö|o)senord|adgangskode|has(?:ł|l)o|heslo|jelsz(?:ó|o)|parol(?:a|ă)"
    r"|(?:ş|s)ifre|salasana|kata sandi|пароль?|密[码碼]|口令|パスワード|비밀번호|암호|كلمة المرور|m(?:ậ|a)t kh(?:ẩ|a)u"
    r"|(?:auth|access|refresh|bearer|session|api|id)?[_.-]?token|jwt|secret|credential"
    r"|(?:api|access|secret|account|accesskey|shared|sharedaccess|private|signing|encryption|encrypt|master|license|storage|service"
    r"|admin|webhook|deploy|app|application|consumer|hmac|aes|ssh|rsa|client|routing|integration|instrumentation)[_.-]?key"
)
_LOOSE = (
    r"passw?|pw|key|auth|j?session(?:[_.-]?id)?|phpsessid|sess|sid|csrf|xsrf|nonce|sig|signature|sas|otp|cookie|code"
)
_NUMBER = r"(?:[_-]?[0-9]{1,2})?"
_NAME = compiled(
    rf"(?i)(?:({STRONG})(s?){_NUMBER}((?:[_.-][a-z][a-z0-9]*){{0,2}})|({_LOOSE}){_NUMBER})"
    r"(?:\\*[\"']|\]|[*`_]{1,3})*[ \t]*(=>|:=|[!=]=|=|:|：|%3d|&#61;|->|→|\t)[ \t]*[*_]{0,3}[ \t]*"
)
_WEAK = frozenset(
    """key auth session jsession sessionid jsessionid phpsessid sess sid csrf xsrf nonce sig signature sas otp cookie
    code routingkey integrationkey instrumentationkey""".split()
)
"""Names of much that is no secret: their values have to look like one."""

_BARE = frozenset(("pass", "passw", "pw"))
"""Names of a password, and of what went well or of a power: told apart by what stands around them."""

_ABOUT = frozenset(
    """name names id ids ttl file files path paths policy policies count counts type types expiry expires expired
    expiration timeout length len size limit limits max min status state states age days hours minutes seconds url uri
    endpoint host version versions format field fields label header prefix suffix ref refs arn rotation rotated reset
    change changed at date time ms sec enabled disabled required manager store provider issuer audience algorithm alg
    method mode scope scopes budget usage used total rate per in out index hint dir mount class owner namespace bucket
    error errors failed failures invalid cache engine group user validation strength attempts vault lease""".split()
)
"""What is told about a secret, when it ends its name: `secret_name`, `token_ttl`."""

_QUOTED = {
    quote: compiled(rf"(?:[^{quote.decode()}\\\n\x00]|\\[^\n\x00])*") for quote in (b'"', b"'", b"`")
}  # fmt: skip
_ESCAPED = compiled(r"[^\"'\\\n\x00]*")
_RUN_END = compiled(r"[\s\x00\"'`]")
_RUN_BYTES = 1_024
_NEXT_PAIR = compiled(r"(?:[&;,]|&amp;|%26)[ \t]*[A-Za-z_][A-Za-z0-9_.-]*(?:=|:|%3[Dd])|</|\\[nrt\"']|&#|&quot;")
_TRAILING = b".,;:)]}\\"
_OPENED = compiled(r"(?:[\[(][ \t]*|[|>][+-]?[0-9]?[ \t]*)?(?:\r?\n(?:[ \t]+(?:-[ \t]+)?|-[ \t]+))?")
_PATH_OF_WORDS = compiled(r"[a-z][a-z-]*(?:/[a-z][a-z-]*)+")
_ANNOUNCE = frozenset((b":", "：".encode(), b"==", b"!="))
_ARROWS = frozenset((b"->", "→".encode(), b"\t"))
_REFERS = frozenset(bytes((sign,)) for sign in b"$%<[*@{#_")
_OPENS = frozenset((b"[", b"(", b"|", b">", b"\r", b"\n"))
_HYPHENS = bytes.maketrans(b"._", b"--")
_FOLLOWING = compiled(r"[\"'`]?[ \t]*(?:,\s*|\r?\n[ \t]*-[ \t]+)")


class _Name(NamedTuple):
    """A name in a text: bytes ``start`` to ``end``, the sign and the blanks around it with it."""

    start: int
    end: int
    word: str
    """In lower case, without hyphens, plural, number and what else it ends with."""
    many: bool
    qualified: bool
    about: bool
    """It ends with what is told about a secret, and is the name of none."""
    sign: bytes
    spaced: bool

    @property
    def kind(self) -> str:
        if self.word.endswith(("token", "jwt")):
            return "token"
        secret = self.word in _WEAK or self.word.startswith(("secret", "cred", "client", "private"))
        return "secret" if secret or self.word.endswith("key") else "password"


def _name(match: Any) -> _Name:
    strong, plural, suffix, loose, sign = match.groups()
    start, end = match.span()
    before = match.start(5) - 1
    about = bool(suffix) and not _ABOUT.isdisjoint(suffix.lower().translate(_HYPHENS).decode().split("-"))
    word = (strong or loose).translate(None, b"_.-").lower().decode()
    spaced = match.string[before : before + 1] in (b" ", b"\t")
    return _Name(start, end, word, bool(plural), bool(suffix), about, sign, spaced)


def names_secret(name: str) -> str | None:
    """The kind of what a field of this name holds, if it holds a secret: `password`, `token` or `secret`."""
    whole = name.encode(errors="replace") + b"="
    match = next((match for match in _NAME.finditer(whole) if match.end() == len(whole)), None)
    found = _name(match) if match is not None else None
    if found is None or found.word in _WEAK or found.about or (found.word in _BARE and _goes_on(whole, found.start)):
        return None
    return found.kind


def _assigned(text: bytes) -> Iterator[Span | None]:
    """The value of every ``name = value``. What one name's value covered is not searched for names again."""
    match = _NAME.search(text)
    while match is not None:
        name = _name(match)
        span, end = None if name.about else _value(text, name, name.end), name.end
        yield span
        while span is not None and (at := _next_of_many(text, name, span.end)):
            end = span.end
            span = _value(text, name, at)
            yield span
        match = _NAME.search(text, span.end if span else end)


def _next_of_many(text: bytes, name: _Name, end: int) -> int:
    """Where the next value of a name begins that is a plural, or opens a list; 0 if there is none."""
    if not name.many and text[name.end : name.end + 1] not in (b"[", b"("):
        return 0
    following = _FOLLOWING.match(text, end)
    return following.end() if following is not None else 0


def _value(text: bytes, name: _Name, at: int) -> Span | None:
    if text[at : at + 1] in _REFERS and is_reference(text, at):
        return None
    if text[at : at + 1] in _OPENS:
        at = _OPENED.match(text, at).end()
    at += text[at : at + 2] in (b'b"', b"b'")
    if text[at : at + 3] in (b'"""', b"'''"):
        at += 2
    quote = text[at : at + 1]
    if quote in _QUOTED:
        start, end = at + 1, _QUOTED[quote].match(text, at + 1).end()
    elif quote == b"\\" and text[at : at + 16].lstrip(b"\\")[:1] in (b'"', b"'"):
        start = at + text[at : at + 16].find(text[at : at + 16].lstrip(b"\\")[:1]) + 1
        end = _ESCAPED.match(text, start).end()
    else:
        start, end = at, _run_end(text, at)
        if end - start >= _RUN_BYTES:
            return Span(start, end, name.kind, NAMED)
        if not text[start:end].isalnum() and is_reference(text, start):
            return None
    if not _is_secret(text[start:end].decode(errors="replace"), text, name, start > at, (start, end)):
        return None
    return Span(start, end, name.kind, NAMED)


def _run_end(text: bytes, start: int) -> int:
    """Where an unquoted value ends: before a blank, a quote or the next pair, without the punctuation of a sentence."""
    window = min(start + _RUN_BYTES, len(text))
    blank = _RUN_END.search(text, start, window)
    end = blank.start() if blank else window
    following = None if text[start:end].isalnum() else _NEXT_PAIR.search(text, start, end)
    if following is not None and _is_cut_by(text[start : following.start()], text[following.start()]):
        following = None
    if following is not None:
        end = following.start()
    elif blank is None and window < len(text):
        blank = _RUN_END.search(text, window)
        return blank.start() if blank else len(text)
    return start + len(text[start:end].rstrip(_TRAILING))


def _is_cut_by(value: bytes, sign: int) -> bool:
    """Whether a comma is a part of the password: before it there is too little for one, and nothing else either."""
    return sign == ord(",") and 0 < len(value) < 4 and worth_masking(value.decode(errors="replace"))


def _is_secret(value: str, text: bytes, name: _Name, quoted: bool, place: tuple[int, int]) -> bool:
    """Whether a value is one, by how sure its name is and how much the value looks like prose or code."""
    if len(value) < 3 or not worth_masking(value):
        return False
    opaque = len(value) >= 16 and (random_looking(value.encode()) or _mixed(value))
    if name.word in _WEAK or name.word in _BARE:
        if _goes_on(text, name.start):
            return False
        if name.word in _WEAK:
            return opaque
    plain = value.replace("_", "").replace(".", "").replace("-", "").isalpha()
    announced, password = name.sign in _ANNOUNCE, name.kind == "password"
    if name.sign in _ARROWS:
        return name.kind != "secret" and len(value) >= 6 and is_odd(value)
    ends_line = text[place[1] : place[1] + 1] in (b"", b"\n", b"\0", b"\r")
    if not (quoted or ends_line) and b"\n" in text[name.end : place[0]]:
        return False
    if value.isdigit() and not password and (len(value) < 8 or name.many or name.qualified):
        return False
    if name.word in _BARE and text[name.start - 1 : name.start] not in (b"_", b".", b"-"):
        return not announced and (quoted or (is_odd(value) and not plain))
    if not quoted and not password and (name.many or _PATH_OF_WORDS.fullmatch(value.encode())):
        return opaque
    if quoted or not plain or not (announced or name.spaced):
        return True
    return password and announced and name.sign not in (b"==", b"!=") and ends_line


def _goes_on(text: bytes, start: int) -> bool:
    """Whether a short name is the end of a longer word, and no word of its own as in `dbPass`."""
    before, first = text[start - 1 : start] if start else b"", text[start : start + 1]
    return before.isalpha() and not (before.islower() and first.isupper())


def is_odd(value: str) -> bool:
    """Whether a value has letters, and a digit or a sign that words do not have."""
    return any(letter in "!@#$%^&*?~0123456789" for letter in value) and any(map(str.isalpha, value))


def _mixed(value: str) -> bool:
    return value.isascii() and value.isalnum() and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


RULES: tuple[Rule, ...] = (Rule(_HINT, _assigned),)
"""What stands after the name of a secret and a sign between them."""
