"""Incidents from a table: CSV whose first row names the columns, and which column is which field."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from twiceshy.cli.fields import FIXED, REQUIRED, VALID, is_field, is_list, put
from twiceshy.cli.lines import Line, Refused, incident_of, joined, reason_of
from twiceshy.cli.times import Clock
from twiceshy.events.common import EVENT_BYTES_MAX

# More than any field may hold, so that what is too long is told by the field's own limit and not by the CSV reader's.
CELL_CHARS_MAX = 64 * EVENT_BYTES_MAX


class TableError(ValueError):
    """The table as a whole cannot be read as it was asked for; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row that is not blank. ``number`` is that of its first line in the file."""

    number: int
    cells: list[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose header was read. ``fields`` has the positions of the columns that each field is read from."""

    header: tuple[str, ...]
    fields: Mapping[str, tuple[int, ...]]
    constants: Mapping[str, str]
    clock: Clock
    rows: Iterator[Row | Refused]

    @property
    def read(self) -> list[str]:
        """Which column is read as which field, as ``--map`` would say it."""
        return [f"{field}={self.header[position]}" for field in self.fields for position in self.fields[field]]

    @property
    def unread(self) -> list[str]:
        used = {position for positions in self.fields.values() for position in positions}
        return [name for position, name in enumerate(self.header) if name and position not in used]

    def records(self, tenant: str | None, tenant_default: str) -> Iterator[Line | Refused]:
        """Each row as an incident: of ``tenant`` if given, whichever it names; else of ``tenant_default`` if it
        names none. Where the rows cannot be told apart any more, the last record says so."""
        for row in self.rows:
            if isinstance(row, Refused):
                yield row
                continue
            try:
                body = self._body(row.cells)
                body["tenant"] = tenant or body.get("tenant", tenant_default)
                yield Line(row.number, incident_of(body))
            except ValueError as error:
                yield Refused(row.number, reason_of(error))

    def _body(self, cells: list[str]) -> dict[str, Any]:
        if len(cells) != len(self.header):
            raise ValueError(
                f"the row has {len(cells)} cells, and the header {len(self.header)}: "
                "put quotes around a cell that holds the delimiter"
            )
        if not _is_utf8(cells):
            raise ValueError("the row is not UTF-8 text: save the file as UTF-8")
        told = {
            field: [value for position in positions if (value := cells[position].strip())]
            for field, positions in self.fields.items()
        }
        body: dict[str, Any] = {}
        faults = [
            f"{field}: the column {self.header[self.fields[field][0]]!r} is blank"
            for field, values in told.items()
            if field in REQUIRED and not values
        ]
        for field, values in {**told, **{field: [value] for field, value in self.constants.items()}}.items():
            try:
                for value in values:
                    put(body, field, value, self.clock)
            except ValueError as error:
                faults.append(f"{field}: {error}")
        if faults:
            raise ValueError(joined(faults))
        _settle_cause(body, categorised=bool(told.get("cause.category")))
        return body


def open_table(
    lines: Iterable[bytes],
    *,
    columns: Iterable[tuple[str, str]] = (),
    constants: Iterable[tuple[str, str]] = (),
    clock: Clock,
    delimiter: str = ",",
) -> Table:
    """The table of ``lines``, UTF-8 with or without a byte order mark, of which the header is read now.

    ``columns`` are pairs of a field and the column that it is read from. A column that is in none of them is read as
    the field of its own name, if there is one that has no other source. ``constants`` are pairs of a field and what
    it is in every row.

    Raises:
        TableError: there is no header, or fields and columns do not come together.
    """
    rows = _rows(lines, delimiter)
    first = next(rows, None)
    if first is None:
        raise TableError("There is no header: the first row must name the columns.")
    if isinstance(first, Refused):
        raise TableError(f"The header cannot be read: {first.reason}.")
    if not _is_utf8(first.cells):
        raise TableError("The header is not UTF-8 text: save the file as UTF-8.")
    header = tuple(_one_line(name) for name in first.cells)
    fixed = _constants(constants)
    fields = _mapped(header, columns, fixed)
    # Who maps a column says what it is: Jira's Summary is a title, and not a summary too.
    taken = {position for positions in fields.values() for position in positions}
    for field, positions in _named_like_fields(header, taken).items():
        if field not in fields and field not in fixed:
            fields[field] = _sole(field, positions, header)
    if missing := [field for field in REQUIRED if field not in fields and field not in fixed]:
        way = "--set origin.name=NAME" if missing == ["origin.name"] else f"--map {missing[0]}=COLUMN"
        raise TableError(f"Nothing gives {', '.join(missing)}: say {way}. {_columns(header)}")
    return Table(header, fields, fixed, clock, rows)


