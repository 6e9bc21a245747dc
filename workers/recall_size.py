"""recall.requests.v1 → recall, cut to size → recall.replies.<tenant>

A reply has room for so much: what the caller has tokens for, and what the broker takes.
"""

from typing import Any

from twiceshy.events.common import Event
from twiceshy.events.items import Episode
from twiceshy.events.recall import AliasesReplied, HistoryReplied, ItemsReplied, RecallReplied, Reply, ValueReplied
from twiceshy.stream.codec import encode

REPLY_BYTES_MAX = 900_000
BYTES_PER_TOKEN = 4

NO_ROOM = "Not all of it has room in a reply."

PARTS = ("results", "lessons", "playbooks", "rules", "mistakes", "facts", "denied")
"""In the order in which they get room."""


def fitted(reply: RecallReplied, max_tokens: int | None) -> RecallReplied:
    """``reply`` with as many of its items as have room, from the first of each part on, or as it is.

    ``max_tokens`` counts what the items take as JSON, at 4 bytes a token. An episode that is the first result and
    too long for all the room is shortened instead of left out.
    """
    if max_tokens is None and len(encode(reply)) <= REPLY_BYTES_MAX:
        return reply
    bare = reply.model_copy(update=dict.fromkeys(PARTS, ()))
    room = REPLY_BYTES_MAX - len(encode(bare)) - sum(len(part) + 8 for part in PARTS)
    if max_tokens is not None:
        room = min(room, max_tokens * BYTES_PER_TOKEN)
    kept: dict[str, Any] = {}
    for part in PARTS:
        items: tuple[Event, ...] = getattr(reply, part)
        taken: list[Event] = []
        for item in items:
            fits = _shortened(item, room) if isinstance(item, Episode) and not taken else item
            if _size(fits) > room:
                break
            taken.append(fits)
            room -= _size(fits)
        kept[part] = tuple(taken)
    truncated = any(kept[part] != getattr(reply, part) for part in PARTS)
    return bare.model_copy(update={**kept, "truncated": truncated})


PART_OF: dict[type[Reply], str] = {
    HistoryReplied: "versions",
    ValueReplied: "facts",
    ItemsReplied: "items",
    AliasesReplied: "aliases",
}
"""What a reply to another question has many of."""


def bounded(reply: Reply) -> Reply:
    """``reply`` as it is, or with as much of what it has many of as has room, and a word that it lacks some.

    Of a history the newest versions stay, of all else what comes first.
    """
    part = PART_OF.get(type(reply))
    if part is None or len(encode(reply)) <= REPLY_BYTES_MAX:
        return reply
    newest_last = isinstance(reply, HistoryReplied)
    items: tuple[Event, ...] = getattr(reply, part)
    told = {"truncated": True} if "truncated" in type(reply).model_fields else {"partial": True, "detail": NO_ROOM}
    room = REPLY_BYTES_MAX - len(encode(reply.model_copy(update={part: (), **told})))
    kept: list[Event] = []
    for item in reversed(items) if newest_last else items:
        room -= _size(item)
        if room < 0:
            break
        kept.append(item)
    return reply.model_copy(update={part: tuple(reversed(kept) if newest_last else kept), **told})


def _size(item: Event) -> int:
    return len(encode(item)) + 1


def _shortened(episode: Episode, room: int) -> Episode:
    """``episode`` if it has room, else as much of its texts as has, and nothing that only points elsewhere."""
    if _size(episode) <= room:
        return episode
    texts = {name: getattr(episode, name) for name in ("resolution", "cause", "summary")}
    bare = episode.model_copy(update={**dict.fromkeys(texts), "entities": (), "code_refs": (), "links": ()})
    # A byte of text may take six in JSON (a control character does), but two are far more than text does; and a
    # field takes its name besides.
    each = max(0, room - _size(bare) - 64) // (2 * len(texts))
    cut = {name: _cut(text, each) for name, text in texts.items() if text and each}
    return bare.model_copy(update=cut)


def _cut(text: str, bytes_max: int) -> str:
    encoded = text.encode()
    return text if len(encoded) <= bytes_max else encoded[:bytes_max].decode(errors="ignore") + "…"
