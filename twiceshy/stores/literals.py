"""Parameters of a query, as FalkorDB reads them: a header of literals before the query's own text.

Only what is certain to be read back as the same value is let in: whatever else the client was given would be spliced
into the query unquoted. Checked and written in one pass, for it is a good part of what a write costs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

_INT_MAX = 2**53
_NAMES_MAX = 10_000
_names: dict[str, str] = {}

_JSON = orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of equal columns: texts, finite numbers, booleans, nulls, and lists of these.

    As lists they are a third as long, and their JSON is Cypher too.
    """

    rows: list[list[Any]]

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> "Table":
        """``rows`` by ``columns``; null where a row has none."""
        return cls([[row.get(column) for column in columns] for row in rows])


def header(parameters: Mapping[str, Any]) -> str:
    """The beginning of a query that binds ``parameters``, with a blank at its end.

    Raises:
        TypeError: as `literal` does.
    """
    if not parameters:
        return ""
    return "CYPHER " + "".join(f"{_name(key)}={literal(value)} " for key, value in parameters.items())


def literal(value: Any) -> str:
    """``value`` as a literal of Cypher, text freed of what breaks a query.

    Raises:
        TypeError: a type, or a number, that FalkorDB would change or read as a query.
    """
    kind = type(value)
    if kind is str:
        return _quoted(value)
    if kind is int:
        if not -_INT_MAX < value < _INT_MAX:
            raise TypeError(f"{value} is beyond 2^53, where the graph's indexed integers stop being exact")
        return str(value)
    if value is None:
        return "null"
    if kind is dict:
        return "{" + ",".join([f"{_name(key)}:{literal(part)}" for key, part in value.items()]) + "}"
    if kind is list or kind is tuple:
        return "[" + ",".join([literal(part) for part in value]) + "]"
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        if not math.isfinite(value):
            raise TypeError(f"{value} cannot be a parameter of a query")
        return repr(value)
    if kind is Table:
        return _table(value)
    raise TypeError(f"{kind.__name__} cannot be a parameter of a query")


def _table(table: Table) -> str:
    try:
        text = orjson.dumps(table.rows, option=_JSON).decode()
    except TypeError:
        # A lone surrogate, or what `literal` refuses with its reason.
        return literal(table.rows)
    # Cypher does not know JSON's escapes of control characters; and what is not finite is null in JSON.
    return literal(table.rows) if "\\u" in text else text


def _quoted(text: str) -> str:
    if "\x00" in text:
        text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    if not text.isascii():
        # A lone surrogate has no UTF-8 form.
        text = text.encode("utf-8", "replace").decode()
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    if '"' in text:
        text = text.replace('"', '\\"')
    return f'"{text}"'


def _name(key: Any) -> str:
    """A name in backticks, so that one that Cypher knows as a word of its own can be a key; known ones cost nothing."""
    quoted = _names.get(key) if type(key) is str else None
    if quoted is None:
        if not isinstance(key, str) or not key.isidentifier():
            raise TypeError(f"{key!r} cannot be a name in a parameter of a query")
        quoted = f"`{key}`"
        if len(_names) < _NAMES_MAX:
            _names[key] = quoted
    return quoted
