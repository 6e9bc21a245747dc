"""A line of a file is an incident, or a sentence that says what to change."""

from pathlib import Path

import orjson
import pytest

from twiceshy.cli.lines import Line, Refused, count_lines, read_lines
from twiceshy.events.common import EVENT_BYTES_MAX

GOOD = {
    "tenant": "default",
    "fingerprint": "1",
    "title": "It broke",
    "concluded_at": "2026-01-01T00:00:00Z",
    "origin": {"name": "tests"},
}


def one(line: bytes, tenant: str | None = None) -> Line | Refused:
    [read] = read_lines([line], tenant)
    return read


def test_lines_are_numbered_from_one_and_blank_ones_are_passed_over() -> None:
    good = orjson.dumps(GOOD)
    assert [line.number for line in read_lines([good, b"\n", b"  \n", good])] == [1, 4]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "JSON"),
        (b"[]", "object"),
        (b'"text"', "object"),
        (b"\xff", "JSON"),
        (orjson.dumps({**GOOD, "titel": "x"}), "titel: "),
        (orjson.dumps({**GOOD, "concluded_at": "2026-01-01T00:00:00"}), "concluded_at: "),
        (orjson.dumps({**GOOD, "concluded_at": 1}), "concluded_at: write the time as an RFC 3339 string"),
        (orjson.dumps({**GOOD, "origin": {}}), "origin.name: "),
        (orjson.dumps({**GOOD, "details": "x" * 100_000}), "details: "),
        (orjson.dumps({**GOOD, "steps": ["x" * 16_000] * 20}), f"at most {EVENT_BYTES_MAX} bytes"),
    ],
)
@pytest.mark.parametrize("tenant", [None, "default"])
def test_line_that_cannot_be_sent_says_which_field_to_change(line: bytes, told: str, tenant: str | None) -> None:
    refused = one(line, tenant)
    assert isinstance(refused, Refused)
    assert told in refused.reason
    assert "\n" not in refused.reason


def test_many_faults_of_a_line_are_told_in_one_sentence_of_bounded_length() -> None:
    refused = one(orjson.dumps({f"unknown{number}": 1 for number in range(500)}))
    assert isinstance(refused, Refused)
    assert refused.reason.endswith("; and 502 more")


def test_tenant_of_the_command_counts_and_not_that_of_the_line() -> None:
    line = one(orjson.dumps(GOOD), "demo")
    assert isinstance(line, Line)
    assert line.incident.tenant == "demo"


def test_file_that_cannot_be_read_has_no_number_of_lines(tmp_path: Path) -> None:
    assert count_lines(tmp_path / "nothing") is None
