"""Placements as CEPSim runs them: one vertex after the other (reference/executor.py and scheduling.py).

Messages have always arrived before the tick in which they are seen, so no slice is ever split by one.
"""

from __future__ import annotations

from typing import Any

from cepheid.simulation.compiled.counts import Counts
from cepheid.simulation.compiled.course import begin_tick, end_tick
from cepheid.simulation.compiled.lanes import BEGINS, ITERATES, RUNS, Groups
from cepheid.simulation.compiled.mail import deliver_before, lose_before
from cepheid.simulation.compiled.options import inlined, kernel, pasted
from cepheid.simulation.compiled.pool import ERROR, NO_ERROR, NONE, TOO_LATE, Pool, has_nodes
from cepheid.simulation.compiled.producing import ask_producers, instructions_in, share_of_iteration
from cepheid.simulation.compiled.room import TOLD, find_need, find_room
from cepheid.simulation.compiled.seats import next_seat
from cepheid.simulation.compiled.sending import CEPSIM
from cepheid.simulation.compiled.tables import Course, Tables
from cepheid.simulation.compiled.vertex_run import nodes_needed, run_vertex

WORTH_RUNNING = 1.0


@kernel
def run_in_turn(
    tables: Tables, counts: Counts, course: Course, groups: Groups, pool: Pool, first: int, last: int
) -> bool:
    """Ticks first..last-1.  False: not done, more nodes are needed."""
    state = groups.state[0]
    while state.group < len(groups.begins) - 1:
        while state.tick < last:
            while state.member < groups.begins[state.group + 1]:
                if not run_tick(tables, counts, course, pool, state, groups.places[state.member]):
                    return False
                if pool.state[ERROR] != NO_ERROR:
                    return True
                state.member += 1
            end_tick(tables, counts, course, groups, state)
            state.member = groups.begins[state.group]
            state.tick += 1
        state.group += 1
        state.member = groups.begins[state.group]
        state.tick = first
    return True


@pasted
def run_tick(tables: Tables, counts: Counts, course: Course, pool: Pool, state: Any, number: int) -> bool:
    place = tables.places[number]
    start_s = course.start_s[state.tick]
    if state.stage == BEGINS:
        instructions = begin_tick(counts, course, place, number, state.tick)
        if place.order == place.order_end:
            return True
        if instructions <= 0.0:
            lose_before(tables, pool, number, start_s)
            return True
        state.start = start_s * 1000.0
        state.iteration = 0
        state.stage = ITERATES
    instructions = instructions_in(course, state.tick, place.capacity, place.pes)
    speed = place.capacity * 1000.0
    while state.iteration < course.iterations:
        amount = share_of_iteration(course, instructions, state.iteration, TOLD)
        end = state.start + amount / speed
        if state.stage == ITERATES:
            if not has_nodes(pool, place.sources_end - place.sources):
                return False
            ask_producers(tables, course, pool, place, state.tick, state.iteration, state.start, TOLD)
            if place.mail_head != NONE:
                deliver_before(tables, counts, pool, number, start_s, end)
            state.cursor = state.start
            state.left = amount
            state.seat = 0
            state.stage = RUNS
        if not run_vertices(tables, counts, course, pool, state, place, amount, speed):
            return False
        state.start = end
        state.iteration += 1
        state.stage = ITERATES
    if place.mail_head != NONE:
        lose_before(tables, pool, number, start_s)
    state.stage = BEGINS
    return True


@pasted
def run_vertices(
    tables: Tables, counts: Counts, course: Course, pool: Pool, state: Any, place: Any, amount: float, speed: float
) -> bool:
    """simple: everyone once, for its whole allotment.  dynamic: round and round, those that have work, until nothing is
    left."""
    minutes, seats = counts.used.shape[1], place.order_end - place.order
    cursor, left, seat = state.cursor, state.left, state.seat
    while True:
        if course.is_simple:
            if seat >= seats:
                return True
            number = tables.order[place.order + seat]
            vertex = tables.vertices[number]
            room = find_room(tables, vertex, TOLD)
            instructions = vertex.part * (amount / vertex.whole)
        else:
            if left <= 0.0:
                return True
            seat, needed, room = find_work(tables, place, seat, seats)
            if seat == NONE:
                return True
            number = tables.order[place.order + seat]
            vertex = tables.vertices[number]
            allotment = vertex.part * (amount / vertex.whole)
            instructions = min(needed, allotment)
            if left < instructions:
                instructions = left
        end = cursor + instructions / speed
        minute = int(end / 60000.0)
        if minute >= minutes:
            pool.state[ERROR] = TOO_LATE
            return True
        if not has_nodes(pool, nodes_needed(tables, vertex, cursor)):
            state.cursor = cursor
            state.left = left
            state.seat = seat
            return False
        run_vertex(tables, counts, course, pool, number, instructions, cursor, end, minute, room, CEPSIM)
        cursor = end
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
