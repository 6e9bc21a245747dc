"""what comes in → redaction by its tenant's patterns → what guard writes of it"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from twiceshy.core.redact import Redactor, SecretInKeyError, refuse_secrets
from twiceshy.errors import PoisonError
from twiceshy.events.common import TEXT_CHARS_MAX
from twiceshy.settings import Settings
from twiceshy.stream.codec import Attributes

SOURCES_KEPT = 256

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Redactors:
    """A redactor for each tenant, whose own host names it knows."""

    def __init__(self, settings: Settings) -> None:
        patterns = {tenant: settings.internal_hosts.get(tenant, ()) for tenant in settings.tenants}
        made = {each: Redactor(each) for each in set(patterns.values())}
        self._of = {tenant: made[each] for tenant, each in patterns.items()}
        # There are few sources, and each event names one.
        self._sources = {tenant: lru_cache(SOURCES_KEPT)(redactor.text) for tenant, redactor in self._of.items()}

    def of(self, tenant: str) -> Redactor:
        return self._of[tenant]

    def text(self, tenant: str, text: str) -> str:
        """A text that a person gave as a reason: it is kept and told, so nothing secret may stand in it."""
        return self._of[tenant].text(text)[:TEXT_CHARS_MAX]

    def attributes(self, tenant: str, about: Attributes) -> Attributes:
        """What names an event, as it may be kept. The event's id is made of what came."""
        # An id of 36 digits looks random to a rule, and costs it as much time as all the rest of an ordinary event.
        identity = about.id if _UUID.fullmatch(about.id) else self._of[tenant].text(about.id)
        source = self._sources[tenant](about.source)
        if identity == about.id and source == about.source:
            return about
        return replace(about, id=identity, source=source)


def refuse_secret_names(names: Mapping[str, str]) -> None:
    """Refuses names, by their fields, that hold a secret: they are logged, told and kept as they are.

    Raises:
        PoisonError: one does; the sentence has its field.
    """
    try:
        refuse_secrets(names)
    except SecretInKeyError as error:
        raise PoisonError(error.code, str(error)) from None
