"""Hold events back until the horizon passes them, then let them go in order.

The *horizon* is a promise: no event older than it will be taken any more.  An event that arrives behind the
horizon is late.  Events at one time leave in the order of arrival; if something other than arrival decides ties
(a second ORDER BY column, the order of streams), they leave only once their time has passed for good.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.event_time import BEGINNING

Int64s = npt.NDArray[np.int64]


def find_late(times: Int64s, horizon: int) -> npt.NDArray[np.bool_]:
    """bool[n]: did the event come too late?  None did before there was a horizon, whatever its number."""
    return times < horizon if horizon > BEGINNING else np.zeros(len(times), dtype=np.bool_)


def find_releasable(times: Int64s, horizon: int, ties_by_arrival: bool) -> npt.NDArray[np.bool_]:
    """bool[n]: is the event's place in the order settled?"""
    return times <= horizon if ties_by_arrival else times < horizon


def sort_events(times: Int64s, ties: list[Int64s]) -> Int64s | None:
    """int64[n]: the order of events, which are in the order of arrival; None: they are in order already."""
    if ties:
        return np.lexsort([*reversed(ties), times])
    if len(times) < 2 or bool((times[1:] >= times[:-1]).all()):
        return None
    return np.argsort(times, kind="stable")
