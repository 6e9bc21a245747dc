"""Words as the lexical leg sees them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core.lexical import (
    TITLE_WEIGHT,
    TOKENS_MAX,
    WHOLE_TITLE_WEIGHT,
    document_weights,
    occurring,
    query_weights,
    spellings,
    term_id,
    tokens,
)


def dot(query: dict[int, float], document: dict[int, float]) -> float:
    return sum(weight * document.get(term, 0.0) for term, weight in query.items())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The API is down", ["api", "down"]),
        ("payment-api", ["payment-api", "payment", "api"]),
        ("psycopg.OperationalError: too many connections", [
            "psycopg.operationalerror", "psycopg", "operationalerror", "connection",
        ]),
        ("queries, statuses; buses", ["query", "statuse", "buse"]),
        ("status access s3 dns", ["status", "access", "s3", "dns"]),
        ("p99 of POST /pay rose to 30 s", ["p99", "post", "pay", "rose", "30"]),
        ("Größe ﬁle ２", ["grösse", "file", "2"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("how did I get here?", []),
        ("", []),
    ],
)  # fmt: skip
def test_tokens_are_words_and_parts_of_compounds(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@given(st.text(max_size=300))
def test_tokens_of_any_text_are_bounded_and_lower_case(text: str) -> None:
    found = tokens(text)
    assert all(token == token.casefold() and token for token in found)


def test_a_token_is_told_as_it_was_spelled() -> None:
    assert spellings("Queries to payment-DBs, query") == {
        "query": "queries",
        "payment-dbs": "payment-dbs",
        "payment": "payment",
        "dbs": "dbs",
    }


@pytest.mark.parametrize("text", ["The payment-API's pools", "a.b.c of v1.24-upgrade", "Größe? snake_case", ""])
@pytest.mark.parametrize("query", ["payment-api pool", "a.b.c b.c 24-upgrade", "grösse snake case", "nothing"])
def test_occurring_tokens_are_those_of_the_text(query: str, text: str) -> None:
    wanted = tokens(query)
    assert occurring(wanted, text) >= set(wanted) & set(tokens(text))
    assert all(token in text.casefold() for token in occurring(wanted, text) if not token.isalnum())


def test_tokens_of_a_huge_text_end_somewhere() -> None:
    assert TOKENS_MAX <= len(tokens("word " * 10 * TOKENS_MAX)) <= TOKENS_MAX + 10


def test_a_word_of_the_title_counts_more_than_one_of_the_text() -> None:
    weights = document_weights("database failover", "network partition")
    assert weights[term_id("database")] > weights[term_id("network")]
    titled, said_often = (
        document_weights("a1", "network " * TITLE_WEIGHT),
        document_weights("network", "a1 " * TITLE_WEIGHT),
    )
    assert titled[term_id("network")] == pytest.approx(said_often[term_id("network")])


def test_a_long_text_counts_less_for_the_same_word() -> None:
    short, long = document_weights("a", "disk full"), document_weights("a", "disk full " + "lorem ipsum " * 500)
    assert short[term_id("disk")] > long[term_id("disk")]


def test_a_query_counts_each_word_once() -> None:
    assert query_weights("disk disk DISK disks")[term_id("disk")] == 1.0


def test_a_whole_title_outweighs_all_of_its_words() -> None:
    query = query_weights("Elevated error rates on the API")
    same = document_weights("Elevated error rates on the API", "")
    alike = document_weights("API: elevated error rates", "the error rate of the api was elevated " * 20)
    words = len(tokens("Elevated error rates on the API"))
    assert dot(query, same) - dot(query, alike) > WHOLE_TITLE_WEIGHT * words / 2


def test_a_title_is_found_in_any_case_and_its_letters_decide() -> None:
    query = query_weights("ORES")
    upper, lower = document_weights("ORES", ""), document_weights("ores", "")
    other = document_weights("ores is slow", "")
    assert dot(query, upper) > dot(query, lower) > dot(query, other)


def test_a_title_of_stop_words_is_found() -> None:
    assert tokens("Also this.") == []
    assert dot(query_weights("also THIS"), document_weights("Also this.", "something else")) > 0


def test_a_title_is_found_on_a_line_of_its_own() -> None:
    query = query_weights("checkout is broken\nElevated API Errors\nTraceback: boom")
    assert dot(query, document_weights("Elevated API errors", "")) > dot(
        query, document_weights("API", "errors elevated")
    )


def test_a_title_of_punctuation_is_no_term() -> None:
    assert document_weights("???", "") == {}
    assert query_weights("???\n\n!!!") == {}


@given(st.text(max_size=200), st.text(max_size=200))
def test_weights_are_finite_and_positive_for_any_text(title: str, text: str) -> None:
    for weights in (document_weights(title, text), query_weights(text)):
        assert all(0 < weight < 1e6 and 0 <= term < 2**32 for term, weight in weights.items())
