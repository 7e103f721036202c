"""Measuring on one core."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def time_action(action: Callable[[], Any]) -> float:
    """How many seconds it takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began
