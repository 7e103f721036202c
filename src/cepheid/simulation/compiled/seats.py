"""Which seats of a placement have something waiting: a bit each, so that looking for work skips the idle ones.

A seat without its bit needs no instructions; one with it may still need none (no room behind it).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.simulation.compiled.options import inlined
from cepheid.simulation.compiled.pool import NONE
from cepheid.simulation.compiled.queues import NEARLY_NOTHING
from cepheid.simulation.compiled.tables import Tables

# The number of trailing zeros of x, x a power of two: the top six bits of x * DE_BRUIJN are different for each.
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
PLACES = np.zeros(64, np.int64)
for _bit in range(64):
    PLACES[(0x03F79D71B4CB0A89 << _bit & 0xFFFFFFFFFFFFFFFF) >> 58] = _bit
ONE = np.uint64(1)
TOP_SIX = np.uint64(58)
IN_WORD = 63
WORD_SHIFT = 6


@inlined
def mark_seat(words: Any, first: int, seat: int) -> None:
    words[first + (seat >> WORD_SHIFT)] |= ONE << np.uint64(seat & IN_WORD)


@inlined
def clear_seat(words: Any, first: int, seat: int) -> None:
    words[first + (seat >> WORD_SHIFT)] &= ~(ONE << np.uint64(seat & IN_WORD))


@inlined
def next_seat(words: Any, first: int, seat: int, count: int) -> int:
    """The first marked one from `seat` on, of `count`; NONE if there is none."""
    if seat >= count:
        return NONE
    word, last = seat >> WORD_SHIFT, (count - 1) >> WORD_SHIFT
    bits = words[first + word] & ~((ONE << np.uint64(seat & IN_WORD)) - ONE)
    while bits == np.uint64(0):
        word += 1
        if word > last:
            return NONE
        bits = words[first + word]
    lowest = bits & (~bits + ONE)
    return (word << WORD_SHIFT) + PLACES[(lowest * DE_BRUIJN) >> TOP_SIX]


@inlined
def raise_total(tables: Tables, vertex: Any, events: float) -> None:
    vertex.total += events
    if vertex.seat != NONE and vertex.total > 0.0:
        mark_seat(tables.words, tables.places[vertex.place].words, vertex.seat)


@inlined
def lower_total(vertex: Any, events: float) -> None:
    vertex.total -= events
    if vertex.total < NEARLY_NOTHING:
        vertex.total = 0.0


@inlined
def settle_total(tables: Tables, vertex: Any, events: float) -> None:
    """Rounding over several queues may leave a rest that nothing is behind."""
    if events > 0.0 and vertex.total > 0.0:
        for place in range(vertex.inputs, vertex.inputs_end):
            if tables.queues[tables.inputs[place]].size != 0.0:
                return
        vertex.total = 0.0
