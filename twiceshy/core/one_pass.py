"""Many patterns of RE2's, looked for in one pass over a text."""

from collections.abc import Iterable

import re2

AUTOMATON_BYTES_MAX = 32 * 1024 * 1024
"""Of one pass. With RE2's 8 MB the states of the larger ones would be thrown away and made again."""


def one_pass(patterns: Iterable[str]) -> "re2.Set":
    """A set of patterns, whose ``Match`` tells which of them match. It reads a text to its end, whatever it found."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = AUTOMATON_BYTES_MAX
    together = re2.Set.SearchSet(options)
    for pattern in patterns:
        together.Add(pattern.encode())
    together.Compile()
    return together
