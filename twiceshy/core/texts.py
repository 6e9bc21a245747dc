"""What of an incident is embedded, and what of it is searched by its words."""

from twiceshy.events.chain import StandingRule
from twiceshy.events.incident import IncidentConcluded

EMBEDDED_CHARS_MAX = 2_000
"""A vector is a mean of meanings: what explains the incident comes first, and the rest would dilute it."""


def embedding_text(incident: IncidentConcluded) -> str:
    """Title, what happened, why, and the fix, as far as they are told; then details until the text is full."""
    parts = [incident.title, incident.summary, incident.fault_signature]
    if incident.cause is not None:
        parts.append(incident.cause.statement)
    parts += [incident.resolution, incident.details]
    return "\n".join(part for part in parts if part)[:EMBEDDED_CHARS_MAX]


def lexical_text(incident: IncidentConcluded) -> str:
    """Everything that someone may remember a word of, but the title, which counts by itself."""
    parts = [incident.summary, incident.fault_signature, incident.resolution, incident.details]
    if incident.cause is not None:
        parts += [incident.cause.category.value, incident.cause.statement]
    if incident.evidence is not None:
        parts += [incident.evidence.stack_trace, incident.evidence.failing_test]
    parts += [mention.ref for mention in incident.entities]
    parts += [mistake.statement for mistake in incident.mistakes]
    parts += incident.steps
    parts += [f"{reference.repo} {reference.path}" for reference in incident.code_refs]
    parts += incident.labels.values()
    return "\n".join(part for part in parts if part)


def rule_title(rule: StandingRule) -> str:
    return rule.category.value.replace("-", " ")
