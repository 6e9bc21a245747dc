"""Dead letters: the original record, with why it could not be processed in its headers."""

from twiceshy.errors import PoisonError
from twiceshy.stream.records import RECORD_BYTES_MAX, Output, Record, size
from twiceshy.stream.topics import TOPICS


def dead_letter(record: Record, worker: str, error: PoisonError, attempts: int) -> Output:
    """The original record with why it could not be processed; its value is withheld where both are too large.

    A redrive reads the original where it stands, so that nothing is lost with the value.
    """
    why = {
        "dlq_topic": record.topic,
        "dlq_partition": str(record.partition),
        "dlq_offset": str(record.offset),
        "dlq_reason": error.code,
        "dlq_detail": error.detail,
        "dlq_attempts": str(attempts),
        "dlq_worker": worker,
    }
    told = tuple((name, text.encode("utf-8", "replace")) for name, text in why.items())
    topic = TOPICS.dead_letters.named(topic=record.topic).name
    letter = Output(topic, record.key or b"", record.value, (*record.headers.items(), *told), partition=0)
    if size(letter) <= RECORD_BYTES_MAX:
        return letter
    return Output(topic, b"", b"", (*told, ("dlq_withheld", b"too_large")), partition=0)
