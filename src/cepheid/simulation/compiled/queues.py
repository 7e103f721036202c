"""Queues of event sets: chains of nodes, and how many events they hold (reference/event_set_queue.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.simulation.compiled.options import njit_inlined
from cepheid.simulation.compiled.pool import ERROR, NONE, TOO_MANY, Pool, free_node, make_set

NEARLY_NOTHING = 1e-4
QUEUE = np.dtype([("size", np.float64), ("head", np.int32), ("tail", np.int32)])


@njit_inlined
def append_node(pool: Pool, queue: Any, node: int) -> None:
    pool.nodes[node].next = NONE
    if queue.tail == NONE:
        queue.head = node
    else:
        pool.nodes[queue.tail].next = node
    queue.tail = node
    queue.size += pool.nodes[node].size


@njit_inlined
def enqueue(pool: Pool, queue: Any, size: float, ts: float, latency: float, came_of: Any, width: int) -> None:
    """What is nothing at all is not stored."""
    is_something = size != 0.0
    for column in range(width):
        is_something |= came_of[column] != 0.0
    if is_something:
        append_node(pool, queue, make_set(pool, size, ts, latency, came_of, width))


@njit_inlined
def dequeue(pool: Pool, queue: Any, size: float, came_of: Any, width: int) -> Any:
    """The first `size` events as one set: size, ts, latency; its totals in `came_of`."""
    if size > queue.size:
        if size - queue.size >= NEARLY_NOTHING:
            pool.state[ERROR] = TOO_MANY
        size = queue.size
    wanted, taken, ts, latency = size, 0.0, 0.0, 0.0
    for column in range(width):
        came_of[column] = 0.0
    node = queue.head
    while node != NONE and wanted > 0.0:
        head = pool.nodes[node]
        behind = head.next
        first = node * len(pool.whole)
        if head.size <= wanted:
            many = head.size
            wanted -= many
            if many > 0.0:
                whole = taken + many
                ts = (taken * ts + many * head.ts) / whole
                latency = (taken * latency + many * head.latency) / whole
                taken = whole
            for column in range(width):
                came_of[column] += pool.totals[first + column]
            free_node(pool, node)
            node = behind
        else:
            share = wanted / head.size
            whole = taken + wanted
            ts = (taken * ts + wanted * head.ts) / whole
            latency = (taken * latency + wanted * head.latency) / whole
            taken = whole
            head.size -= wanted
            for column in range(width):
                part = share * pool.totals[first + column]
                came_of[column] += part
                pool.totals[first + column] -= part
            wanted = 0.0
            if head.size < NEARLY_NOTHING:
                free_node(pool, node)
                node = behind
    queue.head = node
    if node == NONE:
        queue.tail = NONE
    queue.size -= taken
    if queue.size < NEARLY_NOTHING:
        queue.size = 0.0
    return taken, ts, latency
