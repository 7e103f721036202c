"""One run of one vertex: takes what it may from its inputs, is counted, sends the results on."""

from __future__ import annotations

from typing import Any

from cepheid.simulation.compiled.counts import TallyArrays, observe
from cepheid.simulation.compiled.options import njit_inlined
from cepheid.simulation.compiled.pool import NONE, Pool
from cepheid.simulation.compiled.queues import dequeue
from cepheid.simulation.compiled.room import update_limits
from cepheid.simulation.compiled.run_queue import clear_runnable, lower_total, settle_total
from cepheid.simulation.compiled.sending import CEPSIM, send_held, send_on
from cepheid.simulation.compiled.tables import Tables, TickTable
from cepheid.simulation.compiled.window_run import count_closings, gather, give_out
from cepheid.simulation.layout import CONSUMER, PRODUCER, WINDOW


@njit_inlined
def nodes_needed(tables: Tables, vertex: Any, start: float) -> int:
    """At most so many sets are made in a run."""
    outputs = vertex.outputs_end - vertex.outputs
    if vertex.kind != WINDOW:
        return outputs
    return (count_closings(tables.windows[vertex.row], start) + 3) * (outputs + 1)


@njit_inlined
def run_vertex(
    tables: Tables, counts: TallyArrays, tick_table: TickTable, pool: Pool, number: int, instructions: float,
    start: float, end: float, minute: int, room: float, manner: int,
) -> None:  # fmt: skip
    vertex = tables.vertices[number]
    most = instructions / vertex.ipe
    if vertex.kind == WINDOW:
        window = tables.windows[vertex.row]
        if start >= window.close_at or tables.queues[window.unsent].size > 0.0:
            give_out(tables, pool, number, start, end, room)
        size, latency = gather(tables, pool, vertex, most), 0.0
    else:
        if vertex.kind != CONSUMER and room < most:
            most = room
        size, ts, latency = take(tables, pool, vertex, most)
        latency += end - ts
    if manner == CEPSIM:
        update_limits(tables, vertex)
    observe(tables, counts, pool, number, instructions, end, minute, size, latency)
    if vertex.kind != WINDOW:
        if vertex.total == 0.0:
            clear_runnable(tables.run_queue, tables.places[vertex.place].run_queue, vertex.position)
        send_on(tables, counts, tick_table, pool, vertex, size, end, latency, manner)
    elif holds_output(tables, vertex):
        send_held(tables, counts, tick_table, pool, number, end, manner)


@njit_inlined
def holds_output(tables: Tables, vertex: Any) -> bool:
    for place in range(vertex.outputs, vertex.outputs_end):
        if tables.queues[tables.edges[tables.outputs[place]].sent].head != NONE:
            return True
    return False


@njit_inlined
def take(tables: Tables, pool: Pool, vertex: Any, most: float) -> Any:
    """Up to `most` events, from each input in proportion to what it holds, as one set; its totals in pool.whole."""
    width, total = vertex.width, vertex.total
    for column in range(width):
        pool.whole[column] = 0.0
    if total <= 0.0:
        return 0.0, 0.0, 0.0
    events = min(total, most)
    size, ts, latency = 0.0, 0.0, 0.0
    for place in range(vertex.inputs, vertex.inputs_end):
        queue = tables.queues[tables.inputs[place]]
        wanted = max(0.0, events) if vertex.kind == PRODUCER else queue.size / total * events
        many, at, late = dequeue(pool, queue, wanted, pool.part, width)
        for column in range(width):
            pool.whole[column] += pool.part[column]
        if vertex.kind == PRODUCER:  # it has one queue, and nothing to add up
            vertex.total = queue.size
            return many, at, late
        if many > 0.0:
            added = size + many
            ts = (size * ts + many * at) / added
            latency = (size * latency + many * late) / added
            size = added
        lower_total(vertex, wanted)
    settle_total(tables, vertex, events)
    return size, ts, latency
