"""A memory without a broker: the stores as processes of their own, and incidents folded in as the chain folds them."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from twiceshy.core.ids import event_id
from twiceshy.events.chain import Admission, EntryLogged, LoggedCommand, LogPosition, StampedSettings
from twiceshy.events.common import milliseconds
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.recall import Question, RecallReplied, RecallRequested
from twiceshy.local.data_folder import DataFolder
from twiceshy.local.falkordb import falkordb_child
from twiceshy.local.processes import Child, free_ports
from twiceshy.local.stack import EMBEDDER_MODEL
from twiceshy.settings import Settings
from twiceshy.stores.graph import FIRST_GENERATION, Graphs
from twiceshy.stream.codec import encode
from workers.connections import Stores, open_stores
from workers.entrance import wall_clock_ms
from workers.fold import Stages
from workers.graph import Logged
from workers.guard import content_hash
from workers.recall import Recall

_COMMAND: TypeAdapter[LoggedCommand] = TypeAdapter(Annotated[LoggedCommand, Field(discriminator="kind")])

BATCH = 100
SOURCE = "tests"

_LISTENING = re.compile(r"^listening on ", re.MULTILINE)


@dataclass
class Memory:
    """The stores by name (falkordb, vectors, embedder), the chain from the log on, and recall."""

    settings: Settings
    stores: Stores
    stages: Stages
    recall: Recall
    parts: dict[str, Child]
    log: list[Logged] = field(default_factory=list)
    """All that was ever folded in, in order."""
    _offset: int = field(default=0)

    @property
    def graphs(self) -> Graphs:
        return Graphs(self.stores.redis)

    async def remember(self, *incidents: IncidentConcluded, at: datetime | None = None) -> list[IncidentOutcome]:
        """Folds incidents in, in order, admitted at ``at`` (now, when not told); what each came to."""
        admitted_at = wall_clock_ms() if at is None else milliseconds(at)
        logged = [self._logged(incident, admitted_at) for incident in incidents]
        outcomes = []
        for start in range(0, len(logged), BATCH):
            outcomes += await self.stages.fold(logged[start : start + BATCH])
        return outcomes

    async def command(
        self, kind: str, *, tenant: str = "default", given_at: datetime | None = None, **fields: Any
    ) -> IncidentOutcome:
        """Folds an operator's command in, given at a moment (now, when not told); what came of it."""
        self._offset += 1
        told = {"kind": kind, "tenant": tenant, "who": "tester", "why": "for a test", **fields}
        command: LoggedCommand = _COMMAND.validate_python(told)
        admitted_at = wall_clock_ms() if given_at is None else milliseconds(given_at)
        entry = EntryLogged(
            event_id=event_id(tenant, SOURCE, str(self._offset), encode(command)),
            tenant=tenant,
            kind=kind,
            ce_source=SOURCE,
            ce_id=str(self._offset),
            revised_at=admitted_at,
            admitted_at=admitted_at,
            settings=StampedSettings(origin_trust=self.settings.trust_default),
            admission=Admission(how="clean"),
            content_hash="",
            command=command,
        )
        [outcome] = await self.stages.fold([self._placed(entry)])
        return outcome

    def _placed(self, entry: EntryLogged) -> Logged:
        logged = Logged(entry, LogPosition(partition=0, offset=self._offset, key=str(self._offset)))
        self.log.append(logged)
        return logged

    def _logged(self, incident: IncidentConcluded, admitted_at: int) -> Logged:
        self._offset += 1
        trust = self.settings.trust(incident.origin.name)
        entry = EntryLogged(
            event_id=event_id(incident.tenant, SOURCE, str(self._offset), encode(incident)),
            tenant=incident.tenant,
            kind="incident",
            ce_source=SOURCE,
            ce_id=str(self._offset),
            revised_at=admitted_at,
            admitted_at=admitted_at,
            settings=StampedSettings(
                origin_trust=trust,
                many_valued=self.settings.many_valued,
                rule_incidents_min=self.settings.rule_incidents_min,
            ),
            admission=Admission(how="clean"),
            content_hash=content_hash(incident),
            incident=incident,
        )
        return self._placed(entry)

    async def put(self, question: Question) -> Any:
        """The reply to a question that is no recall."""
        return await self.recall.answer(question, queued_ms=0.0)

    async def ask(self, query: str = "", *, tenant: str = "default", **fields: Any) -> RecallReplied:
        """Recall's reply. It has two seconds where no deadline is given, for the machine may be busy."""
        asked = RecallRequested.model_validate({"tenant": tenant, "query": query, "deadline_ms": 2_000, **fields})
        return await self.recall.answer(asked, queued_ms=0.0)

    async def redis(self, *command: str) -> Any:
        """What FalkorDB answers to a command of Redis or of its own."""
        execute: Callable[..., Awaitable[Any]] = self.stores.redis.execute_command
        return await execute(*command)

    async def kill(self, name: str) -> None:
        """``kill -9``."""
        self._signal(name, signal.SIGKILL)
        await self.parts[name].stop()

    def freeze(self, name: str) -> None:
        """Stops a part where it stands: it takes connections and answers nothing, until `thaw`."""
        self._signal(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self._signal(name, signal.SIGCONT)

    def _signal(self, name: str, number: signal.Signals) -> None:
        pid = self.parts[name].pid
        assert pid is not None
        os.killpg(pid, number)

    async def restart(self, name: str) -> None:
        """Starts a part that was killed, where it was."""
        await self.parts[name].start()


@contextlib.asynccontextmanager
async def memory(**settings: Any) -> AsyncIterator[Memory]:
    """An empty memory, whose stores end with the context."""
    path = Path(tempfile.mkdtemp(prefix="twiceshy-memory-"))
    falkordb, vectors, embedder = free_ports(3)
    configured = Settings(
        falkordb=f"redis://127.0.0.1:{falkordb}",
        qdrant=f"http://127.0.0.1:{vectors}",
        embeddings=f"http://127.0.0.1:{embedder}/v1",
        embeddings_model=EMBEDDER_MODEL,
        **settings,
    )
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(shutil.rmtree, path, ignore_errors=True)
        folder = await stack.enter_async_context(DataFolder(path))
        children = [
            falkordb_child(folder, falkordb),
            _module(folder, "vectors", "twiceshy.local.edge", "--data", path / "vectors", "--port", vectors),
            _module(folder, "embedder", "twiceshy.local.embedder", "--port", embedder),
        ]
        for child in children:
            stack.push_async_exit(child)
        await asyncio.gather(*(child.start() for child in children))
        stores = await stack.enter_async_context(open_stores(configured))
        yield Memory(
            settings=configured,
            stores=stores,
            stages=Stages.of_generation(
                stores.redis, stores.vectors, stores.embeddings, FIRST_GENERATION, configured.embedder_patience
            ),
            recall=Recall(configured, Graphs(stores.redis), stores.vectors, stores.embeddings),
            parts={child.name: child for child in children},
        )


def _module(folder: DataFolder, name: str, module: str, *arguments: object) -> Child:
    argv = [sys.executable, "-m", module, *map(str, arguments)]
    return Child(name, argv, folder=folder, ready=_LISTENING, start_seconds_max=60.0)


def read_incidents(path: Path) -> Sequence[IncidentConcluded]:
    """The incidents of a file of JSON lines."""
    return [IncidentConcluded.model_validate_json(line) for line in path.read_bytes().splitlines() if line.strip()]
