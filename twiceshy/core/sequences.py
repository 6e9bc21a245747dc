"""Sequences in pieces."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of ``size`` items in order, the last one of what is left. (`itertools.batched` came with Python 3.12.)"""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch
