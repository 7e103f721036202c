"""Producers take in the events that have arrived (reference/producer.py)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cepheid.simulation.compiled.options import njit_inlined
from cepheid.simulation.compiled.pool import NONE, Pool, make_set
from cepheid.simulation.compiled.queues import append_node
from cepheid.simulation.compiled.room import ANNOUNCED, find_room
from cepheid.simulation.compiled.run_queue import raise_total
from cepheid.simulation.compiled.tables import Tables, TickTable

DEFAULT_LIMIT = 1e7
GREATEST_INT = 2147483647.0
WHOLE_ENOUGH = 1e-6


@njit_inlined
def instructions_in(tick_table: TickTable, tick: int, capacity: float, pes: float) -> float:
    length = tick_table.end_s[tick] - tick_table.start_s[tick]
    whole = float(int(capacity * length * pes * 1e6))
    return float(int(whole - tick_table.surplus_s[tick] * whole / length))


@njit_inlined
def share_of_iteration(tick_table: TickTable, instructions: float, iteration: int, bounds: int) -> float:
    count = tick_table.iterations
    if bounds != ANNOUNCED:
        return instructions / count
    each = float(int(instructions / count))
    return each if iteration < count - 1 else instructions - each * (count - 1)


@njit_inlined
def ask_producers(
    tables: Tables, tick_table: TickTable, pool: Pool, place: Any, tick: int, iteration: int, now: float, bounds: int
) -> None:
    since = now if math.isnan(place.last_asked) else place.last_asked
    for at in range(place.sources, place.sources_end):
        vertex = tables.vertices[tables.sources[at]]
        producer = tables.producers[vertex.row]
        came = find_came(tables, tick_table, producer, tick, iteration, bounds)
        if bounds == ANNOUNCED:
            born = take_in(tables, vertex, producer, came)
            ts = now
        else:
            born = take_in_patiently(tables, vertex, producer, came, bounds)
            ts = (since + now) / 2.0
        if born > 0.0:
            for column in range(vertex.width):
                pool.part[column] = 0.0
            pool.part[vertex.slot] = born
            node = make_set(pool, born, ts, 0.0, pool.part, vertex.width)
            append_node(pool, tables.queues[producer.edge], node)
            raise_total(tables, vertex, born)
    place.last_asked = now


@njit_inlined
def find_came(tables: Tables, tick_table: TickTable, producer: Any, tick: int, iteration: int, bounds: int) -> float:
    """How many events came since the iteration before."""
    number = tick * tick_table.iterations + iteration
    if producer.amounts != NONE:
        if number <= producer.begins:
            return 0.0
        return tables.amounts[producer.amounts, number - tables.first_amount[0]]
    before = producer.asked_at
    follows = producer.asked == number - 1
    if not follows and number > producer.begins:
        if iteration > 0:
            before = find_edge(tick_table, producer, tick, iteration - 1, bounds)
        else:
            before = find_edge(tick_table, producer, tick - 1, tick_table.iterations - 1, bounds)
    if iteration > 0 and follows:
        now = before + find_step(tick_table, producer, tick, bounds)
    else:
        now = find_edge(tick_table, producer, tick, iteration, bounds)
    producer.asked_at = now
    producer.asked = number
    return (now - before) / 1000.0 * producer.rate if number > producer.begins else 0.0


@njit_inlined
def find_edge(tick_table: TickTable, producer: Any, tick: int, iteration: int, bounds: int) -> float:
    """When it is asked: see clock.iteration_edges."""
    edge = tick_table.start_s[tick] * 1000.0
    if iteration > 0:
        step = find_step(tick_table, producer, tick, bounds)
        for _ in range(iteration):
            edge += step
    return edge


@njit_inlined
def find_step(tick_table: TickTable, producer: Any, tick: int, bounds: int) -> float:
    instructions = instructions_in(tick_table, tick, producer.capacity, producer.pes)
    return share_of_iteration(tick_table, instructions, 0, bounds) / speed_of(producer, bounds)


@njit_inlined
def speed_of(where: Any, bounds: int) -> float:
    """Instructions per ms of a placement, or of a producer's: CEPSim has its processors work one after the other."""
    return where.capacity * 1000.0 if bounds == ANNOUNCED else where.capacity * where.pes * 1000.0


@njit_inlined
def take_in(tables: Tables, vertex: Any, producer: Any, came: float) -> float:
    """As CEPSim: events without room stay outside, and get a new birth time when taken in."""
    limit = DEFAULT_LIMIT
    if producer.limited:
        room = find_room(tables, vertex, ANNOUNCED) - vertex.total
        limit = np.floor(max(0.0, room))
        if limit > GREATEST_INT:
            limit = GREATEST_INT
    producer.outside += came
    taken = min(producer.outside, limit)
    producer.outside -= taken
    born = np.floor(taken)
    producer.fraction += taken - born
    if producer.fraction + 0.001 > 1.0:
        born += 1.0
        producer.fraction -= 1.0
    if producer.sheds:
        producer.dropped += producer.outside
        producer.outside = 0.0
    return born


@njit_inlined
def take_in_patiently(tables: Tables, vertex: Any, producer: Any, came: float, bounds: int) -> float:
    total = producer.fraction + came
    born = np.floor(total + WHOLE_ENOUGH)
    producer.fraction = total - born
    if producer.sheds:
        room = find_room(tables, vertex, bounds) - vertex.total
        taken = min(born, room)
        if not taken > 0.0:
            taken = 0.0
        producer.dropped += born - taken
        born = taken
    return born
