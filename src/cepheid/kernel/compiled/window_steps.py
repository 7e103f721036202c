"""What happens to windows, as a list of steps: those who decide (which event is when in which window) write it,
those who compute (sums, extremes, percentiles, ...) carry it out.  So every policy works with every aggregate.

    step         slot  item    meaning
    ADD          s     event   the event belongs to s, until s is cleared
    ENTER        s     event   the event is the newest member of s; members leave in the order in which they entered
    LEAVE        s     event   the oldest member of s leaves
    ENTER_PANE   s     pane    what the slot `pane` holds is the newest member of s
    LEAVE_PANE   s     pane    the oldest member of s leaves; `pane` still holds what it held when it entered
    EMIT         s     row     the answer for s, as it is now, is row number `row` of this step_list
    CLEAR        s     -       s is empty, and may be used for something else from here on

A *slot* is a group within one window: a small number, counted from 0.  A slot gets either ADDs, or ENTERs and LEAVEs
of events, or those of panes, never a mixture.  Events are given by their index in the store.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s

ADD, ENTER, LEAVE, ENTER_PANE, LEAVE_PANE, EMIT, CLEAR = range(7)


@dataclass(frozen=True, slots=True)
class StepList:
    """steps: uint8[n]; slots, items: int64[n]; slot_count: slots are below it; rows: how many EMITs there are,
    numbered from 0 in order."""

    steps: npt.NDArray[np.uint8]
    slots: Int64s
    items: Int64s
    slot_count: int
    rows: int
