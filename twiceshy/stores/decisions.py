"""Guard's decisions by event id, and the windows in which bursts are counted: one atomic script in Redis."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from twiceshy.core.burst import Counted
from twiceshy.stores.connection import answering

HOLD = "hold"
"""The verdict that a burst makes of any other."""

DECISIONS_KEPT_DAYS = 31
"""Longer than any input keeps its events, so that a redelivery gets the answer that its event had."""

OVER_KEPT = 100
"""How many more than its limit a window remembers of what went over it. The count that is told stops there."""

_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Asked:
    """What guard wants to know: an event, the verdict that it proposes, and the windows that the event counts in."""

    tenant: str
    event_id: str
    verdict: str
    counted: Counted | None = None


@dataclass(frozen=True, slots=True)
class Burst:
    """A window that went over its limit: of a subject or an origin, its name, and how many incidents it has."""

    kind: str
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Decided:
    """What guard decided about an event, the first time it came.

    ``flagged`` are the events that were admitted in a subject's window before it.
    """

    admitted_at: int
    verdict: str
    bursts: tuple[Burst, ...] = ()
    flagged: tuple[str, ...] = ()


# A redelivery gets the answer that its event had, and no two entries of a tenant the same time. In a window an
# incident is known by the event id that it first came with, so that its revisions count with it. What is within the
# limit and what went over it are told apart: a revision of the former never trips, one of the latter always does,
# or a second try would get in.
_DECIDE = """
local function trimmed(window, gone)
  redis.call('ZREMRANGEBYSCORE', window, '-inf', gone)
  return redis.call('ZCARD', window)
end
-- How many incidents the window has where that is too many, else nil. Counts the incident.
local function burst(window, limit, first, time, gone, keep)
  local over = window .. ':over'
  local beyond = redis.call('EXISTS', over) == 1 and trimmed(over, gone) or 0
  local again = beyond > 0 and redis.call('ZSCORE', over, first)
  redis.call('ZREMRANGEBYSCORE', window, '-inf', gone)
  if not again and redis.call('ZADD', window, 'NX', time, first) == 0 then
    return nil
  end
  local count = redis.call('ZCARD', window) + beyond
  if not again and count <= limit then
    redis.call('EXPIRE', window, keep)
    return nil
  end
  redis.call('ZREM', window, first)
  redis.call('ZADD', over, 'NX', time, first)
  redis.call('ZREMRANGEBYRANK', over, 0, -(limit + OVER_KEPT + 1))
  redis.call('EXPIRE', over, keep)
  return count
end

local function decided(one)
  local known = redis.call('GET', 'DECIDED' .. one.event_id)
  if known then
    return known
  end
  local now, verdict = tonumber(ARGV[2]), one.verdict
  local last = tonumber(redis.call('GET', 'LAST' .. one.tenant) or '0')
  local admitted_at = string.format('%.0f', math.max(last + 1, now))
  redis.call('SET', 'LAST' .. one.tenant, admitted_at)
  local bursts, flagged, listed = {}, {}, {}
  if one.windows then
    local at = one.at == cjson.null and now or one.at
    local time, gone = string.format('%.0f', at), string.format('%.0f', at - one.window_ms)
    local first = redis.call('GET', 'BURST' .. one.incident) or one.event_id
    redis.call('SET', 'BURST' .. one.incident, first, 'EX', one.keep)
    for _, window in ipairs(one.windows) do
      local key, limit, kind, name = 'BURST' .. window[1], window[2], window[3], window[4]
      local count = burst(key, limit, first, time, gone, one.keep)
      if count then
        verdict = 'hold'
        bursts[#bursts + 1] = {kind, name, count}
        for _, id in ipairs(kind == 'subject' and redis.call('ZRANGE', key, 0, -1) or {}) do
          local before = redis.call('GET', 'DECIDED' .. id) or ''
          if not listed[id] and not string.find(before, ' hold', 1, true) then
            listed[id] = true
            flagged[#flagged + 1] = id
          end
        end
      end
    end
  end
  local answer = admitted_at .. ' ' .. verdict
  if #bursts > 0 then
    answer = answer .. ' ' .. cjson.encode({bursts, #flagged > 0 and flagged or cjson.null})
  end
  redis.call('SET', 'DECIDED' .. one.event_id, answer, 'EX', KEPT_SECONDS)
  return answer
end

local answers = {}
for number, one in ipairs(cjson.decode(ARGV[1])) do
  answers[number] = decided(one)
end
return answers
"""
_CONSTANTS = {
    "OVER_KEPT": OVER_KEPT,
    "KEPT_SECONDS": DECISIONS_KEPT_DAYS * _DAY_SECONDS,
    "DECIDED": "twiceshy:decided:",
    "LAST": "twiceshy:admitted:",
    "BURST": "twiceshy:burst:",
}
for _name, _value in _CONSTANTS.items():
    _DECIDE = _DECIDE.replace(_name, str(_value))
_DECIDE_SHA = hashlib.sha1(_DECIDE.encode(), usedforsecurity=False).hexdigest()


class Decisions:
    """Guard's decisions by event id, kept as long as the longest retention of an input."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def decide(self, asked: Sequence[tuple[str, str, str]], now_ms: int) -> list[Decided]:
        """The decision about each (tenant, event id, verdict proposed): the first one that was ever made."""
        return await self.decide_counted([Asked(*one) for one in asked], now_ms)

    async def decide_counted(self, asked: Sequence[Asked], now_ms: int) -> list[Decided]:
        """As `decide`, where what goes over the limit of a window is held. An event that was decided on counts no more.

        Raises:
            TransientError: Redis is away. Nothing is decided then, and so nothing admitted.
        """
        async with answering():
            try:
                answers = await self._run(asked, now_ms)
            except NoScriptError:
                await self._redis.script_load(_DECIDE)
                answers = await self._run(asked, now_ms)
        return [_decided(answer) for answer in answers]

    async def _run(self, asked: Sequence[Asked], now_ms: int) -> list[str]:
        # All in one argument: a command for each, and in it an argument for each window, costs the client more than
        # guard's rules do.
        told = orjson.dumps([_told(one) for one in asked])
        answers: list[str] = await self._redis.evalsha(_DECIDE_SHA, 0, told, now_ms)
        return answers


def _told(asked: Asked) -> dict[str, Any]:
    """What the script is told of an event."""
    told: dict[str, Any] = {"tenant": asked.tenant, "event_id": asked.event_id, "verdict": asked.verdict}
    if (counted := asked.counted) is None:
        return told
    return told | {
        "at": counted.at_ms,
        "window_ms": counted.window_ms,
        # A day longer than the window: while guard waits for a store, the broker's time of what it has not read
        # stands still.
        "keep": counted.window_ms // 1_000 + _DAY_SECONDS,
        "incident": counted.incident,
        "windows": [(window.key, window.limit, window.kind, window.name) for window in counted.windows],
    }


def _decided(answer: str) -> Decided:
    admitted_at, verdict, *more = answer.split(" ", 2)
    if not more:
        return Decided(int(admitted_at), verdict)
    bursts, flagged = orjson.loads(more[0])
    return Decided(
        int(admitted_at), verdict, tuple(Burst(kind, name, count) for kind, name, count in bursts), tuple(flagged or ())
    )
