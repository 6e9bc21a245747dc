"""Secrets whose name and value do not stand side by side: pairs of a name and a value, tables, Kubernetes' secrets."""

from collections.abc import Iterator
from typing import Any

from twiceshy.core.redact_names import STRONG, is_odd, names_secret
from twiceshy.core.redact_spans import NAMED, Rule, Span, compiled, shape
from twiceshy.core.redact_values import worth_masking

_NAME = rf"(?i:[A-Za-z0-9_.-]*?(?:{STRONG}|[_.-]pass|[_.-]pw)(?:s|[_.-]?[A-Za-z0-9]+)?)"
_VALUE = r"(?:\"([^\"\n\x00]+)\"|'([^'\n\x00]+)'|([^\s\x00\"'<>,;{}]+))"
_PAIR = (
    rf"(?i)\b(?:name|key|variable)[\"']?(?:[ \t]*[:=>]|[ \t])[ \t]*[\"']?({_NAME})[\"']?(?:</key>)?"
    rf"[\s,;{{]*(?:<string>|[\"']?\b(?:value|default)[\"']?[ \t]*[:=][ \t]*){_VALUE}"
)
_LISTED = rf"[\"']({_NAME})[\"'][ \t]*,[ \t]*(?:\"([^\"\n\x00]+)\"|'([^'\n\x00]+)')"
_TABLE = compiled(r"([^\n\x00]*\|[^\n\x00]*)\n[ \t]*\|?[ \t:]*-{3,}[ \t:|-]*\n((?:[^\n\x00]*\|[^\n\x00]*(?:\n|$))+)")
_ROW = compiled(r"[^\n]+")
_CELL = compiled(r"[^|\n]+")
_ROWS_MAX = 100
_SECRET = compiled(r"\bkind[\"']?[ \t]*:[ \t]*[\"']?Secret\b")
_BLOCK = compiled(
    r"(?:^|\n)[ \t]*(?:data|stringData):[ \t]*\r?\n((?:[ \t]+[^\n\x00]*(?:\n|$))+)"
    r"|\"(?:data|stringData)\"\s*:\s*\{([^{}\x00]*)\}"
)
_ENTRY = compiled(r"[A-Za-z0-9_.-]+[\"']?[ \t]*:[ \t]*[\"']?([^\s\"',{}|>][^\n\"',{}]*)")


def _paired(match: Any) -> tuple[int, int] | None:
    """The value of a pair whose name is a secret's."""
    index = match.lastindex
    value = match.group(index).decode(errors="replace")
    named = names_secret(match.group(1).decode(errors="replace")) is not None
    span: tuple[int, int] = match.span(index)
    return span if index > 1 and named and len(value) >= 3 and worth_masking(value) else None


def _listed(match: Any) -> tuple[int, int] | None:
    """What follows a name in a list, if it is no other name."""
    index = match.lastindex
    value = match.group(index).decode(errors="replace")
    span: tuple[int, int] = match.span(index)
    password = index > 1 and names_secret(match.group(1).decode(errors="replace")) == "password"
    return span if password and len(value) >= 6 and is_odd(value) and worth_masking(value) else None


def _tabled(text: bytes) -> Iterator[Span | None]:
    """The cells of a table's columns that are headed by a secret's name."""
    for table in _TABLE.finditer(text):
        kinds = _columns(table.group(1))
        yield None
        if any(kinds):
            yield from _cells(text, table.span(2), kinds)


def _columns(header: bytes) -> list[str | None]:
    cells = header.decode(errors="replace").strip().strip("|").split("|")
    return [names_secret(cell.strip().strip("*`_").replace(" ", "_")) for cell in cells]


def _cells(text: bytes, body: tuple[int, int], kinds: list[str | None]) -> Iterator[Span | None]:
    for row in _ROW.finditer(text, *body):
        for kind, cell in zip(kinds, _CELL.finditer(text, *row.span()), strict=False):
            value = cell.group().strip(b" \t\r`*")
            if (
                kind is not None
                and len(value) >= 3
                and b" " not in value
                and worth_masking(value.decode(errors="replace"))
            ):
                start = text.find(value, cell.start())
                yield Span(start, start + len(value), kind, NAMED)
        yield None


def _manifest(text: bytes) -> Iterator[Span | None]:
    """The values of a Kubernetes secret, whatever their names are."""
    if _SECRET.search(text) is None:
        return
    for block in _BLOCK.finditer(text):
        for entry in _ENTRY.finditer(text, *block.span(block.lastindex)):
            value = entry.group(1).rstrip()
            masked = len(value) >= 3 and worth_masking(value.decode(errors="replace"))
            yield Span(entry.start(1), entry.start(1) + len(value), "secret", NAMED) if masked else None


RULES: tuple[Rule, ...] = (
    shape("password", "value|default|<string>", _PAIR, NAMED, _paired),
    shape("password", "',|\",", _LISTED, NAMED, _listed),
    Rule("---", _tabled),
    Rule("secret", _manifest),
)
