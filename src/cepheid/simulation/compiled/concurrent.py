"""Placements with several processors that really work at the same time (reference/concurrent.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.simulation.compiled.counts import Counts
from cepheid.simulation.compiled.lanes import RUNS, STARTS, Groups
from cepheid.simulation.compiled.mail import receive_until
from cepheid.simulation.compiled.options import inlined, kernel, pasted
from cepheid.simulation.compiled.pool import ERROR, NONE, TOO_LATE, Pool, has_nodes
from cepheid.simulation.compiled.queues import NEARLY_NOTHING
from cepheid.simulation.compiled.room import HARD, find_need, find_room
from cepheid.simulation.compiled.seats import next_seat
from cepheid.simulation.compiled.sending import CONCURRENT
from cepheid.simulation.compiled.tables import Course, Tables
from cepheid.simulation.compiled.tick_loop import run_iterations, run_ticks
from cepheid.simulation.compiled.vertex_run import nodes_needed, run_vertex
from cepheid.simulation.layout import WINDOW

WORTH_RUNNING = 1.0


@kernel
def run_concurrently(
    tables: Tables, counts: Counts, course: Course, groups: Groups, pool: Pool, first: int, last: int
) -> bool:
    """Ticks first..last-1.  False: not done, more nodes are needed."""
    return run_ticks(run_tick, tables, counts, course, groups, pool, first, last)


@pasted
def run_tick(tables: Tables, counts: Counts, course: Course, pool: Pool, state: Any, number: int) -> bool:
    return run_iterations(run_processors, HARD, tables, counts, course, pool, state, number)


@inlined
def begin_processors(tables: Tables, place: Any, amount: float, start: float) -> None:
    place.busy_before = place.busy_until
    for at in range(place.processors, place.processors + int(place.pes)):
        processor = tables.processors[at]
        processor.cursor = start
        processor.left = amount / place.pes


@inlined
def find_earliest(tables: Tables, place: Any) -> int:
    found = NONE
    for at in range(place.processors, place.processors + int(place.pes)):
        processor = tables.processors[at]
        if processor.left > 0.0 and (found == NONE or processor.cursor < tables.processors[found].cursor):
            found = at
    return found


@pasted
def run_processors(tables: Tables, counts: Counts, course: Course, pool: Pool, state: Any, place_number: int) -> bool:
    """simple: everyone once, in order, on the earliest free processor.  dynamic: round and round, those that have
    work."""
    place = tables.places[place_number]
    if state.stage == STARTS:
        begin_processors(tables, place, state.amount, state.start)
        state.stage = RUNS
    minutes, seats, seat = counts.used.shape[1], place.order_end - place.order, state.seat
    speed = place.capacity * 1000.0
    while True:
        earliest = find_earliest(tables, place)
        if earliest == NONE or (course.is_simple and seat >= seats):
            return True
        processor = tables.processors[earliest]
        now = processor.cursor
        receive_until(tables, pool, place, now)
        if course.is_simple:
            number = tables.order[place.order + seat]
            vertex = tables.vertices[number]
            if vertex.blocked_until > now:
                seat += 1
                continue
            room = find_room(tables, vertex, HARD)
            instructions = vertex.part * (state.amount / vertex.whole)
        else:
            found, needed, room = find_work(tables, place, seat, seats, now)
            if found == NONE:
                wait(tables, pool, place, processor, now, state.end, speed)
                continue
            seat = found
            number = tables.order[place.order + seat]
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
            state.seat = seat
            return False
        run_vertex(tables, counts, course, pool, number, instructions, now, until, minute, room, CONCURRENT)
        vertex.busy_until = until
        processor.vertex = number
        processor.cursor = until
        processor.left -= instructions
        if until > place.busy_until:
            place.busy_until = until
        if vertex.kind == WINDOW and tables.windows[vertex.row].close_at < place.next_close:
            place.next_close = tables.windows[vertex.row].close_at
        seat += 1
        if seat == seats and not course.is_simple:
            seat = 0


@inlined
def find_work(tables: Tables, place: Any, first: int, seats: int, now: float) -> Any:
    """The first seat from `first` on, round to it again, that is free and has work: seat, how many instructions, its
    room."""
    seat, turned = first, False
    while True:
        seat = next_seat(tables.words, place.words, seat, seats)
        if seat == NONE or (turned and seat >= first):
            if turned or first == 0:
                return NONE, 0.0, 0.0
            seat, turned = 0, True
            continue
        vertex = tables.vertices[tables.order[place.order + seat]]
        if vertex.busy_until <= now and vertex.blocked_until <= now:
            needed, room = find_need(tables, vertex, HARD)
            if needed > WORTH_RUNNING or (vertex.kind == WINDOW and is_due(tables, vertex, now, room)):
                return seat, needed, room
        seat += 1


@inlined
def is_due(tables: Tables, vertex: Any, now: float, room: float) -> bool:
    """A window to close, or something held back that has room now."""
    window = tables.windows[vertex.row]
    return now >= window.close_at or (tables.queues[window.unsent].size > 0.0 and room > NEARLY_NOTHING)


@inlined
def wait(tables: Tables, pool: Pool, place: Any, processor: Any, now: float, end: float, speed: float) -> None:
    """Until something arrives, a vertex is done, or a window is due."""
    until = find_next_moment(tables, place, now)
    if place.mail_head != NONE and pool.nodes[place.mail_head].at < until:
        until = pool.nodes[place.mail_head].at
    if until >= end:
        processor.left = 0.0
    else:
        processor.left -= (until - now) * speed
        processor.cursor = until


@inlined
def find_next_moment(tables: Tables, place: Any, now: float) -> float:
    """Only who was run in this iteration, by a processor each, can be busy; else, rarely, all are looked at."""
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


@inlined
def find_next_close(tables: Tables, place: Any, now: float) -> None:
    place.next_close = np.inf
    for at in range(place.order, place.order_end):
        vertex = tables.vertices[tables.order[at]]
        if vertex.kind == WINDOW and now < tables.windows[vertex.row].close_at < place.next_close:
            place.next_close = tables.windows[vertex.row].close_at
