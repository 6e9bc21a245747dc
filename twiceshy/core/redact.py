"""Masks what memory must not hold: secrets, and who and where (addresses, users, accounts, hosts, pods).

A value becomes ``<kind-n>``: typed, so that a reader knows what stood there, and numbered in the order of the event,
the same value the same in all of its fields. No hash: an address or a phone number can be guessed from its hash.

A placeholder means something in its own event only. So where a name is an identity in the graph (an entity's
reference, a fact's subject), a masked name is followed by the incident's: all hosts would be one otherwise.

The natural keys (tenant, origin, fingerprint, those of incidents that are referred to) and slugs stay as they are: with
a number that depends on the event, one incident would have many keys, and many incidents one. An address in one is what
its producer chose to name its incidents by. A secret in one is refused: `SecretInKeyError`.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from twiceshy.core import redact_apart, redact_commands, redact_names, redact_opaque, redact_places, redact_rules
from twiceshy.core.redact_masking import Field, Masking
from twiceshy.core.redact_opaque import random_looking
from twiceshy.core.redact_seen import bare, views
from twiceshy.core.redact_spans import EXACT, NAMED, SECRET_RANKS, Rules, TooManyError
from twiceshy.events.common import DETAILS_CHARS_MAX, NAME_CHARS_MAX, TEXT_CHARS_MAX
from twiceshy.events.incident import IncidentConcluded

_TITLE_CHARS_MAX = 500
_URL_CHARS_MAX = 2_048
_LABEL_KEY_CHARS_MAX = 200
_PEOPLE = frozenset(("user", "person", "account", "engineer", "employee", "customer"))
_PARTS = ("origin", "cause", "evidence")
_LISTS_OF_PARTS = ("entities", "facts", "mistakes", "supersedes", "derived_from", "code_refs")
_VALUE_KEYS = frozenset(("value", "default", "text", "#text"))
_KNOWN = (*redact_rules.RULES, *redact_names.RULES, *redact_commands.RULES, *redact_apart.RULES)
_KEYS = Rules(_KNOWN)
_SECRETS = Rules((*_KNOWN, *redact_opaque.RULES))


class SecretInKeyError(ValueError):
    """A name that has to stay as it is holds a secret. The message is a sentence for whoever published it."""

    code = "secret_in_key"


@dataclass(frozen=True, slots=True)
class Redacted:
    """The incident as memory may hold it, and how many different values of each kind were masked."""

    incident: IncidentConcluded
    masked: dict[str, int]


class _Slot(NamedTuple):
    """Where in the incident's body a text stands."""

    holder: Any
    at: Any
    chars_max: int | None
    name: str = ""
    identity: bool = False


