"""Numbers for what a program says, and which policy suits it.

window                          evaluated                     policy
sliding by time                 every t, functions mergeable  panes
sliding, landmark               else                          sliding
hopping by time                 on close, mergeable           panes
hopping by time or count        on close, on expiry           sliding
hopping else, jumping, session, semantic                      instances
"""

from __future__ import annotations

from math import gcd

from cepheid.kernel.aggregates.catalog import find_aggregate
from cepheid.kernel.window import WindowProgram

WHEN = {"event": 0, "expiry": 1, "close": 2, "time": 3, "count": 4}
SHOWS = {"concerned": 0, "all": 1, "changes": 2}

MOST_PANES = 1 << 20
"""Of a window; with more of them, panes would hold hardly more than one event each."""


def is_mergeable(program: WindowProgram) -> bool:
    """Need events not be kept for what is computed?"""
    return not program.members and all(find_aggregate(aggregate.function).mergeable for aggregate in program.aggregates)


def pane_length(program: WindowProgram) -> int:
    """Microseconds; 0: panes will not do."""
    window, evaluation = program.window, program.evaluation
    if window.kind != "time" or window.size is None or window.inclusive or window.peers or not is_mergeable(program):
        return 0
    if window.slide is None:
        step = evaluation.every if evaluation.when == "time" else 0
    else:
        step = window.slide if evaluation.when == "close" and window.slide < window.size else 0
    length = gcd(window.size, step) if step else 0
    return length if length and window.size // length <= MOST_PANES else 0


def is_sliding(program: WindowProgram) -> bool:
    """Is one slot for each group enough?"""
    window = program.window
    if window.is_sliding:
        return True
    if window.is_landmark:
        return window.slide is None
    hops = window.kind in ("time", "count") and window.slide is not None and window.slide != window.size
    return hops and program.evaluation.when in ("close", "expiry")
