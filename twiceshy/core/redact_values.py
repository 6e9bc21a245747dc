"""What stands in a secret's place and is none: a word that says so, a placeholder, a way to where the secret is."""

from typing import Any

from twiceshy.core.redact_spans import compiled

_WORDS = (
    r"(?i:null|none|nil|undefined|true|false|yes|no|empty|unset|required|optional|missing|redacted|masked|hidden"
    r"|expired|invalid|revoked|denied|rejected|failed|reset|rotated|incorrect|wrong|mismatch|unknown|eof)"
)
_MARKS = r"[*xX.•#_-]{2,}|\[[A-Za-z_ -]*\]|<[A-Za-z_. /-]*>|%\(?[a-z_]*\)?[sd]"
_ABOUT = "(?i:[a-z_]*(?:pass|pwd|secret|token|key|cred)[a-z_]*)"
_VARIABLES = (
    rf"(?:\$\{{[^{{}}:=\n\x00]*\}})+|\$\{{(?:env|vault|ssm|file|sys|secrets?|sm)[:@][^{{}}\n\x00]*\}}|\$\([^()\n\x00]*\)"
    rf"|\$?\{{\{{[^{{}}\n\x00]*\}}\}}|\$(?:env:)?[A-Z_][A-Z0-9_]*|\$(?:env:)?{_ABOUT}|%[A-Z_]+%|@{_ABOUT}"
)
_PATHS = (
    r"(?i:vault|ssm|file|op|projects|secretref):?/{0,2}[\w.-]*(?:/[\w.-]+)+(?:[#:][\w.-]+)?|env[:.][A-Z_][A-Z0-9_]*"
    r"|arn:aws[a-z-]*:[^\s\x00\"'`]*|secretref:[a-z-]+|/(?:run|var|etc|vault|mnt|opt|usr|home)(?:/[\w.@-]+){2,}"
    r"|(?:os|process|sys|self|this|config|settings|request|req|ctx)(?:\.[A-Za-z_]+)+"
)
_INNER = r"[^()\[\]\n\x00]*"
_CALL = rf"[A-Za-z_](?:[A-Za-z0-9_.]*[(\[](?:[\"'A-Za-z_]{_INNER}(?:[(\[]{_INNER}[)\]]{_INNER})?)?[)\]])+"
"""What code takes a secret from. A password may have brackets too: code's close at its end, and hold no number."""

_NO_SECRET = compiled(f"{_WORDS}|{_MARKS}|{_VARIABLES}|{_PATHS}")
_ENDS = r"[,;.)\]}]*(?:[\s\x00\"'`&|<\\]|$)"
_REFERENCE = compiled(rf"(?:{_MARKS}|{_VARIABLES}|{_PATHS}|{_CALL}){_ENDS}")
_REFERENCE_BYTES = 500


def worth_masking(value: str) -> bool:
    """Whether what a field with a secret's name holds is a value: not blank, not a placeholder, not a reference."""
    value = value.strip()
    return bool(value) and not _NO_SECRET.fullmatch(value.encode()) and not (value.isdigit() and len(value) < 4)


def is_reference(text: bytes, at: int) -> bool:
    """Whether what stands without quotes in ``text`` at ``at`` is, to its end, a way to where the secret is."""
    found: Any = _REFERENCE.match(text, at, min(len(text), at + _REFERENCE_BYTES))
    return found is not None
