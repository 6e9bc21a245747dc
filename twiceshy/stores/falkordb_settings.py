"""The settings of a FalkorDB server that the memory's durability and correctness rest on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from redis.asyncio import Redis
from redis.exceptions import ResponseError

RESULTSET_SIZE_MIN = 1_000_000
TIMEOUT_MS_MIN = 600_000


@dataclass(frozen=True)
class Setting:
    """``owner`` takes it: ``redis`` (CONFIG), or ``graph``, which is the module (GRAPH.CONFIG).

    The embedded stack starts with ``value``. ``accepts`` says whether a server's value will do, ``wanted`` says
    the same in words, and ``why`` gives the reason.
    """

    owner: Literal["redis", "graph"]
    name: str
    value: str
    accepts: Callable[[str], bool]
    wanted: str
    why: str


REQUIRED_SETTINGS = (
    Setting(
        "redis",
        "appendonly",
        "yes",
        lambda value: value == "yes",
        "yes",
        "without the append-only file a killed server loses the memory",
    ),
    Setting(
        "redis",
        "appendfsync",
        "everysec",
        lambda value: value in ("everysec", "always"),
        "always, or to everysec where the last second may be lost with the machine",
        "otherwise nothing bounds what a dead machine loses",
    ),
    Setting(
        "redis",
        "maxmemory-policy",
        "noeviction",
        lambda value: value == "noeviction",
        "noeviction",
        "a tenant's graph is one key, and eviction would drop all of it",
    ),
    Setting(
        "graph",
        "EFFECTS_THRESHOLD",
        "1000000000",
        lambda value: int(value) >= 1_000_000_000,
        "1000000000",
        "a slow write becomes a GRAPH.EFFECT record in the append-only file, and those have crashed loads",
    ),
    Setting(
        "graph",
        "TIMEOUT_MAX",
        "3600000",
        lambda value: int(value) >= TIMEOUT_MS_MIN,
        f"3600000 (milliseconds, at least {TIMEOUT_MS_MIN})",
        "a start drops, without a word, each write of its append-only file that takes longer, and with 0 the "
        "time-out that a write asks for is ignored",
    ),
    Setting(
        "graph",
        "TIMEOUT_DEFAULT",
        "3600000",
        lambda value: int(value) == 0 or int(value) >= TIMEOUT_MS_MIN,
        f"3600000 (milliseconds, 0 or at least {TIMEOUT_MS_MIN})",
        "a start drops, without a word, each write of its append-only file that takes longer",
    ),
    Setting(
        "graph",
        "RESULTSET_SIZE",
        "-1",
        lambda value: int(value) == -1 or int(value) >= RESULTSET_SIZE_MIN,
        f"-1 (or at least {RESULTSET_SIZE_MIN})",
        "a longer result is cut without a word",
    ),
)


async def verify(connection: Redis) -> list[str]:
    """A sentence for each setting that is not as it must be; none when all is well.

    And one if its start could not carry out all of its append-only file, which FalkorDB itself notes only in its log.
    It does not matter whether the connection decodes replies. Raises redis-py's ConnectionError or TimeoutError when
    the server is away.
    """
    execute: Callable[..., Awaitable[Any]] = connection.execute_command
    sentences: list[str] = []
    for owner, command in (("redis", "CONFIG"), ("graph", "GRAPH.CONFIG")):
        try:
            values = _texts(await execute(command, "GET", "*"))
        except ResponseError as error:
            sentences.append(f"FalkorDB does not tell its settings ({command} GET: {error}).")
            continue
        sentences += [
            f"FalkorDB's {setting.name} is {values.get(setting.name, 'missing')}; "
            f"set it to {setting.wanted}: {setting.why}."
            for setting in REQUIRED_SETTINGS
            if setting.owner == owner and not _accepted(setting, values)
        ]
    statistics: dict[str, Any] = await connection.info("stats")
    if failed := int(statistics["unexpected_error_replies"]):
        sentences.append(
            f"FalkorDB lacks {failed} writes of its append-only file, which failed when it loaded them (CRITICAL in "
            "its log): restart it with the right settings, and if that does not help, rebuild the graph from the log."
        )
    return sentences


def _accepted(setting: Setting, values: dict[str, str]) -> bool:
    return setting.name in values and setting.accepts(values[setting.name])


def _texts(reply: Any) -> dict[str, str]:
    """Names and values from a dict, a list of pairs or, before RESP 3, a flat list; of bytes, texts and numbers."""
    if isinstance(reply, dict):
        pairs = list(reply.items())
    elif reply and isinstance(reply[0], list | tuple):
        pairs = reply
    else:
        pairs = list(zip(reply[::2], reply[1::2], strict=True))
    return {_text(name): _text(value) for name, value in pairs}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
