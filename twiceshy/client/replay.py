"""Sending again what was published, as backfill: nothing is lost over a kill, and a repeat changes nothing."""

import asyncio
import time
from collections import Counter
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Protocol

from twiceshy.client.outcomes import OutcomeFollower
from twiceshy.client.replay_ledger import Fault, Ledger
from twiceshy.client.replay_reading import Reading, reading
from twiceshy.client.replay_state import Asked, State, StateFile, Tally
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.settings import Settings
from twiceshy.stream.outputs import Outputs
from twiceshy.stream.records import Output, Record, size
from twiceshy.stream.replaying import REPLAYABLE, Picked, Selected, Selection, Why
from twiceshy.stream.signing import Signer

CHUNK_EVENTS = 100
CHUNK_RECORDS = 1_000
CHUNK_BYTES = 1024 * 1024
CHUNKS_A_SECOND = 4
UNDER_WAY_MAX = 1_000
EXAMPLES_MAX = 5


class Beginning(Enum):
    """How a run begins. REPLACED: from the start, for the topic is not the one that an earlier run was about."""

    FRESH = "fresh"
    RESUMED = "resumed"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Began:
    """What is known before anything is sent. ``records`` is how many the topic has, ``left`` offsets are to be read."""

    how: Beginning
    source: str
    records: int
    left: int
    tally: Tally


class Observer(Protocol):
    """Who is told how far it is."""

    def began(self, began: Began) -> None: ...

    def advanced(self, left: int) -> None: ...


@dataclass(slots=True)
class Preview:
    """What a replay would send. Times are when the records were published, or admitted; milliseconds."""

    records: int = 0
    tenants: Counter[str] = field(default_factory=Counter)
    origins: Counter[str] = field(default_factory=Counter)
    first_at: int | None = None
    last_at: int | None = None
    fingerprints: list[str] = field(default_factory=list)
    passed_over: Counter[Why] = field(default_factory=Counter)

    def add(self, picked: Picked) -> None:
        if isinstance(picked, Why):
            self.passed_over[picked] += 1
        elif picked is not None:
            self.records += 1
            self.tenants[picked.tenant or "(none is named)"] += 1
            self.origins[picked.origin or "(none is named)"] += 1
            self.first_at = picked.at_ms if self.first_at is None else min(self.first_at, picked.at_ms)
            self.last_at = picked.at_ms if self.last_at is None else max(self.last_at, picked.at_ms)
            named = picked.fingerprint
            if named is not None and named not in self.fingerprints and len(self.fingerprints) < EXAMPLES_MAX:
                self.fingerprints.append(named)


