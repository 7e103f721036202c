"""Messages on their way to a placement: a chain, by the time of their arrival and then as they were put there."""

from __future__ import annotations

from typing import Any

from cepheid.simulation.compiled.counts import TallyArrays
from cepheid.simulation.compiled.options import njit_helper, njit_inlined
from cepheid.simulation.compiled.pool import NONE, OUTBOX, OUTBOX_END, Pool, free_node
from cepheid.simulation.compiled.queues import append_node
from cepheid.simulation.compiled.run_queue import raise_total
from cepheid.simulation.compiled.tables import Tables


@njit_inlined
def put_in_order(pool: Pool, place: Any, node: int) -> None:
    """Behind all that arrive at the same time or before."""
    before, at = place.last_message, pool.nodes[node].at
    while before != NONE and pool.nodes[before].at > at:
        before = pool.nodes[before].before
    behind = place.first_message if before == NONE else pool.nodes[before].next
    pool.nodes[node].before = before
    pool.nodes[node].next = behind
    if before == NONE:
        place.first_message = node
    else:
        pool.nodes[before].next = node
    if behind == NONE:
        place.last_message = node
    else:
        pool.nodes[behind].before = node


@njit_inlined
def unchain(pool: Pool, place: Any, node: int) -> None:
    before, behind = pool.nodes[node].before, pool.nodes[node].next
    if before == NONE:
        place.first_message = behind
    else:
        pool.nodes[before].next = behind
    if behind == NONE:
        place.last_message = before
    else:
        pool.nodes[behind].before = before


@njit_inlined
def receive(tables: Tables, pool: Pool, node: int) -> None:
    """A message, out of its chain, joins the queue at the end of its edge."""
    number, size = pool.nodes[node].edge, pool.nodes[node].size
    append_node(pool, tables.queues[number], node)
    raise_total(tables, tables.vertices[tables.edges[number].target], size)


@njit_inlined
def receive_until(tables: Tables, pool: Pool, place: Any, now: float) -> None:
    while place.first_message != NONE and pool.nodes[place.first_message].at <= now:
        node = place.first_message
        unchain(pool, place, node)
        tables.edges[pool.nodes[node].edge].under_way -= pool.nodes[node].size
        receive(tables, pool, node)


@njit_inlined
def put_in_outbox(pool: Pool, node: int) -> None:
    pool.nodes[node].next = NONE
    if pool.state[OUTBOX_END] == NONE:
        pool.state[OUTBOX] = node
    else:
        pool.nodes[pool.state[OUTBOX_END]].next = node
    pool.state[OUTBOX_END] = node


@njit_inlined
def empty_outbox(tables: Tables, counts: TallyArrays, pool: Pool) -> None:
    node = pool.state[OUTBOX]
    while node != NONE:
        behind = pool.nodes[node].next
        hand_over(tables, counts, pool, node)
        node = behind
    pool.state[OUTBOX] = NONE
    pool.state[OUTBOX_END] = NONE


@njit_inlined
def hand_over(tables: Tables, counts: TallyArrays, pool: Pool, node: int) -> None:
    """To the placement of its target; where that does not run, it is lost."""
    edge = tables.edges[pool.nodes[node].edge]
    place = tables.vertices[edge.target].place
    if place != NONE:
        put_in_order(pool, tables.places[place], node)
    else:
        counts.dropped[edge.target] += pool.nodes[node].size
        edge.under_way = 0.0
        free_node(pool, node)


@njit_helper
def deliver_before(tables: Tables, counts: TallyArrays, pool: Pool, number: int, start_s: float, end: float) -> None:
    """What has arrived before second `start_s` (and before `end`, ms).  Of several for one vertex at one instant CEPSim
    keeps one: that of the source whose name comes first."""
    place = tables.places[number]
    while place.first_message != NONE and pool.nodes[place.first_message].at < start_s:
        instant = pool.nodes[place.first_message].at * 1000.0
        if not instant < end:
            return
        node = find_first_name(tables, pool, place, start_s, instant, NONE)
        while node != NONE:
            target = tables.edges[pool.nodes[node].edge].target
            unchain(pool, place, node)
            receive(tables, pool, node)
            node = find_first_name(tables, pool, place, start_s, instant, target)
            while node != NONE:
                counts.dropped[target] += pool.nodes[node].size
                unchain(pool, place, node)
                free_node(pool, node)
                node = find_first_name(tables, pool, place, start_s, instant, target)
            node = find_first_name(tables, pool, place, start_s, instant, NONE)


@njit_helper
def find_first_name(tables: Tables, pool: Pool, place: Any, start_s: float, instant: float, target: int) -> int:
    """Of those that arrive at that instant (ms), for that vertex if one is named: the first by its second, then by the
    name of its source."""
    best, node = NONE, place.first_message
    while node != NONE and pool.nodes[node].at < start_s and pool.nodes[node].at * 1000.0 == instant:
        edge = tables.edges[pool.nodes[node].edge]
        is_first = best == NONE
        if not is_first and pool.nodes[node].at == pool.nodes[best].at:
            is_first = edge.rank < tables.edges[pool.nodes[best].edge].rank
        if is_first and (target == NONE or edge.target == target):
            best = node
        node = pool.nodes[node].next
    return best


@njit_helper
def lose_before(tables: Tables, pool: Pool, number: int, start_s: float) -> None:
    place = tables.places[number]
    while place.first_message != NONE and pool.nodes[place.first_message].at < start_s:
        node = place.first_message
        unchain(pool, place, node)
        free_node(pool, node)
