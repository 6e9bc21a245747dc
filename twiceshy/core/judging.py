"""What guard makes of an incident's text: what in it has to be decided on by a person, and what of it may be kept."""

from dataclasses import dataclass

from twiceshy.core.redact import Redactor
from twiceshy.core.scan import Finding, scanned
from twiceshy.events.incident import IncidentConcluded


@dataclass(frozen=True, slots=True)
class Judged:
    """An incident as it may be kept, with what was found in it as it came.

    ``risky`` are the kinds of risky action that its text advises, ``masked`` how many values of which kind were masked.
    """

    incident: IncidentConcluded
    findings: tuple[Finding, ...]
    risky: tuple[str, ...]
    masked: dict[str, int]

    def trust(self, origin_trust: float) -> float:
        """How far it is trusted, of an origin that is trusted so far: advice that is risky counts for half."""
        return origin_trust / 2 if self.risky else origin_trust


def judged(incident: IncidentConcluded, redactor: Redactor) -> Judged:
    """Scans the text as it was received, and redacts it after: what redaction masks may be part of an attack.

    Invisible characters that mean nothing are taken out of what can be admitted. A reviewer sees those of what is held,
    but for those that split a value which is masked.

    Raises:
        SecretInKeyError: a name that has to stay as it is holds a secret.
    """
    found, readable = scanned(incident)
    redacted = redactor.incident(readable)
    return Judged(redacted.incident, found.findings, found.risky, redacted.masked)
