"""What every client that publishes is made of: a connection, and a credential to sign with."""

from typing import Self
from uuid import uuid4

from twiceshy.core.ids import event_id
from twiceshy.events.commands import Command
from twiceshy.events.quarantine import QuarantineDecided
from twiceshy.settings import Settings
from twiceshy.stream.codec import encode, event_headers
from twiceshy.stream.outputs import Outputs, tenant_partition
from twiceshy.stream.records import Output
from twiceshy.stream.signing import Signer
from twiceshy.stream.topics import Topic
from twiceshy.stream.trace import told_trace


class Connected:
    """An async context: inside, it is connected.

    Raises:
        NotReadyError: when it is made, the credential's secret is not where the settings say.
    """

    def __init__(self, settings: Settings | None, client_id: str, **producing: int) -> None:
        # What is sent is the broker's from then on; the journal is for what the workers send.
        configured = (settings or Settings()).model_copy(update={"journal": None})
        self._outputs = Outputs(configured, client_id, **producing)
        self._signer = Signer(configured)

    async def __aenter__(self) -> Self:
        """Raises TransientError when the broker does not answer."""
        await self._outputs.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._outputs.stop()


class Giving(Connected):
    """Gives what operators and reviewers ask for, one at a time."""

    def __init__(self, settings: Settings | None, client_id: str, *, topic: Topic, source: str) -> None:
        super().__init__(settings, client_id, linger_ms=0)
        self._topic = topic
        self._source = source

    async def _given(self, asked: Command | QuarantineDecided, ce_id: str | None, traceparent: str | None) -> str:
        """The event id of what was given, once the broker has it; it is another one each time without a ``ce_id``."""
        body, ce_id = encode(asked), ce_id or str(uuid4())
        headers = self._signer.signed(event_headers(type(asked), event_id=ce_id, source=self._source), body)
        headers += told_trace(traceparent)
        partition = tenant_partition(asked.tenant, self._topic)
        await self._outputs.send([Output(self._topic.name, asked.tenant.encode(), body, headers, partition)])
        return event_id(asked.tenant, self._source, ce_id, body, signed=self._signer.signs)
