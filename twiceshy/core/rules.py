"""Repeated mistakes become a rule: open mistakes of one category from enough different incidents."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from twiceshy.core.ids import version_id
from twiceshy.core.lessons import quoted
from twiceshy.core.temporal import FOREVER
from twiceshy.events.chain import Consolidated, StandingRule
from twiceshy.events.incident import MistakeCategory

QUOTES_MAX = 5
"""So many mistakes are quoted, the earliest known: further ones add support and change no text."""


@dataclass(frozen=True, slots=True)
class OpenMistake:
    """A mistake that memory holds against an incident in ``[t_created, t_expired)``."""

    version_id: str
    slot: str
    category: str
    incident: str
    statement: str
    t_created: int
    t_expired: int
    t_valid: int


@dataclass(slots=True)
class RuleVersion:
    """A rule as memory believed it in ``[t_created, t_expired)``."""

    version_id: str
    category: str
    rests_on: tuple[str, ...]
    t_created: int
    t_expired: int


@dataclass(frozen=True, slots=True)
class Window:
    """The entries after ``since``, up to and including ``until``, that are consolidated together."""

    since: int
    until: int
    enough: int
    """So many incidents decide, however many more there are: all may be quoted, and no entry asks for more."""

    @classmethod
    def of(cls, entries: Iterable[tuple[int, int]]) -> "Window":
        """Of entries, each by its transaction time and the incidents that it takes to make a rule."""
        times, incidents_min = zip(*entries, strict=True)
        return cls(min(times) - 1, max(times), max(QUOTES_MAX, *incidents_min))


def rule_slot(category: str) -> str:
    return f"rule|{category}"


def open_at(mistakes: Iterable[OpenMistake], known_at: int) -> list[OpenMistake]:
    """The mistakes open at ``known_at``, earliest known first."""
    return sorted((m for m in mistakes if m.t_created <= known_at < m.t_expired), key=lambda m: (m.t_created, m.slot))


def rule(
    tenant: str, category: MistakeCategory, mistakes: Sequence[OpenMistake], incidents_min: int, at: int
) -> StandingRule | None:
    """The rule that the open mistakes of ``category`` make at ``at``, or None when they are too few.

    `other` never makes one: its mistakes have nothing in common. One mistake of each incident is quoted.
    The incidents are those of ``mistakes``, which need not be all: see `counted`.
    """
    first_of: dict[str, OpenMistake] = {}
    for mistake in mistakes:
        first_of.setdefault(mistake.incident, mistake)
    if category is MistakeCategory.OTHER or len(first_of) < incidents_min:
        return None
    quotes = list(first_of.values())[:QUOTES_MAX]
    # A rule holds in the world from the earliest incident that it quotes on.
    t_valid = min(mistake.t_valid for mistake in quotes)
    return StandingRule(
        version_id=version_id(tenant, rule_slot(category), t_valid, at),
        category=category,
        statement=(f"Again and again ({category.value}): " + " ".join(quoted(m.statement) for m in quotes))[:16_384],
        incidents=len(first_of),
        rests_on=tuple(m.version_id for m in quotes),
        t_valid=t_valid,
    )


def consolidate(
    *,
    tenant: str,
    categories: Collection[str],
    mistakes: Sequence[OpenMistake],
    rules: list[RuleVersion],
    incidents_min: int,
    at: int,
) -> Consolidated:
    """What the entry of transaction time ``at`` does to the rules of the categories that it touched.

    Mistakes are seen as of ``at``, rules as of the moment before, whatever else is there: so an entry that
    comes again gives the same. Those that lead are enough: what is known later than as many incidents as can
    be asked for changes nothing but their number. Adds what it makes to ``rules``, for the entries after it.
    """
    made: list[StandingRule] = []
    withdrawn: list[str] = []
    ended: list[MistakeCategory] = []
    for category in sorted(MistakeCategory(name) for name in categories):
        of_category = [mistake for mistake in mistakes if mistake.category == category]
        after = rule(tenant, category, open_at(of_category, at), incidents_min, at)
        before = next((r for r in rules if r.category == category and r.t_created < at <= r.t_expired), None)
        if before is not None and after is not None and before.rests_on == after.rests_on:
            continue
        if before is not None:
            withdrawn.append(before.version_id)
            before.t_expired = at
        if after is not None:
            made.append(after)
            if all(version.version_id != after.version_id for version in rules):
                rules.append(RuleVersion(after.version_id, category, after.rests_on, at, FOREVER))
        elif before is not None:
            ended.append(category)
    return Consolidated(made=tuple(made), withdrawn=tuple(withdrawn), ended=tuple(ended))


def settled(rules: Iterable[RuleVersion], quotes_open: Mapping[str, int], window: Window) -> set[str]:
    """The categories whose rule stays what it is all through ``window``, if as many incidents as it takes stay open.

    ``quotes_open`` has, by rule version, how many of the mistakes that it quotes are open at the end. A rule that
    quotes as many as it may goes on quoting them until one is closed, for what is opened later is known later.
    """
    return {
        rule.category
        for rule in rules
        if rule.t_created <= window.since
        and rule.t_expired > window.until
        and quotes_open[rule.version_id] == QUOTES_MAX
    }


def counted(result: Consolidated, incidents: Mapping[str, int]) -> Consolidated:
    """``result``, where each rule made says how many incidents, by category, have an open mistake."""
    made = tuple(rule.model_copy(update={"incidents": incidents[rule.category]}) for rule in result.made)
    return result.model_copy(update={"made": made})
