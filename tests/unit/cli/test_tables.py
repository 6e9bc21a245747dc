"""A row of a table is an incident, or a sentence that says what to change in which line."""

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiceshy.cli.fields import FIXED
from twiceshy.cli.lines import Line, Refused
from twiceshy.cli.tables import Table, TableError, open_table
from twiceshy.cli.times import Clock
from twiceshy.events.incident import IncidentConcluded

HEADER = "fingerprint,title,concluded_at,origin.name"
GOOD = "1,It broke,2026-01-01T00:00:00Z,tests"


def opened(text: str | bytes, *, zone: str | None = None, **asked: Any) -> Table:
    given = text.encode() if isinstance(text, str) else text
    clock = Clock(zone=ZoneInfo(zone), days=ZoneInfo(zone)) if zone else Clock()
    return open_table(io.BytesIO(given), clock=clock, **asked)


def read(text: str | bytes, **asked: Any) -> list[Line | Refused]:
    return list(opened(text, **asked).records(None, "default"))


def one(header: str, row: str, **asked: Any) -> Line | Refused:
    [record] = read(f"{HEADER},{header}\n{GOOD},{row}\n", **asked)
    return record


def incident(header: str, row: str, **asked: Any) -> IncidentConcluded:
    record = one(header, row, **asked)
    assert isinstance(record, Line), record
    return record.incident


def reasons(records: Iterable[Line | Refused]) -> list[tuple[int, str]]:
    return [(record.number, record.reason) for record in records if isinstance(record, Refused)]


def test_column_with_the_name_of_a_field_needs_no_mapping() -> None:
    [record] = read("Title,FINGERPRINT,concluded at,origin.name,labels.Region\nIt broke,1,2026-01-01T00:00Z,tests,eu\n")
    assert isinstance(record, Line)
    assert (record.incident.title, record.incident.fingerprint) == ("It broke", "1")
    assert record.incident.concluded_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert record.incident.labels == {"Region": "eu"}


def test_mapping_and_constants_say_where_fields_come_from() -> None:
    table = opened(
        "Key,Summary,Closed,Notes\nA-1,It broke,2026-01-01 01:00,x\n",
        columns=[("fingerprint", "Key"), ("title", "Summary"), ("concluded_at", "Closed")],
        constants=[("origin.name", "jira"), ("severity", "sev2")],
        zone="Europe/Berlin",
    )
    [record] = table.records(None, "default")
    assert isinstance(record, Line)
    told = record.incident
    assert (told.fingerprint, told.title, told.summary, told.severity) == ("A-1", "It broke", None, "sev2")
    assert (told.origin.name, told.tenant) == ("jira", "default")
    assert told.concluded_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert (table.read, table.unread) == (["fingerprint=Key", "title=Summary", "concluded_at=Closed"], ["Notes"])


def test_byte_order_mark_is_no_part_of_the_first_column() -> None:
    assert len(read(f"{HEADER}\n{GOOD}\n".encode("utf-8-sig"))) == 1


@pytest.mark.parametrize(
    ("header", "row", "field", "expected"),
    [
        ("entities.service", '"web; db, web"', "entities",
         [("service", "web", "affected"), ("service", "db", "affected")]),
        ("entities.change.cause", "deploy/1", "entities", [("change", "deploy/1", "cause")]),
        ("entities.service,entities.service", "web,db", "entities",
         [("service", "web", "affected"), ("service", "db", "affected")]),
        ("steps", '"kubectl get pods,svc; echo\n\nundo"', "steps", ["kubectl get pods,svc; echo", "undo"]),
        ("links", '"https://a.example/?x=1,2; https://b.example,https://c.example"', "links",
         ["https://a.example/?x=1,2", "https://b.example", "https://c.example"]),
        ("cause.category,cause.statement", "Config Change,Too small", "cause", ("config-change", "Too small")),
        ("cause.statement", "Too small", "cause", ("other", "Too small")),
        ("cause.statement", "", "cause", None),
    ],
)  # fmt: skip
def test_cell_is_read_as_its_field_is(header: str, row: str, field: str, expected: Any) -> None:
    told = incident(header, row).model_dump(mode="json")[field]
    if isinstance(told, dict):
        told = tuple(told.values())
    if field == "entities":
        told = [tuple(mention.values()) for mention in told]
    assert told == expected


def test_category_for_every_row_makes_no_cause_of_a_row_without_one() -> None:
    assert incident("cause.statement", "", constants=[("cause.category", "deploy")]).cause is None


@pytest.mark.parametrize(
    ("header", "row", "told"),
    [
        ("severity", "sev1,more", "the row has 6 cells, and the header 5"),
        ("severity,labels.x", "sev1", "the row has 5 cells, and the header 6"),
        ("started_at", "yesterday", "started_at: write the time as"),
        ("started_at", "2026-01-01 00:00", "started_at: the time has no offset"),
        ("started_at", "2026-01-02T00:00Z", "started_at must not be later than concluded_at"),
        ("cause.category", "deploy", "cause.statement: "),
        ("cause.category,cause.statement", "gremlins,x", "cause.category: "),
        ("summary", "x" * 16_385, "summary: "),
        ("details", "x" * 98_305, "details: "),
        ("details", "x" * 200_000, "details: "),
        ("links", "not a link", "links.0: "),
        ("tenant", "No Tenant", "tenant: "),
    ],
)
def test_row_that_cannot_be_sent_says_what_to_change(header: str, row: str, told: str) -> None:
    [(number, reason)] = reasons([one(header, row)])
    assert number == 2
    assert told in reason


