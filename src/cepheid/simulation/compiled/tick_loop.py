"""Group after group, tick after tick: what the ways to run a placement have in common."""

from __future__ import annotations

from typing import Any

from cepheid.simulation.compiled.counts import TallyArrays
from cepheid.simulation.compiled.lanes import BEGINS, ITERATES, STARTS, Groups
from cepheid.simulation.compiled.messages import empty_outbox
from cepheid.simulation.compiled.options import inline_in_kernel, njit_inlined
from cepheid.simulation.compiled.pool import ERROR, NO_ERROR, Pool, has_nodes
from cepheid.simulation.compiled.producing import ask_producers, instructions_in, share_of_iteration, speed_of
from cepheid.simulation.compiled.room import ANNOUNCED
from cepheid.simulation.compiled.tables import Tables, TickTable
from cepheid.simulation.layout import WINDOW


@inline_in_kernel
def run_ticks(
    run_tick: Any,
    tables: Tables,
    counts: TallyArrays,
    tick_table: TickTable,
    groups: Groups,
    pool: Pool,
    first: int,
    last: int,
) -> bool:
    """Ticks first..last-1, each by `run_tick` for every placement.  False: not done, more nodes are needed."""
    state = groups.state[0]
    while state.group < len(groups.begins) - 1:
        while state.tick < last:
            while state.member < groups.begins[state.group + 1]:
                if not run_tick(tables, counts, tick_table, pool, state, groups.places[state.member]):
                    return False
                if pool.state[ERROR] != NO_ERROR:
                    return True
                state.member += 1
            empty_outbox(tables, counts, pool)
            end_tick(tables, counts, tick_table, groups, state)
            state.member = groups.begins[state.group]
            state.tick += 1
        state.group += 1
        state.member = groups.begins[state.group]
        state.tick = first
    return True


@inline_in_kernel
def run_iterations(
    run: Any,
    bounds: int,
    tables: Tables,
    counts: TallyArrays,
    tick_table: TickTable,
    pool: Pool,
    state: Any,
    number: int,
) -> bool:
    """A tick of one placement: in each iteration producers take in arrived events, then vertices `run`.  False: not
    done, more nodes are needed; `state` says where to go on."""
    place = tables.places[number]
    instructions = instructions_in(tick_table, state.tick, place.capacity, place.pes)
    if state.stage == BEGINS:
        counts.offered[number, int(tick_table.start_s[state.tick] / 60.0)] += instructions
        if place.order == place.order_end or (bounds == ANNOUNCED and instructions <= 0.0):
            return True
        state.start = tick_table.start_s[state.tick] * 1000.0
        state.iteration = 0
        state.stage = ITERATES
    while state.iteration < tick_table.iterations:
        if state.stage == ITERATES:
            if not has_nodes(pool, place.sources_end - place.sources):
                return False
            ask_producers(tables, tick_table, pool, place, state.tick, state.iteration, state.start, bounds)
            state.amount = share_of_iteration(tick_table, instructions, state.iteration, bounds)
            state.end = state.start + state.amount / speed_of(place, bounds)
            state.cursor = state.start
            state.left = state.amount
            state.position = 0
            state.stage = STARTS
        is_up = state.start >= place.halted_until
        if is_up and not run(tables, counts, tick_table, pool, state, number):
            return False
        state.start = state.end
        state.iteration += 1
        state.stage = ITERATES
    state.stage = BEGINS
    return True


@njit_inlined
def end_tick(tables: Tables, counts: TallyArrays, tick_table: TickTable, groups: Groups, state: Any) -> None:
    """Queues are sampled once a second."""
    start_s = tick_table.start_s[state.tick]
    if int(start_s) == int(tick_table.end_s[state.tick]):
        return
    minute = int(start_s / 60.0)
    for member in range(groups.vertices_begin[state.group], groups.vertices_begin[state.group + 1]):
        number = groups.vertices[member]
        vertex = tables.vertices[number]
        waits = vertex.total
        if vertex.kind == WINDOW:
            waits += tables.queues[tables.windows[vertex.row].unsent].size
        counts.waiting[number, minute] += waits
        if waits > counts.most_waiting[number, minute]:
            counts.most_waiting[number, minute] = waits
