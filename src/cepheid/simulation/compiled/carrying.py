"""From the tables of one layout to those of another: vertices, edges and machines keep their numbers, new ones follow
them, and everything keeps what it holds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.simulation.compiled.counts import TallyArrays
from cepheid.simulation.compiled.lanes import Lane
from cepheid.simulation.compiled.messages import hand_over
from cepheid.simulation.compiled.options import kernel
from cepheid.simulation.compiled.pool import FREE, LEFT, NONE, Pool, free_node, make_pool
from cepheid.simulation.compiled.tables import Tables
from cepheid.simulation.layout import WINDOW

KEPT_OF_VERTICES = ("has_begun", "total", "busy_until", "blocked_until")
KEPT_OF_EDGES = ("selectivity", "queue", "limit", "under_way")
KEPT_OF_PLACES = ("last_asked", "halted_until", "overhead", "next_trigger", "first_message", "last_message")


def carry_over(old: Tables, new: Tables) -> None:
    for name in KEPT_OF_VERTICES:
        new.vertices[name][: len(old.vertices)] = old.vertices[name]
    edges, new_edges = (len(tables.edges) - len(tables.producers) for tables in (old, new))
    for name in KEPT_OF_EDGES:
        new.edges[name][:edges] = old.edges[name][:edges]
    for rows, new_rows, shifted in ((old.producers, new.producers, "edge"), (old.windows, new.windows, "unsent")):
        for name in rows.dtype.names or ():
            if name != shifted:
                new_rows[name][: len(rows)] = rows[name]
    new.slots[: len(old.slots)] = old.slots
    new.slot_totals[: len(old.slot_totals)] = old.slot_totals
    for name in KEPT_OF_PLACES:
        new.places[name][: len(old.places)] = old.places[name]
    new.free_at[: len(old.free_at) - 1] = old.free_at[:-1]
    starts, new_starts = _queue_starts(old, edges), _queue_starts(new, new_edges)
    for start, end, new_start in zip(starts, [*starts[1:], len(old.queues)], new_starts, strict=True):
        new.queues[new_start : new_start + end - start] = old.queues[start:end]
    for place in range(len(old.places)):
        if _order_of(old, place) == _order_of(new, place):  # else a batch starts again with what is still waiting
            new.places["batch_stage"][place] = old.places["batch_stage"][place]


def _order_of(tables: Tables, place: int) -> list[int]:
    row = tables.places[place]
    return list(tables.order[row["order"] : row["order_end"]])


def _queue_starts(tables: Tables, edges: int) -> list[int]:
    """Of the input queues, those of producers, what windows hold back, and their output queues."""
    return [0, edges, len(tables.edges), len(tables.edges) + len(tables.windows)]


def update_delays(tables: Tables) -> None:
    """Of each placement: not before when the last of its vertices is free."""
    for name in ("busy_until", "blocked_until"):
        placed = tables.vertices["place"] != NONE
        np.maximum.at(tables.places[name], tables.vertices["place"][placed], tables.vertices[name][placed])


def join_pools(lanes: list[Lane], tables: Tables, stride: int) -> Pool:
    """One pool for all, wide enough for every family, with nodes numbered consecutively."""
    if len(lanes) == 1 and len(lanes[0].pool.whole) >= stride:
        return lanes[0].pool
    joined = make_pool(sum(len(lane.pool.nodes) for lane in lanes), stride)
    joined.state[FREE], joined.state[LEFT] = NONE, 0
    totals = joined.totals.reshape(-1, stride)
    shift_of_vertex = np.zeros(len(tables.vertices), np.int32)
    shift = 0
    for lane in lanes:
        nodes, count, width = lane.pool.nodes, len(lane.pool.nodes), len(lane.pool.whole)
        for name in ("next", "before"):
            _shift(nodes[name], shift)
        joined.nodes[shift : shift + count] = nodes
        totals[shift : shift + count, :width] = lane.pool.totals.reshape(-1, width)
        for name in ("first_message", "last_message"):
            links = tables.places[name][lane.groups.places]
            _shift(links, shift)
            tables.places[name][lane.groups.places] = links
        shift_of_vertex[lane.groups.vertices] = shift
        join_free(joined, int(lane.pool.state[FREE]) + shift, int(lane.pool.state[LEFT]))
        shift += count
    for name in ("head", "tail"):
        _shift(tables.queues[name], shift_of_vertex[_owners(tables)])
    return joined


def _shift(links: npt.NDArray[np.int32], shift: int | npt.NDArray[np.int32]) -> None:
    links += np.where(links != NONE, shift, 0).astype(np.int32)


def _owners(tables: Tables) -> npt.NDArray[np.int64]:
    """The vertex of each queue."""
    held = np.flatnonzero(tables.vertices["kind"] == WINDOW)
    sent = tables.edges["source"][tables.edges["sent"] != NONE]
    return np.concatenate([tables.edges["target"], held, sent]).astype(np.int64)


def join_free(pool: Pool, first: int, count: int) -> None:
    if count:
        pool.nodes["next"][find_last(pool, first)] = pool.state[FREE]
        pool.state[FREE] = first
        pool.state[LEFT] += count


@kernel
def find_last(pool: Pool, node: int) -> int:
    while pool.nodes[node].next != NONE:
        node = pool.nodes[node].next
    return node


@kernel
def reroute(tables: Tables, counts: TallyArrays, pool: Pool) -> None:
    """Messages on their way follow their vertex."""
    first, last = NONE, NONE
    for number in range(len(tables.places)):
        place = tables.places[number]
        if place.first_message != NONE:
            if last == NONE:
                first = place.first_message
            else:
                pool.nodes[last].next = place.first_message
            last = place.last_message
        place.first_message = NONE
        place.last_message = NONE
    while first != NONE:
        behind = pool.nodes[first].next
        hand_over(tables, counts, pool, first)
        first = behind


@kernel
def clear_queue(tables: Tables, pool: Pool, number: int) -> None:
    queue = tables.queues[number]
    node = queue.head
    while node != NONE:
        behind = pool.nodes[node].next
        free_node(pool, node)
        node = behind
    queue.head = NONE
    queue.tail = NONE
    queue.size = 0.0
