"""Asking the memory over Kafka: a request, and its reply by correlation id."""

import asyncio
import contextlib
import secrets
import struct
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self, overload

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from pydantic import ValidationError

from twiceshy.errors import TransientError
from twiceshy.events.recall import (
    REPLY_OF,
    AliasesReplied,
    AliasesRequested,
    EntitiesReplied,
    EntitiesRequested,
    HistoryReplied,
    HistoryRequested,
    ItemsReplied,
    ItemsRequested,
    Question,
    RecallReplied,
    RecallRequested,
    Reply,
    ValueReplied,
    ValueRequested,
)
from twiceshy.settings import Settings
from twiceshy.stream.codec import encode, event_headers
from twiceshy.stream.outputs import client_security
from twiceshy.stream.records import Headers
from twiceshy.stream.topics import TOPICS
from twiceshy.stream.trace import told_trace

SOURCE = "twiceshy/client"
START_SECONDS_MAX = 10.0
GRACE_SECONDS = 1.0
"""How much longer than the deadline a reply is waited for: what takes it from there to here and back."""

log = structlog.get_logger()


class RecallTimeoutError(TransientError, TimeoutError):
    """No reply came in time."""


class RecallClient:
    """Asks the memory, any number of questions at a time. An async context: inside, it is connected."""

    def __init__(self, settings: Settings | None = None, *, client_id: str = "twiceshy-recall-client") -> None:
        self._settings = settings or Settings()
        self._client_id = client_id
        self._producer = AIOKafkaProducer(
            bootstrap_servers=self._settings.kafka,
            client_id=client_id,
            acks=1,
            enable_idempotence=False,
            **client_security(self._settings.kafka_security),
        )
        self._mailboxes: dict[str, _Mailbox] = {}
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Raises TransientError when the broker does not answer."""
        try:
            await self._producer.start()
        except (KafkaError, OSError) as error:
            await self._producer.stop()
            raise TransientError(f"The Kafka broker at {self._settings.kafka} does not answer: {error}") from error
        return self

    async def __aexit__(self, *_: object) -> None:
        for mailbox in self._mailboxes.values():
            await mailbox.close()
        await self._producer.stop()

    @property
    def dropped(self) -> int:
        """Replies that nobody waited for: late, double, or somebody else's."""
        return sum(mailbox.dropped for mailbox in self._mailboxes.values())

    async def recall(
        self,
        *,
        tenant: str,
        query: str = "",
        entities: Sequence[str] = (),
        deadline_ms: int = 500,
        traceparent: str | None = None,
        **options: Any,
    ) -> RecallReplied:
        """What memory has that is like ``query`` or about ``entities``. ``options`` are those of `RecallRequested`."""
        asked = {"tenant": tenant, "query": query, "entities": entities, "deadline_ms": deadline_ms, **options}
        return await self.ask(RecallRequested.model_validate(asked), traceparent=traceparent)

    async def history(self, tenant: str, subject: str, predicate: str, **options: Any) -> HistoryReplied:
        """Every version of what was believed of (subject, predicate), oldest to newest, under each of its names."""
        asked = {"tenant": tenant, "subject": subject, "predicate": predicate, **options}
        return await self.ask(HistoryRequested.model_validate(asked))

    async def at(
        self,
        tenant: str,
        subject: str,
        predicate: str,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        **options: Any,
    ) -> ValueReplied:
        """What held for (subject, predicate) at ``as_of``, as memory knew at ``known_at``; both are now by default."""
        asked = {"tenant": tenant, "subject": subject, "predicate": predicate, "as_of": as_of, "known_at": known_at}
        return await self.ask(ValueRequested.model_validate({**asked, **options}))

    async def entities_of(
        self,
        tenant: str,
        origin: str,
        fingerprint: str,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        **options: Any,
    ) -> EntitiesReplied:
        """What an incident mentions, and what it was resolved by."""
        asked = {"tenant": tenant, "origin": origin, "fingerprint": fingerprint, "as_of": as_of, "known_at": known_at}
        return await self.ask(EntitiesRequested.model_validate({**asked, **options}))

    async def fetch(self, tenant: str, ids: Sequence[str], **options: Any) -> ItemsReplied:
        """Items of any kind by their ids, up to 100, also such as memory no longer believes."""
        return await self.ask(ItemsRequested.model_validate({"tenant": tenant, "ids": ids, **options}))

    async def aliases(self, tenant: str, known_at: datetime | str | None = None, **options: Any) -> AliasesReplied:
        """Which names are other names of what."""
        return await self.ask(AliasesRequested.model_validate({"tenant": tenant, "known_at": known_at, **options}))

    @overload
    async def ask(self, request: RecallRequested, *, traceparent: str | None = None) -> RecallReplied: ...
    @overload
    async def ask(self, request: HistoryRequested, *, traceparent: str | None = None) -> HistoryReplied: ...
    @overload
    async def ask(self, request: ValueRequested, *, traceparent: str | None = None) -> ValueReplied: ...
    @overload
    async def ask(self, request: EntitiesRequested, *, traceparent: str | None = None) -> EntitiesReplied: ...
    @overload
    async def ask(self, request: ItemsRequested, *, traceparent: str | None = None) -> ItemsReplied: ...
    @overload
    async def ask(self, request: AliasesRequested, *, traceparent: str | None = None) -> AliasesReplied: ...

    async def ask(self, request: RecallRequested | Question, *, traceparent: str | None = None) -> Reply:
        """The reply to a request. One that says ``invalid`` or ``expired`` is a reply as well.

        ``traceparent`` is the W3C trace context of the caller, which the reply carries; a malformed one is left out.

        Raises:
            RecallTimeoutError: no reply came within the deadline and a second more.
            TransientError: the broker is away, or has no topic for this tenant's replies.
        """
        mailbox = await self._mailbox(request.tenant)
        correlation_id = uuid.uuid4().bytes
        # Registered before sending: the reply may be here before the send has returned.
        reply = mailbox.expect(correlation_id, REPLY_OF[type(request)])
        seconds = request.deadline_ms / 1_000 + GRACE_SECONDS
        try:
            async with asyncio.timeout(seconds):
                await self._send(request, mailbox, correlation_id, told_trace(traceparent))
                return await reply
        except TimeoutError:
            raise RecallTimeoutError(
                f"No reply came within {seconds:g} s. See whether the worker recall runs, reads "
                f"{TOPICS.recall_requests.name} and may write to {mailbox.topic}: `twiceshy doctor` looks at these."
            ) from None
        finally:
            mailbox.forget(correlation_id)

    async def _send(
        self, request: RecallRequested | Question, mailbox: "_Mailbox", correlation_id: bytes, trace: Headers
    ) -> None:
        headers = event_headers(type(request), event_id=str(uuid.UUID(bytes=correlation_id)), source=SOURCE)
        headers += (
            ("kafka_replyTopic", mailbox.topic.encode()),
            ("kafka_replyPartition", struct.pack(">i", mailbox.partition)),
            ("kafka_correlationId", correlation_id),
            *trace,
        )
        try:
            sending = await self._producer.send(TOPICS.recall_requests.name, encode(request), headers=list(headers))
        except KafkaError as error:
            raise TransientError(f"The request could not be sent: {error!r}") from error
        sending.add_done_callback(lambda sent: mailbox.sent(correlation_id, sent))

    async def _mailbox(self, tenant: str) -> "_Mailbox":
        async with self._opening:
            if tenant not in self._mailboxes:
                mailbox = _Mailbox(self._settings, tenant, self._client_id)
                await mailbox.open()
                self._mailboxes[tenant] = mailbox
            return self._mailboxes[tenant]


