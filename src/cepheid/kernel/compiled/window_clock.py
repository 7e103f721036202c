"""Which key has something to do next, when only time goes on: a heap with at most one entry for each key.

A moment M at which something happens comes with a rank: 2 M if it happens before the events at M are taken in (a
window [a, M) closes), 2 M + 1 if after them (an evaluation at M).  So `rank <= 2 now` says it is due, whether now is
the time of the next event or the horizon."""

from __future__ import annotations

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.njit_options import njit_no_refcount

FAR = 2**62
"""Later than any rank."""


@njit_no_refcount
def push_key(heap: Int64s, size: int, rank: int, key: int) -> int:
    """heap: int64[keys, 2], ranks and keys; gives the new size.  Of equal ranks the smaller key comes first."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if heap[above, 0] < rank or (heap[above, 0] == rank and heap[above, 1] <= key):
            break
        heap[place, 0], heap[place, 1] = heap[above, 0], heap[above, 1]
        place = above
    heap[place, 0], heap[place, 1] = rank, key
    return size + 1


@njit_no_refcount
def pop_key(heap: Int64s, size: int) -> int:
    """Take the first entry away; gives the new size."""
    size -= 1
    rank, key = heap[size, 0], heap[size, 1]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        other = below + 1
        if other < size and (
            heap[other, 0] < heap[below, 0] or (heap[other, 0] == heap[below, 0] and heap[other, 1] < heap[below, 1])
        ):
            below = other
        if rank < heap[below, 0] or (rank == heap[below, 0] and key <= heap[below, 1]):
            break
        heap[place, 0], heap[place, 1] = heap[below, 0], heap[below, 1]
        place = below
    heap[place, 0], heap[place, 1] = rank, key
    return size


@njit_no_refcount
def next_multiple(time: int, every: int) -> int:
    """The first multiple of `every` at or after a time."""
    return -(-time // every) * every


@njit_no_refcount
def call_last(order: Int64s, key: int) -> None:
    """Keys in the order of their last events: int64[keys + 1, 2], a ring of (before, after) with key k at k + 1; row
    0 is its seam."""
    place = key + 1
    if order[place, 1] >= 0:  # it is in the ring already
        if order[0, 0] == place:
            return
        before, after = order[place, 0], order[place, 1]
        order[before, 1], order[after, 0] = after, before
    last = order[0, 0]
    order[last, 1], order[place, 0] = place, last
    order[place, 1], order[0, 0] = 0, place


@njit_no_refcount
def find_silent(order: Int64s, key_table: Int64s, field: int, idle: int) -> int:
    """The key that has been silent longest, of those in whose windows something is (a field above `idle`); the others
    are taken off the ring.

    -1: there is none.
    """
    while True:
        place = order[0, 1]
        if place == 0 or key_table[place - 1, field] > idle:
            return place - 1
        after = order[place, 1]
        order[0, 1], order[after, 0] = after, 0
        order[place, 0], order[place, 1] = -1, -1
