"""Putting what was recalled into an agent's prompt."""

import secrets

from twiceshy.core import render as rendering
from twiceshy.events.recall import RecallReplied

BOUNDARY_BYTES = 8


def render(reply: RecallReplied, *, chars_max: int = rendering.CHARS_MAX) -> str:
    """The reply as text for a prompt: quoted data, between boundaries that are new each time.

    ``chars_max`` bounds the text; it says how much of the reply had no room. `twiceshy.core.render` tells what it is
    made of.
    """
    return rendering.render(reply, secrets.token_hex(BOUNDARY_BYTES), chars_max=chars_max)
