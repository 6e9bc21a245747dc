"""The errors of Twiceshy. The class of an error decides what happens to the offset.

    TwiceshyError
    ├── TransientError         something is away: retry in place, acknowledge nothing
    ├── PoisonError            this event can never work: dead-letter it, acknowledge, go on
    ├── FencedError            another writer was here: read again, then retry
    └── NotReadyError          a part is not as it must be: exit before the first event, with the sentence

Anything else that a handler raises is a bug: the worker exits without acknowledging.
"""


class TwiceshyError(Exception):
    """The root of every error that Twiceshy raises on purpose."""


class TransientError(TwiceshyError):
    """A store, a broker or an embedder is away or busy. The same call may work later."""


class PoisonError(TwiceshyError):
    """An event that can never be processed, however often it is tried.

    ``code`` is a stable slug for machines (the dead letter's ``dlq_reason``);
    ``detail`` is a sentence that tells its producer what to change.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class FencedError(TwiceshyError):
    """The watermark in the store is not the one that was read: another writer moved it."""


class NotReadyError(TwiceshyError):
    """A topic, an index, a dimension or a server setting is not as it must be.

    The message is a sentence that says what is wrong and what to do about it.
    """
