"""The fields of an incident that one cell can tell: what they are called, and how a cell is read as each."""

import re
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from twiceshy.cli.times import Clock
from twiceshy.events.common import Slug
from twiceshy.events.incident import EntityMention

REQUIRED = ("fingerprint", "title", "concluded_at", "origin.name")
TIMES = ("started_at", "detected_at", "acknowledged_at", "concluded_at")
LISTS = ("steps", "links")
FIXED = (
    *REQUIRED, "summary", "resolution", "details", "severity", "started_at", "detected_at", "acknowledged_at",
    "origin.event_id", "cause.category", "cause.statement", "fault_signature", "evidence.stack_trace",
    "evidence.failing_test", "evidence.session_id", "tenant", *LISTS,
)  # fmt: skip
ROLES: tuple[str, ...] = get_args(EntityMention.model_fields["role"].annotation)
VALID = f"{', '.join(FIXED)}, labels.KEY, entities.TYPE and entities.TYPE.ROLE (a role is {', '.join(ROLES)})"

_SLUG: TypeAdapter[str] = TypeAdapter(Slug)


def is_field(field: str) -> bool:
    head, _, rest = field.partition(".")
    if head == "labels":
        return bool(rest)
    if head == "entities":
        kind, _, role = rest.partition(".")
        return _is_slug(kind) and (role in ROLES or rest == kind)
    return field in FIXED


def is_list(field: str) -> bool:
    """True for a field that several cells may add to."""
    return field in LISTS or field.startswith("entities.")


def put(body: dict[str, Any], field: str, value: str, clock: Clock) -> None:
    """Puts the text of a cell into an incident's ``body``, where ``field`` says.

    Entities are listed with semicolons, commas or line breaks between them, links with spaces as well; steps with
    line breaks alone, because a command may hold all others. A category may be written with capitals and spaces.

    Raises:
        ValueError: a time is none, or is not clear.
    """
    head, _, rest = field.partition(".")
    if field in TIMES:
        body[field] = clock.instant(value, ends=field == "concluded_at")
    elif head == "entities":
        kind, _, role = rest.partition(".")
        refs = [ref.strip() for ref in re.split(r"[;,\n]", value) if ref.strip()]
        mentions = [{"type": kind, "ref": ref, "role": role or "affected"} for ref in dict.fromkeys(refs)]
        body["entities"] = body.get("entities", []) + mentions
    elif field == "steps":
        body["steps"] = body.get("steps", []) + [step.strip() for step in value.splitlines() if step.strip()]
    elif field == "links":
        # An address may hold a comma or a semicolon: only before http it is between two.
        links = [part.strip(";,") for part in re.split(r"\s|[;,](?=https?://)", value)]
        body["links"] = body.get("links", []) + [link for link in links if link]
    elif field == "cause.category":
        body.setdefault("cause", {})["category"] = "-".join(re.split(r"[\s_-]+", value.casefold()))
    elif rest:
        body.setdefault(head, {})[rest] = value
    else:
        body[field] = value


def _is_slug(text: str) -> bool:
    try:
        _SLUG.validate_python(text)
    except ValidationError:
        return False
    return True
