"""Names that are one: aliases as they were said, and what each name comes to at one moment.

    names = Names.at(aliases, known_at)
    names.resolved("service:Payments API")      'service:payments', when "Payments API" is an alias of "payments"
    names.group("payments-svc")                 every folded name that is read together with it

Names compare folded: trimmed, NFKC, case-folded. An alias without a type holds for things of every type, which
they keep; one with a type (``service:payments``) for that thing alone. Aliases never move anything: what was said
stays as it was said, so that undoing an alias restores what was.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from twiceshy.core.temporal import FOREVER
from twiceshy.core.things import ENTITY_KEY, ref_of


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


def folded_ref(key: str) -> str:
    """How a thing is looked up by name, whatever its type: its reference, folded."""
    return folded(ref_of(key))


class Names:
    """The aliases of one moment, chains flattened."""

    def __init__(self, canonical_of: dict[str, str]) -> None:
        self._canonical_of = canonical_of
        self._spelled: dict[str, str] = {}
        for canonical in canonical_of.values():
            self._spelled.setdefault(folded(canonical), canonical)
        self._groups: dict[str, set[str]] = defaultdict(set)
        self._roots_of_ref: dict[str, set[str]] = defaultdict(set)
        for name in {*canonical_of, *self._spelled}:
            self._groups[self._root(name)].add(name)
            self._roots_of_ref[folded_ref(name)].add(self._root(name))

    @classmethod
    def at(cls, aliases: Iterable[Alias], known_at: int) -> "Names":
        """The names as known at ``known_at``."""
        live = [alias for alias in aliases if alias.t_created <= known_at < alias.t_expired]
        return cls({folded(a.alias): a.canonical for a in sorted(live, key=lambda alias: alias.t_created)})

    def __bool__(self) -> bool:
        return bool(self._canonical_of)

    def resolved(self, key: str) -> str:
        """The name that ``key`` comes to: itself, when it is nobody's alias and has none."""
        whole = folded(key)
        if self._known(whole):
            return self._spelling(whole)
        ref = folded_ref(key)
        if ref == whole or not self._known(ref):
            return key
        canonical = self._spelling(ref)
        return canonical if ENTITY_KEY.match(canonical) else f"{key.partition(':')[0]}:{canonical}"

    def group(self, key: str) -> frozenset[str]:
        """The folded references of all names that are read together with ``key``, its own among them.

        A superset for names with a type: what is found by them is told apart by what it comes to.
        """
        ref = folded_ref(key)
        members = {folded_ref(name) for root in self._roots_of_ref.get(ref, ()) for name in self._groups[root]}
        return frozenset(members | {ref})

    def refusal(self, alias: str, canonical: str) -> Refusal | None:
        """Why ``alias`` cannot be made an alias of ``canonical``, if so."""
        name, target = folded(alias), folded(canonical)
        if name == target:
            return Refusal("alias_of_itself", f"{alias!r} and {canonical!r} are the same name already.")
        if name in self._canonical_of:
            if folded(self._canonical_of[name]) == target:
                return Refusal("alias_known", f"{alias!r} is an alias of {self._canonical_of[name]!r} already.")
            return Refusal(
                "alias_taken",
                f"{alias!r} is an alias of {self._canonical_of[name]!r}. Undo that first: a name has one meaning.",
            )
        if self._known(target) and self._root(target) == name:
            return Refusal(
                "alias_cycle",
                f"{canonical!r} comes to {alias!r} already, so that the two would be aliases of each other.",
            )
        return None

    def _known(self, name: str) -> bool:
        return name in self._canonical_of or name in self._spelled

    def _root(self, name: str) -> str:
        """The end of a chain. It has one: an alias that would close a circle is refused."""
        while name in self._canonical_of:
            name = folded(self._canonical_of[name])
        return name

    def _spelling(self, name: str) -> str:
        return self._spelled[self._root(name)]


NO_NAMES = Names({})


def stated(aliases: Iterable[Alias], alias: str, canonical: str) -> Alias | Refusal:
    """The one of the live ``aliases`` that makes ``alias`` one of ``canonical``, or why there is none."""
    for one in aliases:
        if folded(one.alias) == folded(alias) and folded(one.canonical) == folded(canonical):
            return one
    return Refusal("no_such_alias", f"{alias!r} is no alias of {canonical!r}: `twiceshy aliases` lists them.")


def place(ref: str, predicate: str) -> str:
    """Where facts of a predicate are found by their subject's folded reference. The predicate is a slug."""
    return f"{predicate}|{ref}"
