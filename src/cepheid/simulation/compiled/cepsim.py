"""Placements as CEPSim runs them: one vertex after the other (reference/executor.py and scheduling.py).

Messages have always arrived before the tick in which they are seen, so no slice is ever split by one.
"""

from __future__ import annotations

from typing import Any

from cepheid.simulation.compiled.counts import TallyArrays
from cepheid.simulation.compiled.lanes import RUNS, STARTS, Groups
from cepheid.simulation.compiled.messages import deliver_before, lose_before
from cepheid.simulation.compiled.options import inline_in_kernel, kernel
from cepheid.simulation.compiled.pool import ERROR, NONE, TOO_LATE, Pool, has_nodes
from cepheid.simulation.compiled.producing import speed_of
from cepheid.simulation.compiled.room import ANNOUNCED, find_room
from cepheid.simulation.compiled.sending import CEPSIM
from cepheid.simulation.compiled.tables import Tables, TickTable
from cepheid.simulation.compiled.tick_loop import run_iterations, run_ticks
from cepheid.simulation.compiled.vertex_run import nodes_needed, run_vertex
from cepheid.simulation.compiled.work import find_work


@kernel
def run_in_turn(
    tables: Tables, counts: TallyArrays, tick_table: TickTable, groups: Groups, pool: Pool, first: int, last: int
) -> bool:
    """Ticks first..last-1.  False: not done, more nodes are needed."""
    return run_ticks(run_tick, tables, counts, tick_table, groups, pool, first, last)


@inline_in_kernel
def run_tick(tables: Tables, counts: TallyArrays, tick_table: TickTable, pool: Pool, state: Any, number: int) -> bool:
    is_done = run_iterations(run_vertices, ANNOUNCED, tables, counts, tick_table, pool, state, number)
    if is_done and tables.places[number].first_message != NONE:
        lose_before(tables, pool, number, tick_table.start_s[state.tick])
    return is_done


@inline_in_kernel
def run_vertices(
    tables: Tables, counts: TallyArrays, tick_table: TickTable, pool: Pool, state: Any, place_number: int
) -> bool:
    """simple: each vertex once, for its whole allotment.  dynamic: round and round, those that have work, until no
    instructions are left."""
    place = tables.places[place_number]
    if state.stage == STARTS:
        if place.first_message != NONE:
            deliver_before(tables, counts, pool, place_number, tick_table.start_s[state.tick], state.end)
        state.stage = RUNS
    speed = speed_of(place, ANNOUNCED)
    minutes, count = counts.used.shape[1], place.order_end - place.order
    cursor, left, position = state.cursor, state.left, state.position
    while True:
        if tick_table.once_each:
            if position >= count:
                return True
            number = tables.order[place.order + position]
            vertex = tables.vertices[number]
            room = find_room(tables, vertex, ANNOUNCED)
            instructions = vertex.part * (state.amount / vertex.whole)
        else:
            if left <= 0.0:
                return True
            position, needed, room = find_work(tables, place, position, count, cursor, ANNOUNCED)
            if position == NONE:
                return True
            number = tables.order[place.order + position]
            vertex = tables.vertices[number]
            allotment = vertex.part * (state.amount / vertex.whole)
            instructions = min(needed, allotment)
            if left < instructions:
                instructions = left
        until = cursor + instructions / speed
        minute = int(until / 60000.0)
        if minute >= minutes:
            pool.state[ERROR] = TOO_LATE
            return True
        if not has_nodes(pool, nodes_needed(tables, vertex, cursor)):
            state.cursor = cursor
            state.left = left
            state.position = position
            return False
        run_vertex(tables, counts, tick_table, pool, number, instructions, cursor, until, minute, room, CEPSIM)
        cursor = until
        left -= instructions
        position += 1
        if position == count and not tick_table.once_each:
            position = 0
