"""What incidents are imported from: which kind a source is, which options mean something for it, and its records."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from twiceshy.cli.lines import Line, Refused, count_lines, read_lines
from twiceshy.cli.output import fail, shown
from twiceshy.cli.postmortems import Reading, markdown_files, read_folder
from twiceshy.cli.reports import opened
from twiceshy.cli.tables import TableError, open_table
from twiceshy.cli.times import Clock

LINES, TABLE, FOLDER = "JSON lines", "a CSV file", "a folder of Markdown"
LINES_SUFFIXES = (".jsonl", ".ndjson", ".json")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
MEANT_FOR = {
    "--map": (TABLE,),
    "--set": (TABLE,),
    "--delimiter": (TABLE,),
    "--time-format": (TABLE,),
    "--timezone": (TABLE, FOLDER),
    "--origin": (FOLDER,),
    "--exclude": (FOLDER,),
    "--ignore-key": (FOLDER,),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """How a source is to be read. ``tenant`` is None for that of the records, or else ``tenant_default``."""

    tenant: str | None
    tenant_default: str
    columns: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, str], ...]
    delimiter: str | None
    time_format: str | None
    zone: ZoneInfo | None
    origin: str
    excluded: tuple[str, ...]
    ignored: frozenset[str]


@dataclass(frozen=True, slots=True)
class Source:
    """Records to import. ``total`` is None where it is not known before they are read."""

    records: Iterable[Line | Refused]
    unit: str
    total: int | None = None
    notes: tuple[str, ...] = ()


def kind_of(source: str) -> str:
    """Which kind ``source`` is, as its name says it; one that says nothing ends the command."""
    suffix = Path(source).suffix.casefold()
    if Path(source).is_dir():
        return FOLDER
    if suffix in DELIMITERS:
        return TABLE
    if source != "-" and suffix not in LINES_SUFFIXES:
        fail(
            f"{source} is no folder, and its name does not end in {', '.join((*LINES_SUFFIXES, *DELIMITERS))}: "
            "correct the name, or say - and give JSON lines on standard input."
        )
    return LINES


def check_options(source: str, given: Mapping[str, object]) -> None:
    """Ends the command where an option was given that means nothing for the kind of ``source``: it is a mistake."""
    kind = kind_of(source)
    for option, value in given.items():
        if value and kind not in MEANT_FOR[option]:
            fail(f"{option} is for {' or '.join(MEANT_FOR[option])}, and {source} is read as {kind}.")


def pairs(option: str, of: str, given: list[str] | None) -> tuple[tuple[str, str], ...]:
    """What a repeated option says as FIELD=…."""
    found = []
    for pair in given or ():
        field, equals, value = pair.partition("=")
        if not (field and equals and value):
            fail(f"{option} must be FIELD={of}, and is {pair!r}.")
        found.append((field.strip(), value))
    return tuple(found)


def delimiter_of(given: str | None) -> str | None:
    delimiter = "\t" if given in ("tab", "\\t") else given
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        fail(f"--delimiter must be one character, such as ';', or tab, and is {given!r}.")
    return delimiter


def zone_of(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        fail(
            f"There is no time zone {name!r}: name one as Europe/Berlin, or UTC. "
            "(Where the system knows none at all: pip install tzdata.)"
        )


@contextlib.contextmanager
def open_source(source: str, asked: Asked) -> Iterator[Source]:
    """The records of ``source``, read as they are asked for; what is wrong with the whole ends the command."""
    kind = kind_of(source)
    if kind == FOLDER:
        yield _folder(Path(source), asked)
        return
    with opened(source) as lines:
        if kind == TABLE:
            yield _table(source, lines, asked)
        else:
            total = None if source == "-" else count_lines(Path(source))
            yield Source(read_lines(lines, asked.tenant), "lines", total)


def _table(source: str, lines: Iterable[bytes], asked: Asked) -> Source:
    try:
        table = open_table(
            lines,
            columns=asked.columns,
            constants=asked.constants,
            clock=Clock(zone=asked.zone, days=asked.zone, layout=asked.time_format),
            delimiter=asked.delimiter or DELIMITERS[Path(source).suffix.casefold()],
        )
    except TableError as error:
        fail(shown(str(error)))
    notes = [f"Read: {', '.join(table.read)}"]
    if table.unread:
        notes.append(f"Columns that nothing is read from: {', '.join(table.unread)}")
    return Source(table.records(asked.tenant, asked.tenant_default), "rows", notes=tuple(notes))


def _folder(folder: Path, asked: Asked) -> Source:
    try:
        files = markdown_files(folder, asked.excluded)
    except ValueError as error:
        fail(str(error))
    reading = Reading(
        # A date without a time is usual in a post-mortem, and a day in UTC is near enough to one elsewhere.
        clock=Clock(zone=asked.zone, days=asked.zone or UTC),
        origin=asked.origin,
        tenant=asked.tenant,
        tenant_default=asked.tenant_default,
        ignored=asked.ignored,
    )
    notes = () if asked.zone else ("A date without a time is a day in UTC; --timezone names another zone.",)
    return Source(read_folder(folder, files, reading), "files", len(files), notes)
