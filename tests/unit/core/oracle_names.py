"""Which names are one, by a union of sets: every thing there can be, and what each alias makes of it."""

from functools import lru_cache
from typing import TypeAlias

Part: TypeAlias = tuple[str, str]
"""A type, or none, and a reference."""

KINDS = ("", "service", "host")
"""All the types that histories speak of."""


def parts(name: str) -> Part:
    kind, colon, ref = name.partition(":")
    return (kind, ref.casefold().strip()) if colon and kind in KINDS else ("", name.casefold().strip())


class Sets:
    """The aliases (alias, canonical) of one moment, in the order in which they were made."""

    def __init__(self, aliases: tuple[tuple[str, str], ...]) -> None:
        self._aliases = aliases
        self._decided = {parts(alias): canonical for alias, canonical in aliases}
        self._called: dict[str, str] = {}
        self._sets: list[set[Part]] = []
        for ref in {ref for pair in aliases for _, ref in map(parts, pair)}:
            for kind in KINDS:
                self._unite((kind, ref), self._comes_to((kind, ref)))

    def has_alias(self, name: str) -> bool:
        return parts(name) in self._decided

    def called(self, name: str) -> str:
        """The one name of all that are one with this."""
        if name not in self._called:
            part = parts(name)
            united = next((together for together in self._sets if part in together), {part})
            [root] = [one for one in united if self._comes_to(one) == one]
            self._called[name] = self._spelling(root) or name
        return self._called[name]

    def _comes_to(self, part: Part) -> Part:
        """One step, by the alias for this thing alone, or by that for things of every type."""
        canonical = self._decided.get(part) or self._decided.get(("", part[1]))
        if canonical is None:
            return part
        kind, ref = parts(canonical)
        return (kind or part[0], ref)

    def _unite(self, one: Part, other: Part) -> None:
        touching = [together for together in self._sets if one in together or other in together]
        self._sets = [together for together in self._sets if together not in touching]
        self._sets.append({one, other}.union(*touching))

    def _spelling(self, part: Part) -> str | None:
        """As the oldest alias spells it: that of the thing itself, else the name that a thing of any type can have."""
        for kind in (part[0], ""):
            for _, canonical in self._aliases:
                if parts(canonical) == (kind, part[1]):
                    return canonical if kind or not part[0] else f"{part[0]}:{canonical}"
        return None


@lru_cache(maxsize=4_096)
def sets_of(aliases: tuple[tuple[str, str], ...]) -> Sets:
    return Sets(aliases)
