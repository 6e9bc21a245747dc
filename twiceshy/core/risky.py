"""Which kinds of risky action a text advises, by the rules as they are now: a label for whoever reads it.

It is looked for when a text is read, so that what was admitted under other rules has the labels of the present ones.
"""

from functools import lru_cache

import re2

from twiceshy.core.letters import folded
from twiceshy.core.scan_commands import RISKY

_KINDS = {rule.name: re2.compile(rule.pattern) for rule in RISKY}
_ANY_KIND = re2.compile("|".join(f"(?:{rule.pattern})" for rule in RISKY))


# The same few incidents are what is recalled while there is an incident.
@lru_cache(maxsize=512)
def risky(text: str) -> tuple[str, ...]:
    """The kinds of risky action, in order.

    >>> risky("Then we ran setenforce 0 on both nodes.")
    ('disables-protection',)
    """
    data = folded(text.encode(errors="replace").decode()).encode()
    if not _ANY_KIND.search(data):
        return ()
    return tuple(sorted(kind for kind, pattern in _KINDS.items() if pattern.search(data)))