class Redactor:
    """Redaction for a tenant, whose own host names match ``internal_hosts`` (patterns in RE2's syntax).

    Raises ValueError with a sentence for a pattern that is none.
    """

    def __init__(self, internal_hosts: Sequence[str] = ()) -> None:
        hosts = redact_places.internal_hosts(internal_hosts)
        self._rules = Rules((*_KNOWN, *hosts, *redact_places.RULES, *redact_opaque.RULES))

    def incident(self, incident: IncidentConcluded) -> Redacted:
        """The incident, masked: the same object if there is nothing to mask. Raises `SecretInKeyError`.

        Masking it again changes nothing, under the same rules.
        """
        body = _body(incident)
        keys = _keys(body)
        refuse_secrets(keys)
        slots = _slots(body)
        masking = Masking(self._rules, (entity.ref for entity in incident.entities if entity.type not in _PEOPLE))
        labels = body["labels"]
        fields = [Field(slot.holder[slot.at], slot.chars_max, slot.name) for slot in slots]
        fields += [Field(key, _LABEL_KEY_CHARS_MAX) for key in labels]
        fields += [Field(value, TEXT_CHARS_MAX, _called(key, labels)) for key, value in labels.items()]
        texts = masking.apply(fields, escape=True)
        if texts is None:
            return Redacted(incident, {})
        for name, text in keys.items():
            if any(secret in bare(text.encode()) for secret in masking.secrets):
                raise SecretInKeyError(_refusal(name))
        qualifier = self._qualifier(incident)
        for slot, text in zip(slots, texts, strict=False):
            changed = text != slot.holder[slot.at]
            slot.holder[slot.at] = _qualified(text, qualifier) if changed and slot.identity else text
        names, values = texts[len(slots) : len(slots) + len(labels)], texts[len(slots) + len(labels) :]
        body["links"] = [link for link in body["links"] if _is_link(link)]
        body["labels"] = dict(zip(names, values, strict=True))
        return Redacted(IncidentConcluded.model_validate(body), dict(masking.masked))

    def text(self, text: str) -> str:
        """A text that was masked when it was written, masked by the present rules: its placeholders stand."""
        return self.masking().text(text)

    def masking(self) -> Masking:
        """The placeholders of texts that belong together and are masked one after the other."""
        return Masking(self._rules)

    def body(self, body: bytes) -> bytes | None:
        """The body of a dead letter: masked if it is JSON; None if it holds a secret and is none, or is too deep."""
        try:
            tree = [orjson.loads(body)]
        except orjson.JSONDecodeError:
            return None if _holds_secret(body) else body
        try:
            places = list(_strings(tree))
            masked = self._masked_tree(places, list(_objects(tree)))
        except RecursionError:
            return None
        return orjson.dumps(tree[0]) if masked else body

    def _masked_tree(self, places: list[tuple[Any, Any, str]], objects: list[dict[str, Any]]) -> bool:
        """Masks every string of a JSON value in its place, keys after values. False if there was nothing to mask."""
        enclosed = [place for place in places if place[2] == "data_base64"]
        changed = sum(self._masked_data(holder, at) for holder, at, _ in enclosed) > 0
        plain = [place for place in places if place[2] != "data_base64"]
        fields = [Field(str(holder[at]), name=name) for holder, at, name in plain]
        fields += [Field(key) for held in objects for key in held]
        texts = Masking(self._rules).apply(fields, escape=True)
        if texts is None:
            return changed
        for (holder, at, _), text in zip(plain, texts, strict=False):
            holder[at] = holder[at] if text == str(holder[at]) else text
        keys = iter(texts[len(plain) :])
        for held in objects:
            items = [(next(keys), value) for value in held.values()]
            held.clear()
            held.update(items)
        return True

    def _masked_data(self, holder: Any, at: Any) -> bool:
        """Masks the body that a structured CloudEvent encloses in base64. True if it had to be changed."""
        try:
            data = base64.b64decode(holder[at], validate=True)
        except (binascii.Error, ValueError):
            data = str(holder[at]).encode(errors="replace")
        masked = self.body(data)
        if masked == data:
            return False
        holder[at] = base64.b64encode(masked).decode() if masked is not None else ""
        return True

    def _qualifier(self, incident: IncidentConcluded) -> str:
        """What tells the masked names of this incident from those of others: its fingerprint, if that can be shown."""
        fingerprint = incident.fingerprint
        try:
            shown = not any(map(self._rules.spans, views(fingerprint.encode())))
        except TooManyError:
            shown = False
        return fingerprint if shown else incident.concluded_at.isoformat()


def _body(incident: IncidentConcluded) -> dict[str, Any]:
    """The fields of an incident and those of its parts, to be changed: `model_dump` would go on to every value."""
    body = dict(vars(incident))
    for name in _PARTS:
        body[name] = body[name] and dict(vars(body[name]))
    for name in _LISTS_OF_PARTS:
        body[name] = [dict(vars(part)) for part in body[name]]
    return body


