"""The rules there are.  To add one: a file with a class like those (wait.py), and, if what users say of waiting is all
that it needs, its name in `WaitRule` and its line here.

    fixed      fixed.py       a time
    growing    growing.py     the latest so far
    maximum    windowed.py    the latest of the last events
    quantile   windowed.py    the share `recall` of the last events, aimed at
    recall     recall.py      the share `recall` of results, held

Two more need to know what is computed, and are made by whoever knows: `aggregate_error.py`, the error of windowed sums,
and `join_recall.py`, the recall of windowed joins.
"""

from __future__ import annotations

from collections.abc import Callable

from cepheid.disorder.waits.fixed import FixedWait
from cepheid.disorder.waits.growing import GrowingWait
from cepheid.disorder.waits.recall import RecallWait
from cepheid.disorder.waits.wait import Wait
from cepheid.disorder.waits.windowed import WindowedWait
from cepheid.event_time import in_microseconds
from cepheid.settings import Waiting, WaitRule

MAXIMUM_WINDOW = 10_000  # events


def _most(waiting: Waiting) -> int | None:
    return None if waiting.max_wait is None else in_microseconds(waiting.max_wait)


WAITS: dict[WaitRule, Callable[[Waiting], Wait]] = {
    "fixed": lambda waiting: FixedWait(in_microseconds(waiting.span)),
    "growing": lambda waiting: GrowingWait(max_wait_us=_most(waiting)),
    "maximum": lambda waiting: WindowedWait(0.0, MAXIMUM_WINDOW, _most(waiting)),
    "quantile": lambda waiting: WindowedWait(1 - waiting.recall, max_wait_us=_most(waiting)),
    "recall": lambda waiting: RecallWait(waiting.recall, _most(waiting)),
}


def make_wait(waiting: Waiting) -> Wait:
    return WAITS[waiting.rule](waiting)
