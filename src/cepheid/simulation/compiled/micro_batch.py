"""Placements that run as Spark does, in micro-batches (reference/micro_batch.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.simulation.compiled.counts import TallyArrays
from cepheid.simulation.compiled.lanes import Groups
from cepheid.simulation.compiled.messages import receive_until
from cepheid.simulation.compiled.options import inline_in_kernel, kernel, njit_inlined
from cepheid.simulation.compiled.pool import ERROR, NONE, TOO_LATE, Pool, has_nodes
from cepheid.simulation.compiled.producing import speed_of
from cepheid.simulation.compiled.room import UNBOUNDED, find_need
from cepheid.simulation.compiled.run_queue import next_runnable
from cepheid.simulation.compiled.sending import IN_BATCHES
from cepheid.simulation.compiled.tables import Tables, TickTable
from cepheid.simulation.compiled.tick_loop import run_iterations, run_ticks
from cepheid.simulation.compiled.vertex_run import nodes_needed, run_vertex
from cepheid.simulation.compiled.work import WORTH_RUNNING, is_due
from cepheid.simulation.layout import PRODUCER

ROUNDING_MS = 1e-6  # see reference/micro_batch.py


@kernel
def run_in_batches(
    tables: Tables, counts: TallyArrays, tick_table: TickTable, groups: Groups, pool: Pool, first: int, last: int
) -> bool:
    """Ticks first..last-1.  False: not done, more nodes are needed."""
    return run_ticks(run_tick, tables, counts, tick_table, groups, pool, first, last)


@inline_in_kernel
def run_tick(tables: Tables, counts: TallyArrays, tick_table: TickTable, pool: Pool, state: Any, number: int) -> bool:
    return run_iterations(run_batches, UNBOUNDED, tables, counts, tick_table, pool, state, number)


@inline_in_kernel
def run_batches(
    tables: Tables, counts: TallyArrays, tick_table: TickTable, pool: Pool, state: Any, place_number: int
) -> bool:
    place = tables.places[place_number]
    speed = speed_of(place, UNBOUNDED)
    minutes, count = counts.used.shape[1], place.order_end - place.order
    while state.left > 0.0:
        now = state.cursor
        if place.batch_stage == NONE:
            receive_until(tables, pool, place, now)
            if now + ROUNDING_MS < place.next_trigger or not has_work(tables, place, count, now):
                return True
            begin_batch(tables, tick_table, place, now, speed)
            continue
        if place.overhead > 0.0:
            used = min(place.overhead, state.left)
            state.cursor += used / speed
            state.left -= used
            place.overhead -= used
            minute = int(state.cursor / 60000.0)
            if minute >= minutes:
                pool.state[ERROR] = TOO_LATE
                return True
            counts.used[place_number, minute] += used
            continue
        if place.batch_stage == count:
            place.batch_stage = NONE
            continue
        number = tables.order[place.order + place.batch_stage]
        vertex = tables.vertices[number]
        needed, room = find_need(tables, vertex, UNBOUNDED)
        if vertex.kind == PRODUCER:
            needed = tables.producers[vertex.row].quota * vertex.ipe
        has_time = is_due(tables, vertex, now, room)
        if vertex.blocked_until > now or not (needed > WORTH_RUNNING or has_time):
            place.batch_stage += 1
            continue
        used = max(0.0, needed)
        if state.left < used:
            used = state.left
        until = now + used / speed
        minute = int(until / 60000.0)
        if minute >= minutes:
            pool.state[ERROR] = TOO_LATE
            return True
        if not has_nodes(pool, nodes_needed(tables, vertex, now)):
            return False
        run_vertex(tables, counts, tick_table, pool, number, used, now, until, minute, room, IN_BATCHES)
        if vertex.kind == PRODUCER:
            tables.producers[vertex.row].quota -= used / vertex.ipe
        if used >= needed:
            place.batch_stage += 1
        state.cursor = until
        state.left -= used
    return True


@njit_inlined
def has_work(tables: Tables, place: Any, count: int, now: float) -> bool:
    position = next_runnable(tables.run_queue, place.run_queue, 0, count)
    while position != NONE:
        vertex = tables.vertices[tables.order[place.order + position]]
        if vertex.blocked_until <= now:
            needed, room = find_need(tables, vertex, UNBOUNDED)
            if needed > WORTH_RUNNING or is_due(tables, vertex, now, room):
                return True
        position = next_runnable(tables.run_queue, place.run_queue, position + 1, count)
    return False


@njit_inlined
def begin_batch(tables: Tables, tick_table: TickTable, place: Any, now: float, speed: float) -> None:
    place.batch_stage = 0
    place.overhead = tick_table.batch_overhead_ms * speed
    if tick_table.batch_interval_ms > 0.0:
        interval = tick_table.batch_interval_ms
        place.next_trigger = (np.floor((now + ROUNDING_MS) / interval) + 1.0) * interval
    most = tick_table.batch_most if tick_table.batch_most > 0.0 else np.inf
    for at in range(place.sources, place.sources_end):
        vertex = tables.vertices[tables.sources[at]]
        tables.producers[vertex.row].quota = min(vertex.total, most)
