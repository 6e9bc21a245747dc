"""What speaks for a belief and against it, without what was purged."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiceshy.core.believing import Derivation, Evidence, doubted, floored
from twiceshy.core.memory import Claimed
from twiceshy.core.purges import TRUST_FLOOR, Purge, hides
from twiceshy.core.temporal import FOREVER, Observation, Segment, believed, winner

SLOT = "fact|alice|works_at"
PURGED = (Purge(origin="hoaxer", since=10, at=20, block=False),)


def claim(said: str, start: int, end: int = FOREVER, **told: Any) -> Claimed:
    origin = told.pop("origin", "pagerduty")
    said_at = told.pop("said_at", 15)
    fields: dict[str, Any] = {
        "slot": SLOT,
        "holds": True,
        "incident": f"{origin}/{said}/{start}",
        "revised_at": 0,
        "event_id": f"{said}/{start}",
        "trust": 0.3,
        "confidence": 1.0,
        "t_created": said_at,
    }
    seen = Observation(object=said, valid_from=start, valid_to=end, **(fields | told))
    return Claimed(seen, {"observation_id": f"{said}/{start}", "origin": origin, "said_at": said_at})


def segment(said: str, start: int, end: int = FOREVER) -> Segment:
    return Segment(start, end, said, "pagerduty", "1")


def objects(claims: list[Claimed]) -> list[str]:
    return [one.seen.object for one in claims]


def test_trust_is_that_of_the_most_trusted_supporter_that_was_not_purged() -> None:
    claims = [
        claim("acme", 100),
        claim("acme", 150, trust=0.5),
        claim("acme", 120, trust=0.9, origin="hoaxer"),
        claim("acme", 300, trust=1.0),
        claim("beta", 100, trust=1.0),
        claim("acme", 100, trust=1.0, holds=False),
    ]
    assert Evidence(claims, ()).trust(SLOT, segment("acme", 100, 300)) == 0.9
    evidence = Evidence(claims, PURGED)
    assert evidence.trust(SLOT, segment("acme", 100, 300)) == 0.5
    assert len(evidence.supporters(SLOT, segment("acme", 100, 300))) == 2
    assert evidence.trust("another slot", segment("acme", 100, 300)) == 0.0


def test_supporters_come_with_the_latest_revision_first() -> None:
    claims = [claim("acme", start, revised_at=at) for start, at in ((1, 5), (2, 9), (3, 7))]
    ids = [one.said["observation_id"] for one in Evidence(claims, ()).supporters(SLOT, segment("acme", 1))]
    assert ids == ["acme/2", "acme/3", "acme/1"]


@pytest.mark.parametrize(("said_at", "withheld"), [(9, False), (10, True), (19, True), (20, False)])
def test_withheld_is_what_nobody_else_says_of_what_was_said_within_a_purge(said_at: int, withheld: bool) -> None:
    one = claim("acme", 100, origin="hoaxer", said_at=said_at)
    assert Evidence([one], PURGED).withheld(SLOT, segment("acme", 100)) is withheld
    other = claim("acme", 150)
    assert not Evidence([one, other], PURGED).withheld(SLOT, segment("acme", 100))
    assert not Evidence([], PURGED).withheld(SLOT, segment("acme", 100))


def test_contested_by_what_is_trusted_more_and_says_otherwise_within_the_time() -> None:
    low, high = claim("beta", 200, trust=0.3), claim("acme", 100, trust=0.5)
    highest = claim("", 50, 260, holds=False, trust=0.9)
    before, after = claim("acme", 100, 200, trust=1.0), claim("acme", 300, trust=1.0)
    purged = claim("acme", 150, trust=1.0, origin="hoaxer")
    agreeing = claim("beta", 210, trust=0.2)
    evidence = Evidence([low, high, highest, before, after, purged, agreeing], PURGED)
    told = evidence.contested_by(SLOT, segment("beta", 200, 300))
    assert [(one.seen.object, one.seen.holds) for one in told] == [("", False), ("acme", True)]
    trusted = claim("beta", 200, trust=0.9)
    assert Evidence([trusted, high, highest], PURGED).contested_by(SLOT, segment("beta", 200, 300)) == []


def test_what_is_doubted_has_little_trust_and_contests_little() -> None:
    sure, doubtful = claim("acme", 100, trust=0.9), claim("beta", 200, trust=0.3)
    assert objects(Evidence([sure, doubtful], ()).contested_by(SLOT, segment("beta", 200))) == ["acme"]
    evidence = Evidence([sure, doubtful], (), {sure.seen.incident})
    assert evidence.contested_by(SLOT, segment("beta", 200)) == []
    assert evidence.trust(SLOT, segment("acme", 100)) == TRUST_FLOOR
    assert (floored(0.05, True), floored(0.5, True), floored(0.5, False)) == (0.05, TRUST_FLOOR, 0.5)


def test_denied_is_what_a_claim_of_less_trust_keeps_from_holding() -> None:
    sure, unsure = claim("acme", 100, trust=0.9), claim("acme", 120, trust=0.2)
    nothing = claim("", 200, 400, holds=False, trust=0.3)
    evidence = Evidence([sure, unsure, nothing], ())
    assert evidence.denied(SLOT, 199) == []
    assert [one.said["observation_id"] for one in evidence.denied(SLOT, 200)] == ["acme/100"]
    assert evidence.denied(SLOT, 400) == []
    by_hoaxer = claim("", 200, 400, holds=False, trust=1.0, origin="hoaxer")
    assert Evidence([sure, unsure, by_hoaxer], ()).denied(SLOT, 200) == []
    assert objects(Evidence([sure, unsure, by_hoaxer], PURGED).denied(SLOT, 200)) == ["acme", "acme"]


def test_whatever_derives_from_a_purged_incident_is_doubted_also_in_circles() -> None:
    derivations = {
        "purged": Derivation(("fine",), purged=True),
        "child": Derivation(("purged", "fine")),
        "grandchild": Derivation(("child",)),
        "circle": Derivation(("grandchild", "circle")),
        "fine": Derivation(),
        "other": Derivation(("unheard of",)),
    }
    assert doubted(derivations) == {"child", "grandchild", "circle"}
    assert doubted({}) == frozenset()


@pytest.mark.parametrize(("known_at", "expected"), [(9, False), (10, True), (19, True), (20, False)])
def test_a_moment_lacks_what_a_later_purge_took_away_of_it(known_at: int, expected: bool) -> None:
    assert hides(PURGED, known_at) is expected


observations = st.builds(
    lambda said, start, length, holds, revised_at, event: (
        claim(said, start, start + length, holds=holds, revised_at=revised_at, event_id=event).seen
    ),
    st.sampled_from("ab"),
    st.integers(0, 6),
    st.integers(1, 6) | st.just(FOREVER - 10),
    st.booleans(),
    st.integers(0, 2),
    st.sampled_from("xyz"),
)


@given(st.lists(observations, max_size=6), st.integers(0, 12))
def test_the_winner_is_what_is_believed(said: list[Observation], event_time: int) -> None:
    won = winner(said, event_time)
    held = [one.object for one in believed(said) if one.start <= event_time < one.end]
    assert held == ([won.object] if won is not None and won.holds else [])
