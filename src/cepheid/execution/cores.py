"""The cores of this machine, and work that is done on several of them at a time.

Threads, not processes: kernels, numpy and Arrow let other threads run while they compute, and nothing has to be
copied.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

_T = TypeVar("_T")
WORTH_AN_ENGINE = 50_000  # events: with fewer, what it takes to split them and put rows together is more than is saved


def count_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def choose_engines(events: int) -> int:
    """How many engines pay for so many events."""
    return max(1, min(count_cores(), events // WORTH_AN_ENGINE))


def run_one_by_one(tasks: Sequence[Callable[[], _T]]) -> list[_T]:
    """The same without threads, where those would cost more than they save."""
    return [task() for task in tasks]


def run_all(tasks: Sequence[Callable[[], _T]]) -> list[_T]:
    """What each task gives.  The first one runs in this thread; if some fail, the first of those is raised, when all
    are done."""
    if len(tasks) < 2:
        return [task() for task in tasks]
    others = [_threads(os.getpid()).submit(task) for task in tasks[1:]]
    try:
        first = tasks[0]()
    except BaseException:
        for other in others:
            other.cancel()
        for other in others:
            if not other.cancelled():
                other.exception()
        raise
    problems = [other.exception() for other in others]
    for problem in problems:
        if problem is not None:
            raise problem
    return [first, *(other.result() for other in others)]


@cache
def _threads(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 (a forked process has none of its parent's threads)
    return ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 1)), thread_name_prefix="cepheid")