class _Mailbox:
    """One partition of a tenant's reply topic, read from its end on."""

    def __init__(self, settings: Settings, tenant: str, client_id: str) -> None:
        self.topic = TOPICS.recall_replies.named(tenant=tenant).name
        self.partition = 0
        self.dropped = 0
        self._tenant = tenant
        self._expected: dict[bytes, tuple[type[Reply], asyncio.Future[Reply]]] = {}
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=settings.kafka,
            client_id=client_id,
            enable_auto_commit=False,
            auto_offset_reset="latest",
            fetch_max_wait_ms=settings.fetch_wait_ms,
            **client_security(settings.kafka_security),
        )
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Raises TransientError when the broker is away, or the topic does not exist."""
        try:
            async with asyncio.timeout(START_SECONDS_MAX):
                await self._consumer.start()
                await self._take_partition()
        except (KafkaError, OSError, TransientError) as error:
            await self._consumer.stop()
            if isinstance(error, TransientError):
                raise
            raise TransientError(f"The replies of {self.topic} cannot be read: {error!r}") from error
        self._reading = asyncio.create_task(self._read())

    async def _take_partition(self) -> None:
        if self.topic not in await self._consumer.topics():
            raise TransientError(
                f"There is no topic {self.topic}. Is {self._tenant!r} one of the `tenants` in twiceshy.toml? "
                "`twiceshy topics create` makes what is missing."
            )
        # Any will do, as long as many clients do not share one.
        self.partition = secrets.randbelow(TOPICS.recall_replies.partitions)
        assigned = TopicPartition(self.topic, self.partition)
        self._consumer.assign([assigned])
        await self._consumer.seek_to_end(assigned)
        await self._consumer.position(assigned)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reading
        await self._consumer.stop()

    def expect(self, correlation_id: bytes, model: type[Reply]) -> "asyncio.Future[Reply]":
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._expected[correlation_id] = model, reply
        return reply

    def forget(self, correlation_id: bytes) -> None:
        self._expected.pop(correlation_id, None)

    def sent(self, correlation_id: bytes, sending: "asyncio.Future[Any]") -> None:
        """Ends the wait for a reply whose request did not reach the broker."""
        error = None if sending.cancelled() else sending.exception()
        _, reply = self._expected.get(correlation_id, (None, None))
        if error is not None and reply is not None and not reply.done():
            reply.set_exception(TransientError(f"The request could not be sent: {error!r}"))

    async def _read(self) -> None:
        while True:
            try:
                record = await self._consumer.getone()
            except KafkaError as error:
                log.warning("replies_not_read", topic=self.topic, error=repr(error))
                await asyncio.sleep(GRACE_SECONDS)
                continue
            correlation_id = dict(record.headers).get("kafka_correlationId", b"")
            model, reply = self._expected.pop(correlation_id, (None, None))
            if model is None or reply is None or reply.done():
                self.dropped += 1
                continue
            try:
                reply.set_result(model.model_validate_json(record.value or b""))
            except ValidationError as error:
                reply.set_exception(TransientError(f"The reply is of another version than this client: {error}"))