def _slots(body: dict[str, Any]) -> list[_Slot]:
    """Every text of an incident that is masked in its place, the title first."""
    cause, evidence = body["cause"] or {}, body["evidence"] or {}
    one_by_one = (
        (body, ("title",), _TITLE_CHARS_MAX),
        (body, ("summary", "resolution", "fault_signature"), TEXT_CHARS_MAX),
        (cause, ("statement",), TEXT_CHARS_MAX),
        (body, ("details",), DETAILS_CHARS_MAX),
        (evidence, ("stack_trace", "failing_test"), TEXT_CHARS_MAX),
        (evidence, ("session_id",), NAME_CHARS_MAX),
        (body, ("severity",), NAME_CHARS_MAX),
        (body["origin"], ("event_id",), NAME_CHARS_MAX),
    )
    slots = [_Slot(holder, name, limit) for holder, names, limit in one_by_one for name in names if holder.get(name)]
    for name, limit in (("steps", TEXT_CHARS_MAX), ("links", None)):
        body[name] = list(body[name])
        slots += [_Slot(body[name], index, limit) for index in range(len(body[name]))]
    slots += [_Slot(mistake, "statement", TEXT_CHARS_MAX) for mistake in body["mistakes"]]
    slots += [_Slot(entity, "ref", NAME_CHARS_MAX, identity=True) for entity in body["entities"]]
    for fact in body["facts"]:
        slots.append(_Slot(fact, "subject", NAME_CHARS_MAX, identity=True))
        slots.append(_Slot(fact, "object", NAME_CHARS_MAX, name=fact["predicate"]))
    slots += [_Slot(ref, name, NAME_CHARS_MAX) for ref in body["code_refs"] for name in ("repo", "path")]
    return slots


def _keys(body: dict[str, Any]) -> dict[str, str]:
    """The names that stay as they are, by their fields."""
    keys = {"tenant": body["tenant"], "fingerprint": body["fingerprint"], "origin.name": body["origin"]["name"]}
    for kind in ("supersedes", "derived_from"):
        for index, ref in enumerate(body[kind]):
            keys |= {f"{kind}.{index}.{name}": ref[name] for name in ("origin", "fingerprint")}
    keys |= {f"entities.{index}.type": entity["type"] for index, entity in enumerate(body["entities"])}
    return keys | {f"facts.{index}.predicate": fact["predicate"] for index, fact in enumerate(body["facts"])}


def refuse_secrets(names: Mapping[str, str]) -> None:
    """Refuses names, by their fields, that have to stay as they are and hold a secret. Raises `SecretInKeyError`."""
    for field, text in names.items():
        try:
            holds = _holds_key(text)
        except TooManyError:
            holds = True
        if holds:
            raise SecretInKeyError(_refusal(field))


# But for the fingerprint, the names in most events are the same few.
@lru_cache(maxsize=1_024)
def _holds_key(name: str) -> bool:
    """Whether a name holds what has a secret's own shape, or what is called a secret and looks like one.

    `alertname="CertExpiry", secret="payments-tls"` is how an alert is called: refused, it could never be told.
    """
    return any(
        span.rank == EXACT or (span.rank == NAMED and random_looking(view[span.start : span.end]))
        for view in views(name.encode())
        if _KEYS.may_find(view)
        for span in _KEYS.spans(view)
    )


def _refusal(field: str) -> str:
    return f"{field} holds a secret, and a name cannot be masked: revoke the secret, and use another name."


def _qualified(name: str, qualifier: str) -> str:
    return f"{name} ({qualifier[: NAME_CHARS_MAX - len(name) - 3]})" if len(name) < NAME_CHARS_MAX - 12 else name


def _is_link(text: str) -> bool:
    """Whether a masked link still leads somewhere: masked whole or too long, it does not, and is left out."""
    return text.startswith(("http://", "https://")) and len(text) <= _URL_CHARS_MAX


def _strings(value: Any, holder: Any = None, at: Any = None, name: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Where the strings of a JSON value stand, and whole numbers that have a name: (holder, key or index, name)."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _strings(part, value, key, _called(key, value, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _strings(part, value, index, name)
    elif isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool) and name):
        yield holder, at, name


def _called(key: str, held: dict[str, Any], name: str = "") -> str:
    """What a value is called: by its key, or where that is `value`, by the name beside it or that of the whole."""
    if key.lower() not in _VALUE_KEYS:
        return key
    beside = (held[other] for other in ("name", "key", "Name", "Key") if isinstance(held.get(other), str))
    return next(beside, name or key)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of a JSON value."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for part in list(value.values()) if isinstance(value, dict) else value:
            yield from _objects(part)


def _holds_secret(body: bytes) -> bool:
    """Whether bytes that are no JSON hold a secret, as they stand or in two bytes a character."""
    try:
        return any(
            span.rank in SECRET_RANKS
            for view in {body, body.replace(b"\0", b"")} | views(body)
            for span in _SECRETS.spans(view)
        )
    except TooManyError:
        return True
