"""Where event sets live while they wait: one array of nodes, the free ones chained.

    nodes[i]                          size, ts, latency, and the node behind it in its queue
    totals[i * stride + producer]     of how many of its events it results; stride: the most producers of a family
    state                             the first free node, how many there are, and what stopped a kernel

A kernel that finds too few free nodes says how many it needs, and returns; Python doubles the pool, and the kernel goes
on where it was.  So memory goes with what waits at a time, not with how many events there were.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.simulation.compiled.options import njit_inlined

NODE = np.dtype(
    [
        ("size", np.float64),
        ("ts", np.float64),
        ("latency", np.float64),
        ("at", np.float64),  # of messages: when they arrive
        ("next", np.int32),
        ("before", np.int32),  # of messages: the one that arrives before it
        ("edge", np.int32),  # of messages
        ("unused", np.int32),
    ]
)
FREE, LEFT, NEEDED, ERROR, OUTBOX, OUTBOX_END = range(6)
NO_ERROR, TOO_MANY, TOO_LATE = range(3)
NONE = -1
Floats = npt.NDArray[np.float64]


class Pool(NamedTuple):
    """whole, part: the totals of the two sets being worked on; as wide as the widest family here."""

    nodes: npt.NDArray[np.void]
    totals: Floats
    state: npt.NDArray[np.int64]
    whole: Floats
    part: Floats


def make_pool(size: int, stride: int) -> Pool:
    state = np.array([NONE, 0, 0, NO_ERROR, NONE, NONE], np.int64)
    pool = Pool(np.zeros(size, NODE), np.zeros(size * stride), state, np.zeros(stride), np.zeros(stride))
    _chain(pool, 0)
    return pool


def grow_pool(pool: Pool) -> Pool:
    """Until there are as many free nodes as a kernel asked for."""
    old, needed, stride = len(pool.nodes), int(pool.state[NEEDED]), len(pool.whole)
    new = 2 * old
    while new - old + pool.state[LEFT] < needed:
        new *= 2
    grown = pool._replace(
        nodes=np.concatenate([pool.nodes, np.zeros(new - old, NODE)]),
        totals=np.concatenate([pool.totals, np.zeros((new - old) * stride)]),
    )
    _chain(grown, old)
    pool.state[NEEDED] = 0
    return grown


def _chain(pool: Pool, first: int) -> None:
    count = len(pool.nodes)
    pool.nodes["next"][first:] = np.arange(first + 1, count + 1)
    pool.nodes["next"][-1] = pool.state[FREE]
    pool.state[FREE] = first
    pool.state[LEFT] += count - first


@njit_inlined
def has_nodes(pool: Pool, count: int) -> bool:
    """Whether so many are free; if not, they are asked for."""
    if pool.state[LEFT] >= count:
        return True
    pool.state[NEEDED] = count
    return False


@njit_inlined
def make_set(pool: Pool, size: float, ts: float, latency: float, came_of: Any, width: int) -> int:
    node = pool.state[FREE]
    made = pool.nodes[node]
    pool.state[FREE] = made.next
    pool.state[LEFT] -= 1
    made.size = size
    made.ts = ts
    made.latency = latency
    first = node * len(pool.whole)
    for column in range(width):
        pool.totals[first + column] = came_of[column]
    return node


@njit_inlined
def free_node(pool: Pool, node: int) -> None:
    pool.nodes[node].next = pool.state[FREE]
    pool.state[FREE] = node
    pool.state[LEFT] += 1
