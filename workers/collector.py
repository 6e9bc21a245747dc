"""Python's garbage collector, in a process that makes many objects for a moment and keeps what it began with."""

import gc

THRESHOLD = (20_000, 20, 20)


def settle() -> None:
    """Leaves alone what is here now: the collector need not look at it again with each few thousand new objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLD)
