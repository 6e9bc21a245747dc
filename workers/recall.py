"""recall.requests.v1 → recall → recall.replies.<tenant>

Answers questions to the memory, side by side. A request is acknowledged when it comes: nobody waits for an answer
that is older than its deadline.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import structlog

from twiceshy.errors import PoisonError, TransientError
from twiceshy.events.quarantine import AuditRecorded
from twiceshy.events.recall import REPLY_OF, Question, RecallReplied, RecallRequested, Reply
from twiceshy.stream.chain import tenant_output
from twiceshy.stream.codec import attributes, binary, claimed, claims, decode, encode, event_headers, event_model
from twiceshy.stream.delivery import to_record
from twiceshy.stream.outputs import Outputs
from twiceshy.stream.records import Output, Record
from twiceshy.stream.topics import TOPICS
from twiceshy.stream.trace import traced
from workers.entrance import wall_clock_ms
from workers.recall_answer import Recall
from workers.recall_replies import NoReplyToError, RefusedReplyTopicError, ReplyTo, ReplyTopics

__all__ = ["Recall", "RecallServer"]

NAME = "recall"
ANSWERS_MAX = 32
UNDER_WAY_MAX = 256

log = structlog.get_logger().bind(worker=NAME)


class RecallServer:
    """Takes requests from a stream of Faust events. At most 32 are answered at a time, the others wait."""

    def __init__(
        self,
        recall: Recall,
        outputs: Outputs,
        finish: Callable[[Any], None],
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self._recall = recall
        self._outputs = outputs
        self._finish = finish
        self._clock_ms = clock_ms
        self._topics = ReplyTopics(recall.settings.tenants, outputs)
        self._answers = asyncio.Semaphore(ANSWERS_MAX)
        self._stopping = asyncio.Event()
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self, events: AsyncIterator[Any]) -> None:
        """Serves until `stop` is called or the stream ends, and returns when what was taken is answered."""
        stopping = asyncio.ensure_future(self._stopping.wait())
        coming: asyncio.Future[Any] = asyncio.ensure_future(anext(events, None))
        try:
            while True:
                await asyncio.wait({coming, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if self._stopping.is_set() or (event := coming.result()) is None:
                    break
                coming = asyncio.ensure_future(anext(events, None))
                self._take(event)
                if len(self._under_way) >= UNDER_WAY_MAX:
                    await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
            if self._under_way:
                await asyncio.wait(self._under_way)
        finally:
            for waiting in (coming, stopping, *self._under_way):
                waiting.cancel()

    def stop(self) -> None:
        """Lets the answers under way finish and takes no further request."""
        self._stopping.set()

    def _take(self, event: Any) -> None:
        record = to_record(event)
        self._finish(event)
        task = asyncio.create_task(self._serve(record))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _serve(self, record: Record) -> None:
        """Answers one request. Whatever happens to it stays with it."""
        try:
            reply_to = await self._topics.reply_to(record)
            reply = await self._reply(record, reply_to)
            await self._outputs.send(traced(record, [_output(reply, reply_to)]))
        except RefusedReplyTopicError as refused:
            await self._refuse(record, refused)
        except NoReplyToError as error:
            log.warning("no_reply", **_place(record), reason=str(error))
        except TransientError as error:
            log.warning("reply_lost", **_place(record), reason=str(error))
        except Exception:
            log.exception("request_failed", **_place(record))

    async def _reply(self, record: Record, reply_to: ReplyTo) -> Reply:
        """The reply to a request, an error's too.

        Raises:
            RefusedReplyTopicError: the request is about another tenant than the reply topic's.
        """
        asked: type[RecallRequested | Question] = RecallRequested
        try:
            told = binary(record)
            asked = _asked(told)
            request = decode(told, asked)
        except PoisonError as error:
            if claims(claimed(record).value)[0] not in (None, reply_to.tenant):
                raise RefusedReplyTopicError("other_tenant", reply_to.topic, reply_to.tenant) from error
            return REPLY_OF[asked](status="invalid", detail=error.detail)
        if request.tenant != reply_to.tenant:
            raise RefusedReplyTopicError("other_tenant", reply_to.topic, reply_to.tenant)
        async with self._answers:
            return await self._answer(request, record)

    async def _answer(self, request: RecallRequested | Question, record: Record) -> Reply:
        queued_ms = float(max(0, self._clock_ms() - record.timestamp_ms))
        reply_of = REPLY_OF[type(request)]
        if queued_ms >= request.deadline_ms:
            log.info("expired", **_place(record), queued_ms=queued_ms, deadline_ms=request.deadline_ms)
            return reply_of(
                status="expired",
                detail=f"The request waited for {queued_ms:.0f} ms, which is longer than its deadline_ms.",
                took_ms=queued_ms,
            )
        try:
            reply: Reply = await self._recall.answer(request, queued_ms=queued_ms)
        except Exception:
            # Errors are replies too: whoever asked would wait for nothing.
            log.exception("answer_failed", **_place(record), tenant=request.tenant)
            return reply_of(status="unavailable", detail="The answer failed in the worker, whose log says why.")
        log.info("answered", **_place(record), tenant=request.tenant, **_fared(request, reply))
        return reply

    async def _refuse(self, record: Record, refused: RefusedReplyTopicError) -> None:
        log.warning("refused_reply_topic", **_place(record), reason=refused.reason)
        audit = AuditRecorded(
            kind="refused_reply_topic",
            tenant=refused.tenant,
            subject_id=None,
            worker=NAME,
            at=self._clock_ms(),
            detail={"topic": refused.topic, "reason": refused.reason},
        )
        tenant = refused.tenant or ""
        output = tenant_output(
            TOPICS.audit, audit, tenant=tenant, key=tenant.encode(), event_id=str(uuid.uuid4()), worker=NAME
        )
        try:
            await self._outputs.send(traced(record, [output]))
        except TransientError as error:
            log.warning("audit_lost", **_place(record), reason=str(error))


def _asked(record: Record) -> type[RecallRequested | Question]:
    """The model of the question that a record's headers announce.

    Raises:
        PoisonError: there is no such question.
    """
    about = attributes(record)
    model = event_model(about)
    if model not in REPLY_OF or not issubclass(model, RecallRequested | Question):
        raise PoisonError("unknown_type", f"{about.type!r} is no question: this topic takes those alone.")
    return model


def _fared(request: RecallRequested | Question, reply: Reply) -> dict[str, Any]:
    """What the log tells of an answer."""
    told = {"question": type(request).__name__, "status": reply.status, "took_ms": reply.took_ms}
    if isinstance(reply, RecallReplied):
        told |= {"results": len(reply.results), "novel": reply.novel, "partial": reply.partial}
        told["legs"] = {name: leg.status for name, leg in reply.legs.items()}
    return told


def _output(reply: Reply, reply_to: ReplyTo) -> Output:
    headers = event_headers(type(reply), event_id=str(uuid.uuid4()), source=f"twiceshy/{NAME}")
    headers += (("kafka_correlationId", reply_to.correlation_id),)
    return Output(
        topic=reply_to.topic,
        key=reply_to.correlation_id,
        value=encode(reply),
        headers=headers,
        partition=reply_to.partition,
    )


def _place(record: Record) -> dict[str, Any]:
    return {"partition": record.partition, "offset": record.offset}
