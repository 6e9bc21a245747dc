"""Every event of the public contract, by its versioned type. The schemas are generated from this list."""

from twiceshy.events.chain import EntryConsolidated, EntryLogged, EntryRecorded, EntryReflected, RuleChanged
from twiceshy.events.commands import (
    AliasRequested,
    CompactionRequested,
    FeedbackGiven,
    MistakeResolutionRequested,
    ModeChangeRequested,
    OriginInvalidationRequested,
    SupersedeRequested,
    SwitchRequested,
    UnaliasRequested,
    UnblockRequested,
)
from twiceshy.events.common import Event
from twiceshy.events.incident import IncidentConcluded
from twiceshy.events.outcome import IncidentOutcome
from twiceshy.events.quarantine import AuditRecorded, IncidentQuarantined, QuarantineDecided
from twiceshy.events.recall import (
    AliasesReplied,
    AliasesRequested,
    EntitiesReplied,
    EntitiesRequested,
    HistoryReplied,
    HistoryRequested,
    ItemsReplied,
    ItemsRequested,
    RecallReplied,
    RecallRequested,
    ValueReplied,
    ValueRequested,
)

EVENT_TYPES: dict[str, type[Event]] = {
    "incident.concluded.v1": IncidentConcluded,
    "entry.logged.v1": EntryLogged,
    "incident.quarantined.v1": IncidentQuarantined,
    "quarantine.decided.v1": QuarantineDecided,
    "entry.recorded.v1": EntryRecorded,
    "entry.reflected.v1": EntryReflected,
    "entry.consolidated.v1": EntryConsolidated,
    "rule.changed.v1": RuleChanged,
    "incident.outcome.v1": IncidentOutcome,
    "audit.recorded.v1": AuditRecorded,
    "recall.requested.v1": RecallRequested,
    "recall.replied.v1": RecallReplied,
    "history.requested.v1": HistoryRequested,
    "history.replied.v1": HistoryReplied,
    "value.requested.v1": ValueRequested,
    "value.replied.v1": ValueReplied,
    "entities.requested.v1": EntitiesRequested,
    "entities.replied.v1": EntitiesReplied,
    "items.requested.v1": ItemsRequested,
    "items.replied.v1": ItemsReplied,
    "aliases.requested.v1": AliasesRequested,
    "aliases.replied.v1": AliasesReplied,
    "alias.requested.v1": AliasRequested,
    "unalias.requested.v1": UnaliasRequested,
    "supersede.requested.v1": SupersedeRequested,
    "origin-invalidation.requested.v1": OriginInvalidationRequested,
    "unblock.requested.v1": UnblockRequested,
    "compaction.requested.v1": CompactionRequested,
    "mistake-resolution.requested.v1": MistakeResolutionRequested,
    "mode-change.requested.v1": ModeChangeRequested,
    "switch.requested.v1": SwitchRequested,
    "feedback.given.v1": FeedbackGiven,
}

TYPE_OF: dict[type[Event], str] = {model: name for name, model in EVENT_TYPES.items()}
