"""Publishing incidents that are over, so that the memory learns them."""

from collections.abc import Sequence
from datetime import UTC, datetime

from twiceshy.client.connected import Connected
from twiceshy.core.ids import derive, event_id
from twiceshy.core.memory import key_of
from twiceshy.errors import PoisonError
from twiceshy.events.common import EVENT_BYTES_MAX
from twiceshy.events.incident import IncidentConcluded
from twiceshy.settings import Settings
from twiceshy.stream.codec import encode, event_headers
from twiceshy.stream.outputs import tenant_partition
from twiceshy.stream.records import Headers, Output
from twiceshy.stream.signing import Signer
from twiceshy.stream.topics import TOPICS
from twiceshy.stream.trace import told_trace

SOURCE = "twiceshy/publisher"


class IncidentPublisher(Connected):
    """Publishes incidents. An async context: inside, it is connected.

    The id of a publication derives from what is published, so that publishing the same file twice is publishing
    it once. Where the settings name a ``credential``, what is published is signed with it; signed, a publication is
    another one than unsigned.

    Raises:
        NotReadyError: when it is made, the credential's secret is not where the settings say.
    """

    def __init__(self, settings: Settings | None = None, *, client_id: str = "twiceshy-publisher") -> None:
        super().__init__(settings, client_id)

    async def publish(
        self,
        incident: IncidentConcluded,
        *,
        changed_at: datetime | None = None,
        backfill: bool = False,
        traceparent: str | None = None,
    ) -> str:
        """Publishes one incident and returns its event id, once the broker has it on all replicas.

        ``changed_at`` is when the incident was last changed where it comes from: of two revisions the later one
        counts, whichever arrives first. Without it, the order of arrival decides. ``backfill`` is for old
        incidents, which then never delay one of today. ``traceparent`` is the W3C trace context of the caller, which
        all that follows from the incident carries; a malformed one is left out.

        Raises:
            PoisonError: the incident is longer than an event may be.
            TransientError: the broker did not acknowledge it in time. Publish it again.
        """
        [published] = await self.publish_many(
            [incident], changed_at=changed_at, backfill=backfill, traceparent=traceparent
        )
        return published

    async def publish_many(
        self,
        incidents: Sequence[IncidentConcluded],
        *,
        changed_at: datetime | None = None,
        backfill: bool = False,
        traceparent: str | None = None,
    ) -> list[str]:
        """Publishes incidents in order, and returns their event ids once the broker has them all; else as `publish`."""
        trace = told_trace(traceparent)
        publications = [
            publication(incident, self._signer, changed_at=changed_at, backfill=backfill, trace=trace)
            for incident in incidents
        ]
        await self._outputs.send([output for _, output in publications])
        return [published for published, _ in publications]


def publication(
    incident: IncidentConcluded, signer: Signer, *, changed_at: datetime | None, backfill: bool, trace: Headers = ()
) -> tuple[str, Output]:
    """The event id of an incident's publication, and the record that it is.

    Raises:
        PoisonError: it is longer than an event may be.
    """
    topic = TOPICS.incidents_backfill if backfill else TOPICS.incidents_concluded
    body = encode(incident)
    if len(body) > EVENT_BYTES_MAX:
        raise PoisonError(
            "too_large",
            f"{incident.fingerprint} has {len(body)} bytes, of {EVENT_BYTES_MAX} at most: shorten its details",
        )
    ce_id = publication_id(incident, body, changed_at)
    time = changed_at.isoformat() if changed_at else None
    headers = event_headers(IncidentConcluded, event_id=ce_id, source=SOURCE, time=time)
    headers = signer.signed(headers, body) + trace
    key = f"{incident.tenant}/{key_of(incident)}".encode()
    output = Output(topic.name, key, body, headers, tenant_partition(incident.tenant, topic))
    return event_id(incident.tenant, SOURCE, ce_id, body, signed=signer.signs), output


def publication_id(incident: IncidentConcluded, body: bytes, changed_at: datetime | None) -> str:
    """The ``ce_id`` of a publication: of whom, of what, and as of when. ``changed_at`` must have an offset."""
    when = "" if changed_at is None else changed_at.astimezone(UTC).isoformat()
    return derive("publication", incident.tenant, incident.origin.name, incident.fingerprint, body.decode(), when)
