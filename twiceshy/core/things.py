"""Things are named by type and reference, ``service:payments``, or by a name alone."""

import re

ENTITY_KEY = re.compile(r"^[a-z][a-z0-9_-]{0,63}:(?!//)\S")
"""What looks like a type and a reference, and not like an address."""


def type_of(key: str) -> str:
    """The type of a thing; ``thing`` when it is named without one."""
    return key.partition(":")[0] if ENTITY_KEY.match(key) else "thing"


def ref_of(key: str) -> str:
    """The name without the type."""
    return key.partition(":")[2] if ENTITY_KEY.match(key) else key
