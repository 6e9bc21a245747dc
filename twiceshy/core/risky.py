"""Which kinds of risky action a text advises, by the rules as they are now: a label for whoever reads it.

It is looked for when a text is read, so that what was admitted under other rules has the labels of the present ones.
"""

from functools import lru_cache

from twiceshy.core.letters import UnreadableError, folded
from twiceshy.core.scan_commands import RISKY
from twiceshy.core.scan_search import Searcher
from twiceshy.core.views import Budget

_KINDS = Searcher(RISKY)


def kinds(text: str, budget: Budget) -> tuple[str, ...]:
    """The kinds of risky action in a folded text, in order.

    Raises:
        UnreadableError: the budget does not suffice.
    """
    return tuple(sorted(rule.name for rule, _, _ in _KINDS.matches(text, budget)))


# The same few incidents are what is recalled while there is an incident.
@lru_cache(maxsize=512)
def risky(text: str) -> tuple[str, ...]:
    """The kinds of risky action, in order; none in a text that takes longer to read than a scan may.

    >>> risky("Then we ran setenforce 0 on both nodes.")
    ('disables-protection',)
    """
    try:
        return kinds(folded(text.encode(errors="replace").decode()), Budget())
    except UnreadableError:
        return ()
