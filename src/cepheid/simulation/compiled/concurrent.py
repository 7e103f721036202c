"""Placements with several processors that really work at the same time (reference/concurrent.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.simulation.compiled.counts import TallyArrays
from cepheid.simulation.compiled.lanes import RUNS, STARTS, Groups
from cepheid.simulation.compiled.messages import receive_until
from cepheid.simulation.compiled.options import inline_in_kernel, kernel, njit_inlined
from cepheid.simulation.compiled.pool import ERROR, NONE, TOO_LATE, Pool, has_nodes
from cepheid.simulation.compiled.room import HARD, find_room
from cepheid.simulation.compiled.sending import CONCURRENT
from cepheid.simulation.compiled.tables import Tables, TickTable
from cepheid.simulation.compiled.tick_loop import run_iterations, run_ticks
from cepheid.simulation.compiled.vertex_run import nodes_needed, run_vertex
from cepheid.simulation.compiled.work import find_work
from cepheid.simulation.layout import WINDOW


@kernel
def run_concurrently(
    tables: Tables, counts: TallyArrays, tick_table: TickTable, groups: Groups, pool: Pool, first: int, last: int
) -> bool:
    """Ticks first..last-1.  False: not done, more nodes are needed."""
    return run_ticks(run_tick, tables, counts, tick_table, groups, pool, first, last)


@inline_in_kernel
def run_tick(tables: Tables, counts: TallyArrays, tick_table: TickTable, pool: Pool, state: Any, number: int) -> bool:
    return run_iterations(run_processors, HARD, tables, counts, tick_table, pool, state, number)


@njit_inlined
def begin_processors(tables: Tables, place: Any, amount: float, start: float) -> None:
    place.busy_before = place.busy_until
    for at in range(place.processors, place.processors + int(place.pes)):
        processor = tables.processors[at]
        processor.cursor = start
        processor.left = amount / place.pes


@njit_inlined
def find_earliest(tables: Tables, place: Any) -> int:
    found = NONE
    for at in range(place.processors, place.processors + int(place.pes)):
        processor = tables.processors[at]
        if processor.left > 0.0 and (found == NONE or processor.cursor < tables.processors[found].cursor):
            found = at
    return found


@inline_in_kernel
def run_processors(
    tables: Tables, counts: TallyArrays, tick_table: TickTable, pool: Pool, state: Any, place_number: int
) -> bool:
    """simple: each vertex once, in order, on the earliest free processor.  dynamic: round and round, those that have
    work."""
    place = tables.places[place_number]
    if state.stage == STARTS:
        begin_processors(tables, place, state.amount, state.start)
        state.stage = RUNS
    minutes, count, position = counts.used.shape[1], place.order_end - place.order, state.position
    speed = place.capacity * 1000.0
    while True:
        earliest = find_earliest(tables, place)
        if earliest == NONE or (tick_table.once_each and position >= count):
            return True
        processor = tables.processors[earliest]
        now = processor.cursor
        receive_until(tables, pool, place, now)
        if tick_table.once_each:
            number = tables.order[place.order + position]
            vertex = tables.vertices[number]
            if vertex.blocked_until > now:
                position += 1
                continue
            room = find_room(tables, vertex, HARD)
            instructions = vertex.part * (state.amount / vertex.whole)
        else:
            found, needed, room = find_work(tables, place, position, count, now, HARD)
            if found == NONE:
                wait(tables, pool, place, processor, now, state.end, speed)
                continue
            position = found
            number = tables.order[place.order + position]
            vertex = tables.vertices[number]
            allotment = vertex.part * (state.amount / vertex.whole)
            instructions = max(0.0, needed)
            if allotment < instructions:
                instructions = allotment
        if processor.left < instructions:
            instructions = processor.left
        until = now + instructions / speed
        minute = int(until / 60000.0)
        if minute >= minutes:
            pool.state[ERROR] = TOO_LATE
            return True
        if not has_nodes(pool, nodes_needed(tables, vertex, now)):
            state.position = position
            return False
        run_vertex(tables, counts, tick_table, pool, number, instructions, now, until, minute, room, CONCURRENT)
        vertex.busy_until = until
        processor.vertex = number
        processor.cursor = until
        processor.left -= instructions
        if until > place.busy_until:
            place.busy_until = until
        if vertex.kind == WINDOW and tables.windows[vertex.row].close_at < place.next_close:
            place.next_close = tables.windows[vertex.row].close_at
        position += 1
        if position == count and not tick_table.once_each:
            position = 0


@njit_inlined
def wait(tables: Tables, pool: Pool, place: Any, processor: Any, now: float, end: float, speed: float) -> None:
    """Until something arrives, a vertex is done, or a window is due."""
    until = find_next_moment(tables, place, now)
    if place.first_message != NONE and pool.nodes[place.first_message].at < until:
        until = pool.nodes[place.first_message].at
    if until >= end:
        processor.left = 0.0
    else:
        processor.left -= (until - now) * speed
        processor.cursor = until


@njit_inlined
def find_next_moment(tables: Tables, place: Any, now: float) -> float:
    """Only vertices that a processor ran in this iteration can be busy; in rare other cases all are examined."""
    until = np.inf
    if now < place.busy_before or now < place.blocked_until:
        for at in range(place.order, place.order_end):
            vertex = tables.vertices[tables.order[at]]
            if now < vertex.busy_until < until:
                until = vertex.busy_until
            if now < vertex.blocked_until < until:
                until = vertex.blocked_until
    else:
        for at in range(place.processors, place.processors + int(place.pes)):
            number = tables.processors[at].vertex
            if number != NONE and now < tables.vertices[number].busy_until < until:
                until = tables.vertices[number].busy_until
    if now >= place.next_close:
        find_next_close(tables, place, now)
    return min(until, place.next_close)


@njit_inlined
def find_next_close(tables: Tables, place: Any, now: float) -> None:
    place.next_close = np.inf
    for at in range(place.order, place.order_end):
        vertex = tables.vertices[tables.order[at]]
        if vertex.kind == WINDOW and now < tables.windows[vertex.row].close_at < place.next_close:
            place.next_close = tables.windows[vertex.row].close_at
