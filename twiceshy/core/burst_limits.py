"""How many incidents alike are a burst. Apart from the rest, for the settings have it and every command has them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

WINDOW_SECS_MAX = 7 * 86_400
INCIDENTS_MAX = 1_000_000
"""Of one window, which remembers each."""


class BurstLimits(BaseModel):
    """How many incidents a window takes: one more than ``max_per_subject`` or ``max_per_origin`` is a burst."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    window_secs: Annotated[int, Field(ge=1, le=WINDOW_SECS_MAX)] = 3_600
    max_per_subject: Annotated[int, Field(ge=1, le=INCIDENTS_MAX)] = 5
    max_per_origin: Annotated[int, Field(ge=1, le=INCIDENTS_MAX)] = 1_000

    def of_origin(self, burst_max: int | None) -> "BurstLimits":
        """The limits of an origin that has a cap of its own."""
        return self if burst_max is None else self.model_copy(update={"max_per_origin": burst_max})