def _settle_cause(body: dict[str, Any], *, categorised: bool) -> None:
    """A statement alone is of the category that says nothing. A category alone is no cause, unless the row has it."""
    cause = body.get("cause", {})
    if "statement" in cause:
        cause.setdefault("category", "other")
    elif not categorised:
        body.pop("cause", None)


def _rows(lines: Iterable[bytes], delimiter: str) -> Iterator[Row | Refused]:
    csv.field_size_limit(CELL_CHARS_MAX)
    reader = csv.reader(_decoded(lines), delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            # Where a quote is wrong, nobody knows where the next row begins.
            yield Refused(number, f"the quotes or line ends are wrong ({error}), and from here on nothing was read")
            return
        if any(cell.strip() for cell in cells):
            yield Row(number, cells)


def _decoded(lines: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines):
        # What is not UTF-8 becomes lone surrogates, so that the row it is in can be named.
        text = line.decode("utf-8", "surrogateescape")
        yield text.removeprefix("\ufeff") if number == 0 else text


def _is_utf8(cells: list[str]) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for cell in cells for letter in cell)


def _one_line(name: str) -> str:
    return " ".join(name.split())


def _constants(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    constants: dict[str, str] = {}
    for field, value in pairs:
        _check(field)
        if field == "fingerprint":
            raise TableError("--set fingerprint would make every row the same incident: map a column to it.")
        if field in constants:
            raise TableError(f"{field} is set twice: leave out one --set.")
        if not value.strip():
            raise TableError(f"--set {field} has no value.")
        constants[field] = value.strip()
    return constants


def _mapped(
    header: tuple[str, ...], columns: Iterable[tuple[str, str]], constants: Mapping[str, str]
) -> dict[str, tuple[int, ...]]:
    fields: dict[str, tuple[int, ...]] = {}
    for field, column in columns:
        _check(field)
        positions = tuple(position for position, name in enumerate(header) if name and name == _one_line(column))
        if not positions:
            raise TableError(f"There is no column {column!r}. {_columns(header)}")
        if field in constants:
            raise TableError(f"{field} is both mapped and set: leave out --map or --set.")
        fields[field] = _sole(field, fields.get(field, ()) + positions, header)
    return fields


def _named_like_fields(header: tuple[str, ...], taken: set[int]) -> dict[str, tuple[int, ...]]:
    """Fields to the columns, of those not ``taken``, that have their names: for the fixed ones but for case and
    spaces."""
    found: dict[str, tuple[int, ...]] = {}
    for position, name in enumerate(header):
        folded = name.casefold().replace(" ", "_")
        field = folded if folded in FIXED else name
        if position not in taken and is_field(field):
            found[field] = (*found.get(field, ()), position)
    return found


def _sole(field: str, positions: tuple[int, ...], header: tuple[str, ...]) -> tuple[int, ...]:
    if len(positions) > 1 and not is_list(field):
        names = [header[position] for position in positions]
        way = f"say --map {field}=COLUMN once" if len(set(names)) > 1 else "give each a name of its own"
        raise TableError(f"{field} would come from {len(names)} columns ({', '.join(names)}): {way}.")
    return positions


def _check(field: str) -> None:
    if not is_field(field):
        raise TableError(f"There is no field {field!r}: the fields are {VALID}.")


def _columns(header: tuple[str, ...]) -> str:
    """Which columns there are; with a hint, where a header of one column looks like one of several."""
    told = f"The columns are {', '.join(name for name in header if name)}."
    for delimiter, name in ((";", "';'"), ("\t", "tab"), ("|", "'|'")):
        if len(header) == 1 and delimiter in header[0]:
            return f"{told} If they are several, say --delimiter {name}."
    return told
