"""memory.commands.v1 → guard → memory.log.v1

Admits what operators ask of the memory into the log, in the tenant's one order with its incidents.

While no credential is configured, whoever may write to the topic may give any command to any tenant: its access list
decides. With credentials, each command is signed by one that is good for it. `who` is noted, not proved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from twiceshy.core.commands import OPERATOR_TRUST
from twiceshy.core.ids import event_id
from twiceshy.core.scan import scan_text, strings
from twiceshy.core.temporal import effective_revision_time
from twiceshy.errors import PoisonError
from twiceshy.events.catalogue import TYPE_OF
from twiceshy.events.chain import Admission, Alias, Compaction, EntryLogged, LoggedCommand, OriginInvalidation
from twiceshy.events.commands import Command, ModeChangeRequested
from twiceshy.events.quarantine import AuditRecorded
from twiceshy.settings import Settings
from twiceshy.stores.decisions import Decisions
from twiceshy.stores.notes import Progress
from twiceshy.stream.codec import Attributes, decode, event_model
from twiceshy.stream.records import Output, Record
from twiceshy.stream.topics import TOPICS
from workers.entrance import ADMITTED, Entrance, append, audit_output, canonical_hash, stamped, wall_clock_ms
from workers.redactors import refuse_secret_names

_LOGGED: TypeAdapter[LoggedCommand] = TypeAdapter(Annotated[LoggedCommand, Field(discriminator="kind")])


@dataclass(frozen=True, slots=True)
class Given:
    """A valid command, as the log has it: without a secret in its reason."""

    event_id: str
    attributes: Attributes
    command: LoggedCommand
    credential: str | None = None
    """The one that signed it."""


class GuardCommandsStage:
    name = "guard-commands"

    def __init__(
        self,
        settings: Settings,
        decisions: Decisions,
        progress: Progress,
        *,
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self._settings = settings
        self._entrance = Entrance(TOPICS.memory_commands, settings, decisions, progress, clock_ms)

    def decode(self, record: Record) -> Given:
        """The command in a record, checked against all that guard refuses."""
        record, about = self._entrance.opened(record)
        speaker = self._entrance.speaker(record, about)
        model = event_model(about)
        if model is ModeChangeRequested:
            raise PoisonError("unsupported", "The mode cannot be changed yet: leave this out, memory is active.")
        requested = decode(record, model)
        if not isinstance(requested, Command):
            raise TypeError(f"{about.type} is declared for {TOPICS.memory_commands.name} and is no command")
        command = logged_command(requested)
        times = {name: value for name, value in requested if isinstance(value, datetime)}
        self._entrance.check(requested.tenant, times)
        speaker.may_command(command.tenant, command.kind)
        refuse_secret_names(_names(command))
        _refuse_tricks(command)
        identity = event_id(requested.tenant, about.source, about.id, record.value or b"", signed=speaker.signed)
        redactors = self._entrance.redactors
        masked = command.model_copy(update={"why": redactors.text(command.tenant, command.why)})
        return Given(identity, redactors.attributes(command.tenant, about), masked, speaker.name)

    async def has_room(self, batch: Sequence[Given]) -> bool:
        return True

    async def handle(self, batch: Sequence[Given]) -> list[list[Output]]:
        decided = await self._entrance.decide([(given.command.tenant, given.event_id, ADMITTED) for given in batch])
        outputs = []
        for given, decision in zip(batch, decided, strict=True):
            entry = entry_of(given, decision.admitted_at, self._settings)
            outputs.append([append(entry), *_audited(given, decision.admitted_at)])
        return outputs

    def give_up(self, record: Record, error: PoisonError) -> list[Output]:
        return self._entrance.refused(record, error)

    async def finished(self, batch: Sequence[Given], records: Sequence[Record]) -> None:
        await self._entrance.note(records)

    def describe(self, entry: Given) -> dict[str, Any]:
        command = entry.command
        return {
            "event_id": entry.event_id,
            "tenant": command.tenant,
            "kind": command.kind,
            "who": command.who,
            "credential": entry.credential,
        }


def logged_command(requested: Command) -> LoggedCommand:
    """What was requested, as the log has it: under its kind, which its event's type begins with."""
    kind = TYPE_OF[type(requested)].removesuffix(".requested.v1")
    return _LOGGED.validate_python({**dict(requested), "kind": kind})


def _names(command: LoggedCommand) -> dict[str, str]:
    """The names in a command, its giver's among them, by their fields."""
    return {view.where: view.text for view in strings(command) if view.where != "why"}


def _refuse_tricks(command: LoggedCommand) -> None:
    """Refuses an alias that tells a reader what to do: both its names come to stand in prompts, which no person looks
    through beforehand. One that stands already can be taken back.

    Raises:
        PoisonError: so it does.
    """
    if isinstance(command, Alias) and (found := scan_text(f"{command.canonical}\n{command.alias}").findings):
        raise PoisonError(
            "prompt_injection",
            f"canonical and alias would come to stand in prompts, and what they say looks like an attack on whoever "
            f"reads it ({', '.join(finding.rule for finding in found)}): use other names.",
        )


def entry_of(given: Given, admitted_at: int, settings: Settings) -> EntryLogged:
    """The entry of a command that is admitted. What an operator says is trusted as far as can be."""
    command, about = given.command, given.attributes
    return EntryLogged(
        event_id=given.event_id,
        tenant=command.tenant,
        kind=command.kind,
        ce_source=about.source,
        ce_id=about.id,
        revised_at=effective_revision_time(about.time_ms, admitted_at),
        admitted_at=admitted_at,
        settings=stamped(settings, OPERATOR_TRUST),
        admission=Admission(how="clean", signed_by=given.credential),
        content_hash=canonical_hash(command),
        command=command,
    )


def _audited(given: Given, at: int) -> list[Output]:
    """What takes something away for good is told to whoever watches over security: who did it, and not why."""
    command = given.command
    if isinstance(command, OriginInvalidation):
        kind, told = "origin_purge", {"origin": command.origin, "block": "yes" if command.block else "no"}
    elif isinstance(command, Compaction):
        kind, told = "compaction", {"before": command.before.isoformat()}
    else:
        return []
    told["who"] = command.who
    if given.credential:
        told["credential"] = given.credential
    audit = AuditRecorded(
        kind=kind, tenant=command.tenant, subject_id=given.event_id, worker="guard", at=at, detail=told
    )
    return [audit_output(audit, given.event_id)]
