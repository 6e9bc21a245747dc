"""Names that are one: aliases as they were said, and what each name comes to at one moment.

    names = Names.at(aliases, known_at)
    names.resolved("service:Payments API")      'service:payments', when "Payments API" is an alias of "payments"
    names.group("payments-svc")                 every folded reference that is read together with it

Names compare folded: trimmed, NFKC, case-folded. An alias without a type holds for things of every type, which
they keep; one with a type (``service:payments``) for that thing alone, which it decides. Aliases never move
anything: what was said stays as it was said, so that undoing an alias restores what was.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from twiceshy.core.temporal import FOREVER
from twiceshy.core.things import ENTITY_KEY, ref_of

Name: TypeAlias = tuple[str, str]
"""How names compare: the type, empty without one, and the folded reference."""

NAMES_KEPT = 4_096
"""The folding of so many names is kept: one name is compared with every batch that says something of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """``alias`` is another name of ``canonical``, as memory believed it in ``[t_created, t_expired)``."""

    alias: str
    canonical: str
    t_created: int
    t_expired: int = FOREVER


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an alias cannot be made or undone: a code, and a sentence that says what to change."""

    code: str
    detail: str


def folded(name: str) -> str:
    """How names compare.

    >>> folded("  Ｐayments API ")
    'payments api'
    """
    # Case-folding can undo the normal form, and so is done on both sides of it.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()


@lru_cache(maxsize=NAMES_KEPT)
def folded_ref(key: str) -> str:
    """How a thing is looked up by name, whatever its type: its reference, folded."""
    return folded(ref_of(key))


@lru_cache(maxsize=NAMES_KEPT)
def name_of(key: str) -> Name:
    """The type and the folded reference of a thing.

    >>> name_of("service:Payments"), name_of("Payments")
    (('service', 'payments'), ('', 'payments'))
    """
    return (key.partition(":")[0] if ENTITY_KEY.match(key) else "", folded_ref(key))


class Names:
    """The aliases of one moment, chains flattened."""

    def __init__(self, aliases: Iterable[Alias]) -> None:
        self._aliases: dict[Name, Alias] = {}
        self._spelled: dict[Name, str] = {}
        self._groups: dict[str, set[str]] = {}
        self._kinds: dict[str, set[str]] = {}
        for alias in sorted(aliases, key=lambda one: one.t_created):
            kind, ref = name_of(alias.alias)
            self._aliases[kind, ref] = alias
            self._kinds.setdefault(ref, set()).add(kind)
            self._spelled.setdefault(name_of(alias.canonical), alias.canonical)
            self._join(folded_ref(alias.alias), folded_ref(alias.canonical))

    @classmethod
    def at(cls, aliases: Iterable[Alias], known_at: int) -> "Names":
        """The names as known at ``known_at``."""
        return cls(alias for alias in aliases if alias.t_created <= known_at < alias.t_expired)

    def __bool__(self) -> bool:
        return bool(self._aliases)

    def resolved(self, key: str) -> str:
        """The name that ``key`` comes to: itself, when it is nobody's alias and has none."""
        if not self._aliases:
            return key
        name = self._root(name_of(key))
        if name in self._spelled:
            return self._spelled[name]
        canonical = self._spelled.get(("", name[1]))
        if canonical is None:
            return key
        lifted = f"{name[0]}:{canonical.strip()}"
        return lifted if ENTITY_KEY.match(lifted) else canonical

    def group(self, key: str) -> frozenset[str]:
        """The folded references of all names that are read together with ``key``, its own among them.

        A superset for names with a type: what is found by them is told apart by what it comes to.
        """
        return self.together(folded_ref(key))

    def together(self, ref: str) -> frozenset[str]:
        """The same for a folded reference, which has no type, whatever it looks like (``db:5432``)."""
        return frozenset(self._groups.get(ref, {ref}))

    def means(self, asked: str, key: str) -> bool:
        """Whether ``key`` names what ``asked`` names: one of the things of that name, when ``asked`` has no type."""
        known, (kind, ref) = self._root(name_of(key)), name_of(asked)
        kinds = {kind} if kind else {"", name_of(key)[0], known[0], *self._kinds.get(ref, ())}
        return any(self._root((each, ref)) == known for each in kinds)

    def refusal(self, alias: str, canonical: str) -> Refusal | None:
        """Why ``alias`` cannot be made an alias of ``canonical``, if so."""
        name, target = name_of(alias), name_of(canonical)
        if name == target:
            return Refusal("alias_of_itself", f"{alias!r} and {canonical!r} are the same name already.")
        known = self._aliases.get(name)
        if known is not None:
            if name_of(known.canonical) == target:
                return Refusal("alias_known", f"{alias!r} is an alias of {known.canonical!r} already.")
            return Refusal(
                "alias_taken",
                f"{alias!r} is an alias of {known.canonical!r}. Undo that first: a name has one meaning.",
            )
        if self._closes_a_circle(name, canonical):
            return Refusal(
                "alias_cycle",
                f"{canonical!r} comes to {alias!r} already, so that the two would be aliases of each other.",
            )
        return None

    def _join(self, one: str, other: str) -> None:
        mine, theirs = self._groups.setdefault(one, {one}), self._groups.setdefault(other, {other})
        if mine is not theirs:
            lesser, greater = sorted((mine, theirs), key=len)
            greater |= lesser
            self._groups |= dict.fromkeys(lesser, greater)

    def _root(self, name: Name) -> Name:
        """The end of a chain. It has one: an alias that would close a circle is refused."""
        while alias := self._aliases.get(name) or self._aliases.get(("", name[1])):
            following = _target(name, alias.canonical)
            if following == name:  # "payments" can be an alias of "service:payments", which stays what it is
                break
            name = following
        return name

    def _closes_a_circle(self, name: Name, canonical: str) -> bool:
        """Whether a thing would come back to itself, now or when an alias that decides otherwise is undone."""
        known = {*self._aliases, *self._spelled, name_of(canonical), ("", "")}
        starts = [(kind, name[1]) for kind in ({name[0]} if name[0] else {kind for kind, _ in known})]
        return any(start != (at := _target(start, canonical)) and start in self._reached(at) for start in starts)

    def _reached(self, name: Name) -> set[Name]:
        """All names that one can come to, whichever of its aliases decides."""
        found: set[Name] = set()
        ahead = [name]
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                aliases = (self._aliases.get(name), self._aliases.get(("", name[1])))
                ahead += [_target(name, alias.canonical) for alias in aliases if alias]
        return found


def _target(name: Name, canonical: str) -> Name:
    """What a name comes to by an alias of ``canonical``: a canonical name without a type leaves it its own."""
    kind, ref = name_of(canonical)
    return kind or name[0], ref


NO_NAMES = Names(())


def stated(aliases: Iterable[Alias], alias: str, canonical: str) -> Alias | Refusal:
    """The one of the live ``aliases`` that makes ``alias`` one of ``canonical``, or why there is none."""
    for one in aliases:
        if name_of(one.alias) == name_of(alias) and name_of(one.canonical) == name_of(canonical):
            return one
    return Refusal("no_such_alias", f"{alias!r} is no alias of {canonical!r}: `twiceshy aliases` lists them.")


def place(ref: str, predicate: str) -> str:
    """Where facts of a predicate are found by their subject's folded reference. The predicate is a slug."""
    return f"{predicate}|{ref}"
