"""incidents.backfill.v1 → guard, when the chain has room for more → memory.log.v1

What is on its way in the chain is what an incident of today waits behind: as much of a backfill is let in as the chain
gets done within a moment, by what it did in the last seconds.
"""

from collections import deque

SECONDS_BEHIND = 0.7
"""So much of the chain's work, about, stands before an incident of today; with what it takes itself, a second."""

ENTRIES_MIN = 25
"""So many are let in whatever the chain does: without any on their way nobody knows how fast it is."""

SAMPLE_SECONDS = 2.5


class Room:
    """How many entries may be on their way in one partition of the log."""

    def __init__(self, entries_max: int) -> None:
        self._entries_max = entries_max
        self._samples: deque[tuple[float, int]] = deque()

    def entries(self, done: int, now: float) -> int:
        """How many, when ``done`` of the log have gone through the chain at ``now`` (seconds of any clock)."""
        while self._samples and self._samples[0][0] < now - SAMPLE_SECONDS:
            self._samples.popleft()
        if self._samples and done < self._samples[0][1]:
            # A log that begins anew.
            self._samples.clear()
        self._samples.append((now, done))
        since, then = self._samples[0]
        a_second = (done - then) / (now - since) if now > since else 0.0
        return min(self._entries_max, max(ENTRIES_MIN, round(a_second * SECONDS_BEHIND)))
