"""How a decision is given, bound to what stands in quarantine, and followed until what it lets in can be recalled."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from twiceshy.cli.output import fail
from twiceshy.cli.quarantine_reading import one, opened
from twiceshy.cli.reports import REMEMBERED
from twiceshy.client import OutcomeFollower
from twiceshy.client.quarantine import QuarantineDecisions
from twiceshy.core.quarantine import BEFORE, DECIDED_ITEMS_MAX, Candidate, digest, mark, taken
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import QuarantineDecided, QuarantineGroup
from twiceshy.settings import Settings
from twiceshy.stores.quarantine import Quarantine

NOT_ALL = ("items_decided_before", "items_unknown", "items_left")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is decided, about a group or about items that are named beside it."""

    tenant: str
    decision: Literal["approve", "deny", "reopen"]
    who: str
    why: str
    group: QuarantineGroup | None
    seen: str | None = None
    """The mark of what was shown of the group."""

    def decided(self, items: Sequence[str] = (), **bound: Any) -> QuarantineDecided:
        """Raises ValidationError: a field is not what the decision's schema says."""
        return QuarantineDecided(
            tenant=self.tenant,
            items=tuple(items),
            group=self.group,
            decision=self.decision,
            who=self.who,
            why=self.why,
            **bound,
        )


@dataclass(slots=True)
class Done:
    """What came of it: in numbers, the items that it changed, the refusal that ended it, and what became of each event
    that was let in."""

    decision: str
    counts: Counter[str] = field(default_factory=Counter)
    items: list[str] = field(default_factory=list)
    refusal: IncidentOutcome | None = None
    outcomes: dict[str, IncidentOutcome] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether all that was named is as it was decided, and in memory if that was the decision."""
        let_in = all(outcome.outcome in (*REMEMBERED, "stale") for outcome in self.outcomes.values())
        return self.refusal is None and not any(self.counts[name] for name in NOT_ALL) and let_in

    def as_data(self) -> dict[str, Any]:
        return {
            "decision": self.decision,
            "counts": dict(self.counts),
            "items": self.items,
            "refusal": self.refusal and self.refusal.model_dump(mode="json"),
            "outcomes": {event_id: outcome.model_dump(mode="json") for event_id, outcome in self.outcomes.items()},
        }


async def carried_out(settings: Settings, wanted: Wanted, named: Sequence[str], patience_seconds: float) -> Done:
    """Decides on all that is wanted, in as many decisions as that takes."""
    done = Done(wanted.decision)
    async with (
        opened(settings, wanted.tenant) as (quarantine, _),
        OutcomeFollower(settings) as follower,
        QuarantineDecisions(settings) as decisions,
    ):
        items = list(dict.fromkeys([await one(quarantine, wanted.tenant, name) for name in named]))
        deciding = Deciding(wanted, quarantine, follower, decisions, patience_seconds)
        if wanted.group is not None:
            await deciding.all_of((), done)
        for start in range(0, len(items), DECIDED_ITEMS_MAX):
            if done.refusal is None:
                await deciding.all_of(items[start : start + DECIDED_ITEMS_MAX], done)
    return done


class Deciding:
    """Gives decisions until all that is wanted is decided on, and follows each to its end."""

    def __init__(
        self,
        wanted: Wanted,
        quarantine: Quarantine,
        follower: OutcomeFollower,
        decisions: QuarantineDecisions,
        patience_seconds: float,
    ) -> None:
        self._wanted = wanted
        self._quarantine = quarantine
        self._follower = follower
        self._decisions = decisions
        self._patience_seconds = patience_seconds

    async def all_of(self, items: Sequence[str], done: Done) -> None:
        """Decides on items, or on the group as it stands, until nothing is left of it or guard refuses.

        What comes to the group after that, held or reopened, was not there to be looked at.
        """
        found = await self._quarantine.candidates(self._wanted.decided(items))
        self._check_seen(found)
        until = max((candidate.held_at for candidate in found), default=0)
        while True:
            outcome = await self._decide(items, found, until, done)
            if outcome.outcome != "applied":
                done.refusal = outcome
                return
            left = outcome.counts.get("items_left", 0)
            done.counts.update({name: count for name, count in outcome.counts.items() if name != "items_left"})
            if not left:
                return
            found = await self._left(items, found)
            if not found:
                done.counts["items_left"] = left
                return
            items = [candidate.item_id for candidate in found] if items else ()

    def _check_seen(self, found: Sequence[Candidate]) -> None:
        if self._wanted.seen not in (None, mark(found)):
            states = " or ".join(BEFORE[self._wanted.decision])
            fail(
                f"What is {states} of the group now, {len(found)} in number, is not what was shown. Nothing was "
                "decided: look again, with `twiceshy quarantine list --group`."
            )

    async def _left(self, items: Sequence[str], found: Sequence[Candidate]) -> list[Candidate]:
        """What is left to decide on of what was ``found``."""
        ids = {candidate.item_id for candidate in found}
        now = await self._quarantine.candidates(self._wanted.decided(items))
        return [one for one in now if one.item_id in ids and one.state in BEFORE[self._wanted.decision]]

    async def _decide(
        self, items: Sequence[str], found: Sequence[Candidate], until: int, done: Done
    ) -> IncidentOutcome:
        """Gives one decision, bound to what was ``found``, and follows it to its end."""
        seen = found if self._wanted.group is None else taken(found)
        bound: dict[str, Any] = {"content_hash": digest(seen)} if seen else {}
        if len({candidate.rules_version for candidate in seen}) == 1:
            bound["rules_version"] = seen[0].rules_version
        if self._wanted.group is not None:
            bound["seen_until"] = until
        decision_id = await self._decisions.give(self._wanted.decided(items, **bound))
        try:
            return await self._followed(decision_id, [candidate.event_id for candidate in found], done)
        except TimeoutError as error:
            fail(f"The decision was given, and may still be carried out. {error}")

    async def _followed(self, decision_id: str, event_ids: Sequence[str], done: Done) -> IncidentOutcome:
        """The decision's outcome, once each event that it lets in has one too."""
        told: dict[str, IncidentOutcome] = {}
        let_in: set[str] | None = None
        async for outcome in self._follower.follow({decision_id, *event_ids}, self._patience_seconds):
            told[outcome.event_id] = outcome
            if outcome.event_id == decision_id:
                let_in = await self._let_in(outcome, done)
            if let_in is not None and let_in <= told.keys():
                break
        done.outcomes |= {event_id: told[event_id] for event_id in let_in or ()}
        return told[decision_id]

    async def _let_in(self, outcome: IncidentOutcome, done: Done) -> set[str]:
        """The events that a decision lets in. Notes the items that it changed."""
        if outcome.outcome != "applied":
            return set()
        changed = await self._quarantine.of_decision(self._wanted.tenant, outcome.event_id)
        done.items += [item.item_id for item in changed]
        return {item.event_id for item in changed} if self._wanted.decision == "approve" else set()
