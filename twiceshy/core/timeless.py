"""A memory's stamps and versions by the events that they derive from: two runs of equal events name them alike.

    stamp of the system axis      the id of the event whose entry has it; an open end is null
    version                       its slot, its ``t_valid``, and the event that made it
    version that was compacted    `COMPACTED`, for nothing is left that could name it
    ``since`` of a purge          the first event that it reaches back to, its own at the latest; null without one
    horizon                       the last event that it lies behind; null when there is none

An episode begins when its incident says, unless it was admitted before: then ``t_valid`` is the time of admission. It
and all that follows it are told as the incident says. Only ``revised_at`` is left out, for it may be the time of
admission and does not say whether it is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from twiceshy.core.temporal import FOREVER
from twiceshy.events.common import milliseconds

Properties = Mapping[str, Any]

COMPACTED = "compacted"

# What each stamp of the system axis is called once it names the event that set it.
_SET_BY = {
    "t_created": "created_by",
    "t_expired": "expired_by",
    "t_retracted": "retracted_by",
    "invalidated_at": "invalidated_by",
    "said_at": "said_by",
    "at": "purged_by",
    "unblocked_at": "unblocked_by",
}
_VERSIONS = frozenset({"episode_id", "copy_of", "supersedes", "superseded_by", "rests_on", "expired", "made"})
"""Properties that hold the id of a version, or a list of them."""

_LEFT_OUT = frozenset({"version_id", "revised_at"})


class Timeless:
    """Identities and properties in which no time of admission is left. ``nodes`` are labels and properties."""

    def __init__(self, nodes: Iterable[tuple[str, Properties]]) -> None:
        told = list(nodes)
        self._events: dict[int, str] = {
            properties["t_created"]: properties["event_id"] for label, properties in told if label == "Entry"
        }
        self._stamps = sorted(self._events)
        versions = [(label, properties) for label, properties in told if "version_id" in properties]
        self._starts, self._capped = _claimed_starts(versions)
        self._names = {properties["version_id"]: self._name(properties) for _, properties in versions}

    def identity(self, identity: str) -> str:
        return self._names.get(identity, identity)

    def properties(self, properties: Properties, of: str) -> Properties:
        told: dict[str, Any] = {}
        for name, value in properties.items():
            if name in _SET_BY:
                told[_SET_BY[name]] = None if value == FOREVER else self._events.get(value, value)
            elif name in _VERSIONS:
                told[name] = self._version(value)
            elif name == "t_valid":
                told[name] = self._start(of, properties.get("episode_id"), value)
            elif name in ("t_invalid", "valid_from"):
                told[name] = self._capped.get(value, value)
            elif name == "since":
                told[name] = self._first_event_from(min(value, properties["at"])) if value else None
            elif name == "result":
                told[name] = self._result(orjson.loads(value))
            elif name not in _LEFT_OUT:
                told[name] = value
        return told

    def horizon(self, horizon: int) -> int | str | None:
        behind = bisect_right(self._stamps, horizon)
        return self._events[self._stamps[behind - 1]] if behind else None

    def _first_event_from(self, since: int) -> int | str:
        ahead = bisect_left(self._stamps, since)
        return self._events[self._stamps[ahead]] if ahead < len(self._stamps) else since

    def _name(self, properties: Properties) -> str:
        start = self._starts[properties["version_id"]]
        made_by = self._events.get(properties["t_created"], properties["t_created"])
        return f"{properties['slot']}@{start}/{made_by}"

    def _version(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._version(part) for part in value]
        return self._names.get(value, COMPACTED) if value else value

    def _start(self, of: str, episode_id: str | None, value: int) -> int:
        """When something begins: as its own version says, or the episode that it goes by."""
        known = self._starts.get(of, self._starts.get(episode_id or ""))
        return self._capped.get(value, value) if known is None else known

    def _result(self, recorded: dict[str, Any]) -> Any:
        """What an entry came to, as it is stored beside it."""
        told = {**self._made(recorded, recorded.get("episode_id"))}
        for part in ("facts_made", "facts_expired"):
            if part in recorded:
                told[part] = [
                    {"slot": fact["slot"], "version": self._version(fact["version_id"])} for fact in recorded[part]
                ]
        if "reversions" in recorded:
            told["reversions"] = [self._made(reversion, reversion["made"]) for reversion in recorded["reversions"]]
        return told

    def _made(self, recorded: dict[str, Any], episode_id: str | None) -> Properties:
        """What is stored of an episode beside an entry. When one began that is not there any more, nothing can tell."""
        told = self.properties(recorded, of=episode_id or "")
        return {**told, "t_valid": None} if "t_valid" in told and episode_id not in self._names else told


def _claimed_starts(versions: Sequence[tuple[str, Properties]]) -> tuple[dict[str, int], dict[int, int]]:
    """When versions begin as their incidents say, by version id, and by the times of admission that stand in place."""
    starts: dict[str, int] = {}
    capped: dict[int, int] = {}
    for label, properties in versions:
        starts[properties["version_id"]] = properties["t_valid"]
        if label == "MemoryEpisode":
            claimed = _claimed_start(properties)
            starts[properties["version_id"]] = claimed
            if claimed != properties["t_valid"]:
                capped[properties["t_valid"]] = claimed
    for _, properties in versions:
        if "episode_id" in properties:
            # An episode's content may have moved on to another version, when what it taught did not.
            began: int = properties["t_valid"]
            starts[properties["version_id"]] = starts.get(properties["episode_id"], capped.get(began, began))
    for label, properties in versions:
        if label == "MemoryRule":
            quoted = [starts[mistake] for mistake in properties["rests_on"] if mistake in starts]
            starts[properties["version_id"]] = min(quoted, default=properties["t_valid"])
    return starts, capped


def _claimed_start(episode: Properties) -> int:
    started_at = orjson.loads(episode["body"]).get("started_at")
    concluded_at: int = episode["concluded_at"]
    return milliseconds(datetime.fromisoformat(started_at)) if started_at else concluded_at
