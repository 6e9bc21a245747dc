"""Bursts: what an incident is about, in words that a flood cannot vary cheaply, and how much of it is too much.

Many incidents that say the same within an hour are how memory is poisoned by repetition: recall ranks what is often
said, and a rule is made of three. So an incident counts in a window of each of its subjects and in one of its
origin, once however often it is revised, and what goes over a limit is for a person to decide.
"""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from twiceshy.core.burst_limits import BurstLimits
from twiceshy.core.ids import incident_key
from twiceshy.core.letters import folded
from twiceshy.events.incident import IncidentConcluded

SUBJECT_CHARS_MAX = 200
ALL_ELSE = ""
"""Whose window the origins share that are not listed: a new name buys nothing."""

_DIGITS = str.maketrans("0123456789", "#" * 10)
_BLANK_BRAILLE = "\u2800"


class Window(NamedTuple):
    """A window that an incident counts in: what it is named to a person, its name in the store, and its limit."""

    kind: str
    name: str
    key: str
    limit: int


@dataclass(frozen=True, slots=True)
class Counted:
    """What the windows are asked about one incident. ``at_ms`` is None for the moment at which it is decided on."""

    incident: str
    windows: tuple[Window, ...]
    at_ms: int | None
    window_ms: int


def subjects(incident: IncidentConcluded) -> tuple[str, ...]:
    """What an incident is about: its title with its first affected or implicated entity, then each fact's slot.

    Each is normalised, readable, and of at most 200 characters; equal subjects are equal texts. The first names the
    group that a held incident is listed in.
    """
    entity = next((one.key for one in incident.entities if one.role in ("affected", "implicated")), None)
    title = normalised(incident.title) or "(no words)"
    first = title if entity is None else f"{title} @ {normalised(entity)}"
    claims = (f"{normalised(fact.subject)} / {fact.predicate}" for fact in incident.facts)
    return tuple(dict.fromkeys(_bounded(text) for text in (first, *claims)))


# The same services and slots come again and again.
@lru_cache(maxsize=1_024)
def normalised(text: str) -> str:
    """``text`` with what can be varied for nothing taken out: case, width, accents, invisibles, spacing, and numbers.

    As the scan folds it (`letters.folded`, NFKC and case-folded among it), a run of digits as ``#``, white space
    collapsed, without what cannot be shown. To normalise twice changes nothing, and nor does it to take it for a name
    (which is NFC): so that a person can name the group.
    """
    plain = folded(text)
    if not (plain.isascii() and plain.isprintable()):
        plain = "".join(map(_shown, plain))
    plain = plain.translate(_DIGITS)
    while "##" in plain:
        plain = plain.replace("##", "#")
    return unicodedata.normalize("NFC", " ".join(plain.split()))


def counted(
    incident: IncidentConcluded, limits: BurstLimits, *, listed: bool, at_ms: int | None, backfill: bool
) -> Counted:
    """The windows of an incident. ``listed``: the operator has named its origin, which has windows of its own.

    Backfill is judged by when its incidents ended (``at_ms``), which come in any order: its windows do not slide,
    they stand side by side, one for each stretch of ``window_secs``. So a year of it is as many windows.
    """
    owner = incident.origin.name if listed else ALL_ELSE
    window_ms = limits.window_secs * 1_000
    place = ["backfill", str((at_ms or 0) // window_ms)] if backfill else ["live"]
    whose, of_origin = _keys_of_origin(incident.tenant, owner, *place)
    windows = [
        Window("subject", text, _key("subject", whose, text), limits.max_per_subject) for text in subjects(incident)
    ]
    windows.append(Window("origin", owner or "all origins not listed", of_origin, limits.max_per_origin))
    key = incident_key(incident.origin.name, incident.fingerprint)
    return Counted(_key("incident", whose, key), tuple(windows), at_ms, window_ms)


def _shown(letter: str) -> str:
    if letter.isspace():
        return " "
    if letter.isdecimal():
        return "#"
    return letter if letter.isprintable() and letter != _BLANK_BRAILLE else ""


def _bounded(text: str) -> str:
    """A text that is too long ends with a hash of the whole, so that it is not taken for another one."""
    if len(text) <= SUBJECT_CHARS_MAX:
        return text
    mark = f"… {_key(text)[:12]}"
    return text[: SUBJECT_CHARS_MAX - len(mark)] + mark


# The same few origins have all incidents.
@lru_cache(maxsize=256)
def _keys_of_origin(*origin: str) -> tuple[str, str]:
    """What the windows of an origin's subjects are named by, and its own window."""
    whose = _key(*origin)
    return whose, _key("origin", whose)


def _key(*parts: str) -> str:
    """A short name for a list of texts that can be printed: equal lists have equal ones."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
