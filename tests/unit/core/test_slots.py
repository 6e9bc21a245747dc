"""A fact's slot gives back what it was made of."""

from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core.aliases import NO_NAMES
from twiceshy.core.facts import fact_slot, slot_parts

names = st.one_of(st.text(min_size=1), st.text(alphabet="a|\\", min_size=1))


@given(names, st.from_regex(r"\A[a-z][a-z0-9_-]{0,63}\Z"), names, st.booleans())
def test_slot_gives_back_its_subject_and_predicate(subject: str, predicate: str, said: str, many: bool) -> None:
    assert slot_parts(fact_slot(NO_NAMES, subject, predicate, said, many=many)) == (subject, predicate)
