"""What can be imported from the package itself: these names are for life."""

import pytest

import twiceshy
from twiceshy import client

NAMES = [
    "IncidentPublisher",
    "MemoryCommands",
    "OutcomeFollower",
    "QuarantineDecisions",
    "RecallClient",
    "RecallTimeoutError",
    "render",
]


def test_public_names_are_these() -> None:
    assert twiceshy.__all__ == client.__all__ == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_public_name_is_the_clients(name: str) -> None:
    assert getattr(twiceshy, name) is getattr(client, name)


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Outputs'"):
        _ = twiceshy.Outputs
