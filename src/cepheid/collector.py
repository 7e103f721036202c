"""Python's collector of cyclic garbage, put off while much is made that stays: modules, kernels, compiled queries.

To look through it again and again, as it grows, takes a fifth of the time that a new process needs for its first
answer, and a quarter of the time to compile thousands of queries; and it finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collecting_later() -> Iterator[None]:
    """Nothing is collected meanwhile."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def loading_modules() -> Iterator[None]:
    """The same; what was made goes to the oldest generation without being looked through, as modules stay anyway."""
    with collecting_later():
        yield
        if gc.get_freeze_count() == 0:  # else somebody wants some of them left alone for good
            gc.freeze()
            gc.unfreeze()
