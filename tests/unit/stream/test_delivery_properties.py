"""Whatever fails, and however often: every entry is acknowledged in order, after its output or its dead letter."""

import asyncio
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.stream.deliveries import LETTERS, POISON, Surroundings, events, quick
from twiceshy.errors import FencedError, PoisonError, TransientError

PASSING = (TransientError("away"), FencedError("fenced"))
FOR_EVER = 100


@dataclass(frozen=True)
class Fate:
    """What becomes of an entry: the errors of its handler, and whether its value is a tombstone or poison."""

    value: bytes | None
    errors: tuple[Exception, ...] = ()
    dead: bool = False


def fated(number: int, kind: str) -> Fate:
    value = b"%d" % number
    match kind:
        case "tombstone":
            return Fate(None)
        case "poison":
            return Fate(POISON, dead=True)
        case "refused":
            return Fate(value, (PoisonError("refused", "No."),) * FOR_EVER, dead=True)
        case "bug":
            return Fate(value, (ZeroDivisionError(),) * FOR_EVER, dead=True)
        case "passing bug":
            return Fate(value, (ZeroDivisionError(),) * 2)
        case "away":
            return Fate(value, PASSING)
        case _:
            return Fate(value)


KINDS = st.sampled_from(("well", "well", "tombstone", "poison", "refused", "bug", "passing bug", "away"))


@given(st.lists(KINDS, max_size=12).map(lambda kinds: [fated(*pair) for pair in enumerate(kinds)]), st.booleans())
def test_every_entry_is_acknowledged_in_order_after_its_output_or_its_dead_letter(
    fates: list[Fate], sender_is_away: bool
) -> None:
    around = Surroundings(
        faults={("handle", fate.value): list(fate.errors) for fate in fates if fate.value and fate.errors}
    )
    if sender_is_away:
        around.faults |= {("send", fate.value): list(PASSING) for fate in fates if fate.value}
    with quick():
        asyncio.run(around.deliver(events(*(fate.value for fate in fates))))
    assert around.acknowledged == list(range(len(fates)))
    told = [(sent.topic, sent.value) for sent in around.of("sent") if sent.topic != "outcomes"]
    assert told == [(LETTERS if fate.dead else "out", fate.value) for fate in fates if fate.value is not None]
    assert around.of("finished") == [fate.value for fate in fates]
    assert settled_before_acknowledged(around)


def settled_before_acknowledged(around: Surroundings) -> bool:
    """Whether at every moment no more was acknowledged than was finished, and no more finished than was sent."""
    sent = finished = acknowledged = 0
    for kind, values in around.happened:
        if kind == "sent":
            sent += sum(output.topic != "outcomes" for output in values)
        elif kind == "finished":
            finished += len(values)
            tombstones = around.of("finished")[:finished].count(None)
            if finished - tombstones > sent:
                return False
        elif kind == "acknowledged":
            acknowledged += 1
            if acknowledged > finished:
                return False
    return True