def test_blank_cell_of_a_required_field_is_refused_by_the_name_of_its_column() -> None:
    given = "Key,title,concluded_at,origin.name\n,,2026-01-01T00:00:00Z,tests\n"
    [(_, reason)] = reasons(read(given, columns=[("fingerprint", "Key")]))
    assert reason == "fingerprint: the column 'Key' is blank; title: the column 'title' is blank"


def test_rows_are_numbered_by_their_first_line_and_blank_ones_are_passed_over() -> None:
    rows = f'{HEADER}\n\n2,"a\nb",2026-01-01T00:00:00Z,tests\r\n,,,\n{GOOD}\n'
    assert [record.number for record in read(rows)] == [3, 6]


def test_row_that_is_not_utf8_is_refused_alone() -> None:
    told = read(f"{HEADER}\n".encode() + GOOD.replace("broke", "brök").encode("latin-1") + f"\n{GOOD}\n".encode())
    assert reasons(told) == [(2, "the row is not UTF-8 text: save the file as UTF-8")]
    assert len(told) == 2


def test_quote_without_end_refuses_the_rest_and_says_so() -> None:
    told = read(f'{HEADER}\n{GOOD}\n2,"It broke,2026-01-01T00:00:00Z,tests\n{GOOD}\n')
    [(number, reason)] = reasons(told)
    assert (len(told), number) == (2, 3)
    assert reason.endswith("from here on nothing was read")


@pytest.mark.parametrize(
    ("text", "asked", "told"),
    [
        ("", {}, "There is no header"),
        ("\n\n", {}, "There is no header"),
        (b"\xff\xfea\x00", {}, "The header is not UTF-8"),
        ('"a', {}, "The header cannot be read: the quotes"),
        ("a,b", {}, "Nothing gives fingerprint, title, concluded_at, origin.name: say --map fingerprint=COLUMN. "
                    "The columns are a, b."),
        ("fingerprint,title,concluded_at", {}, "Nothing gives origin.name: say --set origin.name=NAME."),
        ("fingerprint;title;concluded_at", {}, "say --delimiter ';'."),
        (HEADER, {"columns": [("severty", "title")]}, "There is no field 'severty': the fields are fingerprint, "),
        (HEADER, {"columns": [("entities.Service", "title")]}, "There is no field 'entities.Service'"),
        (HEADER, {"columns": [("entities.service.victim", "title")]}, "There is no field 'entities.service.victim'"),
        (HEADER, {"columns": [("facts", "title")]}, "There is no field 'facts'"),
        (HEADER, {"columns": [("severity", "Prio")]}, "There is no column 'Prio'. The columns are fingerprint, "),
        (HEADER, {"columns": [("title", "title"), ("title", "fingerprint")]}, "say --map title=COLUMN once"),
        (f"{HEADER},title", {}, "title would come from 2 columns (title, title): give each a name of its own."),
        (HEADER, {"constants": [("severty", "x")]}, "There is no field 'severty'"),
        (HEADER, {"constants": [("severity", "x"), ("severity", "y")]}, "severity is set twice"),
        (HEADER, {"constants": [("severity", " ")]}, "--set severity has no value"),
        (HEADER, {"constants": [("fingerprint", "x")]}, "every row the same incident"),
        (HEADER, {"constants": [("title", "x")], "columns": [("title", "title")]}, "title is both mapped and set"),
    ],
)  # fmt: skip
def test_table_that_cannot_be_read_is_told_in_one_sentence(text: str | bytes, asked: Any, told: str) -> None:
    with pytest.raises(TableError) as raised:
        opened(text, **asked)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_field_of_a_table_is_one_of_the_event() -> None:
    heads = {field.partition(".")[0] for field in (*FIXED, "labels.x", "entities.x")}
    assert heads <= set(IncidentConcluded.model_fields)
    assert set(IncidentConcluded.model_fields) - heads == {
        "facts", "mistakes", "supersedes", "derived_from", "code_refs",
    }  # fmt: skip


def test_tenant_of_the_command_counts_and_else_that_of_the_row() -> None:
    rows = f"{HEADER},tenant\n{GOOD},demo\n{GOOD},\n"
    for tenant, expected in ((None, ["demo", "default"]), ("public", ["public", "public"])):
        told = opened(rows).records(tenant, "default")
        assert [record.incident.tenant for record in told if isinstance(record, Line)] == expected


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)


@given(st.lists(st.tuples(texts, texts), max_size=5), st.sampled_from([",", ";", "\t"]), st.booleans())
def test_what_a_writer_of_csv_writes_is_read_again(rows: list[tuple[str, str]], delimiter: str, marked: bool) -> None:
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter)
    writer.writerow([*HEADER.split(","), "summary", "labels.note"])
    for number, row in enumerate(rows):
        writer.writerow([number, "It broke", "2026-01-01T00:00:00Z", "tests", *row])
    told = read(written.getvalue().encode("utf-8-sig" if marked else "utf-8"), delimiter=delimiter)
    assert reasons(told) == []
    assert [
        (record.incident.fingerprint, record.incident.summary, record.incident.labels.get("note"))
        for record in told
        if isinstance(record, Line)
    ] == [(str(number), *(text.strip() or None for text in row)) for number, row in enumerate(rows)]
