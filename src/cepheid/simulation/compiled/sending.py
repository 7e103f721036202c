"""What a vertex gives moves on: at once within its placement (CEPSim, micro-batches), at the end of the slice
(corrected), or as a message to another one."""

from __future__ import annotations

from typing import Any

from cepheid.simulation.compiled.counts import TallyArrays
from cepheid.simulation.compiled.messages import hand_over, put_in_order, put_in_outbox
from cepheid.simulation.compiled.options import njit_helper, njit_inlined
from cepheid.simulation.compiled.pool import NONE, Pool, make_set
from cepheid.simulation.compiled.queues import append_node, dequeue
from cepheid.simulation.compiled.run_queue import raise_total
from cepheid.simulation.compiled.tables import LOCAL, Tables, TickTable

CEPSIM, CONCURRENT, IN_BATCHES = range(3)


@njit_inlined
def send_on(
    tables: Tables, counts: TallyArrays, tick_table: TickTable, pool: Pool, vertex: Any, size: float, end: float,
    latency: float, manner: int,
) -> None:  # fmt: skip
    """One set through every output, its totals in pool.whole: each copy is rounded as if it had been put in an empty
    queue and taken out."""
    if not size > 0.0:
        return
    for place in range(vertex.outputs, vertex.outputs_end):
        number = tables.outputs[place]
        many = tables.edges[number].selectivity * size
        if many > 0.0:
            ts, late = (many * end) / many, (many * latency) / many
            send(tables, counts, tick_table, pool, number, many, ts, late, pool.whole, vertex.width, end, manner)


@njit_helper
def send_held(
    tables: Tables, counts: TallyArrays, tick_table: TickTable, pool: Pool, number: int, end: float, manner: int
) -> None:
    """What is in the output queues of a window, each as one set.  Within a placement nothing, or less, goes with what
    comes next."""
    vertex = tables.vertices[number]
    for place in range(vertex.outputs, vertex.outputs_end):
        edge_number = tables.outputs[place]
        edge = tables.edges[edge_number]
        queue = tables.queues[edge.sent]
        if edge.way == LOCAL and not queue.size > 0.0:
            continue
        size, ts, late = dequeue(pool, queue, queue.size, pool.part, vertex.width)
        if size > 0.0:
            send(tables, counts, tick_table, pool, edge_number, size, ts, late, pool.part, vertex.width, end, manner)


@njit_inlined
def send(
    tables: Tables, counts: TallyArrays, tick_table: TickTable, pool: Pool, number: int, size: float, ts: float,
    latency: float, came_of: Any, width: int, end: float, manner: int,
) -> None:  # fmt: skip
    edge = tables.edges[number]
    node = make_set(pool, size, ts, latency, came_of, width)
    if edge.way == LOCAL and manner != CONCURRENT:
        append_node(pool, tables.queues[number], node)
        raise_total(tables, tables.vertices[edge.target], size)
        return
    pool.nodes[node].edge = number
    if edge.way == LOCAL:
        edge.under_way += size
        pool.nodes[node].at = end
        put_in_order(pool, tables.places[tables.vertices[edge.target].place], node)
        return
    counts.sent[number] += size
    if manner == CEPSIM:
        pool.nodes[node].at = end / 1000.0 + tick_table.network_delay_s
        hand_over(tables, counts, pool, node)
        return
    edge.under_way += size
    begin, link = end, edge.link
    if link != NONE:
        if tables.free_at[link] > begin:
            begin = tables.free_at[link]
        begin += size * edge.bytes * tables.ms_per_byte[link]
        tables.free_at[link] = begin
    else:
        link = len(tables.latency_ms) - 1
    pool.nodes[node].at = begin + tables.latency_ms[link]
    put_in_outbox(pool, node)
