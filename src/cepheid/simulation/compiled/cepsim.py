"""Placements as CEPSim runs them: one vertex after the other (reference/executor.py and scheduling.py).

Messages have always arrived before the tick in which they are seen, so no slice is ever split by one.
"""

from __future__ import annotations

from typing import Any

from cepheid.simulation.compiled.counts import Counts
from cepheid.simulation.compiled.lanes import RUNS, STARTS, Groups
from cepheid.simulation.compiled.mail import deliver_before, lose_before
from cepheid.simulation.compiled.options import inlined, kernel, pasted
from cepheid.simulation.compiled.pool import ERROR, NONE, TOO_LATE, Pool, has_nodes
from cepheid.simulation.compiled.producing import speed_of
from cepheid.simulation.compiled.room import TOLD, find_need, find_room
from cepheid.simulation.compiled.seats import next_seat
from cepheid.simulation.compiled.sending import CEPSIM
from cepheid.simulation.compiled.tables import Course, Tables
from cepheid.simulation.compiled.tick_loop import run_iterations, run_ticks
from cepheid.simulation.compiled.vertex_run import nodes_needed, run_vertex

WORTH_RUNNING = 1.0


@kernel
def run_in_turn(
    tables: Tables, counts: Counts, course: Course, groups: Groups, pool: Pool, first: int, last: int
) -> bool:
    """Ticks first..last-1.  False: not done, more nodes are needed."""
    return run_ticks(run_tick, tables, counts, course, groups, pool, first, last)


@pasted
def run_tick(tables: Tables, counts: Counts, course: Course, pool: Pool, state: Any, number: int) -> bool:
    is_done = run_iterations(run_vertices, TOLD, tables, counts, course, pool, state, number)
    if is_done and tables.places[number].mail_head != NONE:
        lose_before(tables, pool, number, course.start_s[state.tick])
    return is_done


@pasted
def run_vertices(tables: Tables, counts: Counts, course: Course, pool: Pool, state: Any, place_number: int) -> bool:
    """simple: everyone once, for its whole allotment.  dynamic: round and round, those that have work, until nothing is
    left."""
    place = tables.places[place_number]
    if state.stage == STARTS:
        if place.mail_head != NONE:
            deliver_before(tables, counts, pool, place_number, course.start_s[state.tick], state.end)
        state.stage = RUNS
    speed = speed_of(place, TOLD)
    minutes, seats = counts.used.shape[1], place.order_end - place.order
    cursor, left, seat = state.cursor, state.left, state.seat
    while True:
        if course.is_simple:
            if seat >= seats:
                return True
            number = tables.order[place.order + seat]
            vertex = tables.vertices[number]
            room = find_room(tables, vertex, TOLD)
            instructions = vertex.part * (state.amount / vertex.whole)
        else:
            if left <= 0.0:
                return True
            seat, needed, room = find_work(tables, place, seat, seats)
            if seat == NONE:
                return True
            number = tables.order[place.order + seat]
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
            state.seat = seat
            return False
        run_vertex(tables, counts, course, pool, number, instructions, cursor, until, minute, room, CEPSIM)
        cursor = until
        left -= instructions
        seat += 1
        if seat == seats and not course.is_simple:
            seat = 0


@inlined
def find_work(tables: Tables, place: Any, first: int, seats: int) -> Any:
    """The first seat from `first` on, round to it again, that could use instructions: seat, how many, its room."""
    seat, turned = first, False
    while True:
        seat = next_seat(tables.words, place.words, seat, seats)
        if seat == NONE or (turned and seat >= first):
            if turned or first == 0:
                return NONE, 0.0, 0.0
            seat, turned = 0, True
            continue
        needed, room = find_need(tables, tables.vertices[tables.order[place.order + seat]], TOLD)
        if needed > WORTH_RUNNING:
            return seat, needed, room
        seat += 1