@dataclass(frozen=True, slots=True)
class Report:
    """``tally`` is of the whole replay, over all its runs. ``unheard`` were sent, and no outcome came in time."""

    topic: str
    source: str
    finished: bool
    tally: Tally
    unheard: int
    faults: tuple[Fault, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Pace:
    """How to send. ``rate`` is events a second; None is as fast as the broker takes them."""

    rate: float | None = None
    follow: bool = False
    patience_seconds: float = 120.0

    @property
    def chunk_events(self) -> int:
        return CHUNK_EVENTS if self.rate is None else max(1, min(CHUNK_EVENTS, int(self.rate / CHUNKS_A_SECOND)))


class Replay:
    """One replay of one topic. ``journal`` is where the log's files are, for a broker that may have forgotten it."""

    def __init__(
        self, settings: Settings, topic: str, selection: Selection, *, state: Path, journal: Path | None = None
    ) -> None:
        if topic not in REPLAYABLE:
            raise ValueError(f"{topic} cannot be replayed")
        begin, until = selection.span.begin, selection.span.until
        self._asked = Asked(
            kafka=settings.kafka,
            topic=topic,
            begin=begin.text if begin else None,
            until=until.text if until else None,
            tenant=selection.tenant,
            as_new_events=selection.as_new_events,
        )
        # What is sent is the broker's from then on; the journal is for what the workers send.
        self._settings = settings.model_copy(update={"journal": None})
        self._selection = replace(selection, signs=settings.credential is not None)
        self._journal = journal
        self._file = StateFile(state)

    def restart(self) -> None:
        """Forgets how far an earlier run came."""
        self._file.remove()

    async def preview(self, observer: Observer, *, restart: bool = False) -> Preview:
        """Reads what `run` would, sends nothing, and leaves the state as it is. Raises as `run` does."""
        kept, seen = None if restart else self._file.load(self._asked), Preview()
        async with self._reading(kept) as opened:
            state = await self._begin(opened, kept, observer)
            left = state.left
            for number, position in sorted(state.partitions.items()):
                async for record, picked in opened.picked(number, position.next, position.end):
                    seen.add(picked)
                    observer.advanced(left - (record.offset + 1 - position.next))
                left -= position.end - position.next
                observer.advanced(left)
        return seen

    async def run(self, pace: Pace, observer: Observer) -> Report:
        """Sends all that an earlier run has not finished with.

        The state is written after the broker acknowledged, so that a kill at any point makes some events be sent
        again and none be left out. When all is done, its file is gone.

        Raises:
            NotReadyError: a topic is missing, or the state cannot be read or written.
            TransientError: the broker is away, or lost what it had. The same call goes on where this one stopped.
        """
        started = time.monotonic()
        kept = self._file.load(self._asked)
        async with self._reading(kept) as opened, AsyncExitStack() as exits:
            state = await self._begin(opened, kept, observer)
            self._file.save(state)
            follower = await exits.enter_async_context(OutcomeFollower(self._settings)) if pace.follow else None
            outputs = Outputs(self._settings, "twiceshy-replay")
            await outputs.start()
            exits.push_async_callback(outputs.stop)
            run = _Run(state, pace, self._file, outputs, follower, observer, Signer(self._settings))
            finished = await run.send_all(opened)
        if finished:
            self._file.remove()
        return Report(
            topic=self._asked.topic,
            source=state.source,
            finished=finished,
            tally=state.tally,
            unheard=len(run.ledger.unheard),
            faults=tuple(run.ledger.faults),
            seconds=round(time.monotonic() - started, 3),
        )

    def _reading(self, kept: State | None) -> AbstractAsyncContextManager[Reading]:
        source = kept.source if kept is not None and kept.begun else None
        return reading(self._settings, self._asked, self._selection, self._journal, source)

    async def _begin(self, opened: Reading, kept: State | None, observer: Observer) -> State:
        how = Beginning.FRESH
        if kept is not None and kept.begun:
            how = Beginning.RESUMED if await opened.goes_on(kept) else Beginning.REPLACED
        state = kept if kept is not None and how is Beginning.RESUMED else await opened.fresh()
        observer.began(Began(how, opened.source.name, opened.records, state.left, state.tally.model_copy(deep=True)))
        return state


class _Run:
    """From a state to its end."""

    def __init__(
        self,
        state: State,
        pace: Pace,
        file: StateFile,
        outputs: Outputs,
        follower: OutcomeFollower | None,
        observer: Observer,
        signer: Signer,
    ) -> None:
        self.ledger = Ledger(state, following=follower is not None)
        self._state = state
        self._pace = pace
        self._file = file
        self._outputs = outputs
        self._follower = follower
        self._observer = observer
        self._signer = signer
        self._free_at = 0.0

    async def send_all(self, opened: Reading) -> bool:
        """False: of what was sent, nothing was heard for too long, and the rest was left."""
        for number, position in sorted(self._state.partitions.items()):
            chunk = _Chunk()
            async for record, picked in opened.picked(number, position.next, position.end):
                chunk.add(record, picked)
                if chunk.events < self._pace.chunk_events and not chunk.large:
                    continue
                await self._send(chunk)
                chunk = _Chunk()
                if not await self._heard(unfinished_max=UNDER_WAY_MAX):
                    return False
            await self._send(chunk)
            self.ledger.end(number)
            self._move()
        return await self._heard(unfinished_max=0)

    async def _send(self, chunk: "_Chunk") -> None:
        if self._pace.rate is not None and chunk.events:
            now = time.monotonic()
            await asyncio.sleep(max(0.0, self._free_at - now))
            self._free_at = max(self._free_at, now) + chunk.events / self._pace.rate
        await self._outputs.send([self._output(picked) for _, picked in chunk.read if isinstance(picked, Selected)])
        for record, picked in chunk.read:
            self.ledger.add(record, picked)
        self._move()

    def _output(self, picked: Selected) -> Output:
        output = picked.output
        if not picked.vouched:
            return output
        return replace(output, headers=self._signer.signed(output.headers, output.value or b""))

    async def _heard(self, *, unfinished_max: int) -> bool:
        """Takes the outcomes that came, and waits until few enough records are unfinished; False when none of ours
        comes any more."""
        if self._follower is None:
            return True
        self._settle(await self._follower.next(0.0))
        until = time.monotonic() + self._pace.patience_seconds
        while len(self.ledger) > unfinished_max:
            if self._settle(await self._follower.next(max(0.0, until - time.monotonic()))):
                until = time.monotonic() + self._pace.patience_seconds
            elif time.monotonic() >= until:
                return False
        return True

    def _settle(self, outcomes: list[IncidentOutcome]) -> bool:
        """Whether one of them was about an event of this replay."""
        ours = [outcome for outcome in outcomes if self.ledger.settle(outcome)]
        if ours:
            self._move()
        return bool(ours)

    def _move(self) -> None:
        if self.ledger.move():
            self._file.save(self._state)
            self._observer.advanced(self._state.left)


class _Chunk:
    """Records that are sent together, with those between them that are not sent."""

    def __init__(self) -> None:
        self.read: list[tuple[Record, Picked]] = []
        self.events = 0
        self._bytes = 0

    def add(self, record: Record, picked: Picked) -> None:
        self.read.append((record, picked))
        if isinstance(picked, Selected):
            self.events += 1
            self._bytes += size(picked.output)

    @property
    def large(self) -> bool:
        return self._bytes >= CHUNK_BYTES or len(self.read) >= CHUNK_RECORDS
