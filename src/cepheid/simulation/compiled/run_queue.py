"""The run queue of a placement: a bit for each vertex, by its position in the order, set when something waits there.

Looking for work skips the idle ones.  A vertex without its bit needs no instructions; one with it may still need none
(its successors have no room).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.simulation.compiled.options import njit_inlined
from cepheid.simulation.compiled.pool import NONE
from cepheid.simulation.compiled.queues import NEARLY_NOTHING
from cepheid.simulation.compiled.tables import Tables

# The number of trailing zeros of x, x a power of two: the top six bits of x * DE_BRUIJN are different for each.
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
TRAILING_ZEROS = np.zeros(64, np.int64)
for _bit in range(64):
    TRAILING_ZEROS[(0x03F79D71B4CB0A89 << _bit & 0xFFFFFFFFFFFFFFFF) >> 58] = _bit
ONE = np.uint64(1)
TOP_SIX = np.uint64(58)
IN_WORD = 63
WORD_SHIFT = 6


@njit_inlined
def mark_runnable(run_queue: Any, first: int, position: int) -> None:
    run_queue[first + (position >> WORD_SHIFT)] |= ONE << np.uint64(position & IN_WORD)


@njit_inlined
def clear_runnable(run_queue: Any, first: int, position: int) -> None:
    run_queue[first + (position >> WORD_SHIFT)] &= ~(ONE << np.uint64(position & IN_WORD))


@njit_inlined
def next_runnable(run_queue: Any, first: int, position: int, count: int) -> int:
    """The first marked position from `position` on, of `count`; NONE if there is none."""
    if position >= count:
        return NONE
    word, last = position >> WORD_SHIFT, (count - 1) >> WORD_SHIFT
    bits = run_queue[first + word] & ~((ONE << np.uint64(position & IN_WORD)) - ONE)
    while bits == np.uint64(0):
        word += 1
        if word > last:
            return NONE
        bits = run_queue[first + word]
    lowest = bits & (~bits + ONE)
    return (word << WORD_SHIFT) + TRAILING_ZEROS[(lowest * DE_BRUIJN) >> TOP_SIX]


@njit_inlined
def raise_total(tables: Tables, vertex: Any, events: float) -> None:
    vertex.total += events
    if vertex.position != NONE and vertex.total > 0.0:
        mark_runnable(tables.run_queue, tables.places[vertex.place].run_queue, vertex.position)


@njit_inlined
def lower_total(vertex: Any, events: float) -> None:
    vertex.total -= events
    if vertex.total < NEARLY_NOTHING:
        vertex.total = 0.0


@njit_inlined
def settle_total(tables: Tables, vertex: Any, events: float) -> None:
    """Rounding over several queues may leave a remainder although all are empty."""
    if events > 0.0 and vertex.total > 0.0:
        for place in range(vertex.inputs, vertex.inputs_end):
            if tables.queues[tables.inputs[place]].size != 0.0:
                return
        vertex.total = 0.0
