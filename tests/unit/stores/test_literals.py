"""What may be bound to a query: nothing that the client would splice into it, nothing that the graph would change."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from twiceshy.stores.literals import literal


class Spliced:
    def __str__(self) -> str:
        return "1}) DETACH DELETE n //"


@pytest.mark.parametrize(
    "value",
    [
        2**53,
        -(2**53),
        2**63,
        float("nan"),
        float("inf"),
        -float("inf"),
        datetime(2026, 1, 1, tzinfo=UTC),
        uuid4(),
        b"bytes",
        {1, 2},
        Spliced(),
    ],
)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"a": {"b": v}}])
def test_what_would_be_changed_or_read_as_a_query_is_no_literal(value: Any, wrap: Any) -> None:
    with pytest.raises(TypeError):
        literal(wrap(value))


@pytest.mark.parametrize("key", [1, "", "a`b", "a b", None])
def test_key_that_is_no_name_is_no_literal(key: Any) -> None:
    with pytest.raises(TypeError):
        literal({"rows": [{key: 1}]})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (1, "1"),
        (0.5, "0.5"),
        (1e300, "1e+300"),
        ('say "\\" \n', '"say \\"\\\\\\" \n"'),
        ("a\x00b", '"a\N{REPLACEMENT CHARACTER}b"'),
        ("a\ud800b", '"a?b"'),
        ([1, ("a",)], '[1,["a"]]'),
        ({"a": {"end": None}}, "{`a`:{`end`:null}}"),
    ],
)
def test_literal_is_what_the_graph_reads_as_the_value(value: Any, expected: str) -> None:
    assert expected == literal(value)
