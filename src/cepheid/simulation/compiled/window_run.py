"""One run of a window: gives out what it held back and what closes, then gathers (reference/window.py)."""

from __future__ import annotations

from typing import Any

from cepheid.simulation.compiled.options import njit_helper, njit_inlined
from cepheid.simulation.compiled.pool import Pool
from cepheid.simulation.compiled.queues import dequeue, enqueue
from cepheid.simulation.compiled.run_queue import lower_total, settle_total
from cepheid.simulation.compiled.tables import Tables


@njit_inlined
def count_closings(window: Any, start: float) -> int:
    """Not less than how many windows close in a run that starts then."""
    if start < window.close_at:
        return 0
    return int((start - window.close_at) / window.advance) + 2


@njit_helper
def give_out(tables: Tables, pool: Pool, number: int, start: float, end: float, room: float) -> None:
    """To the output queues: first what was held back, then each window that is due."""
    vertex = tables.vertices[number]
    window = tables.windows[vertex.row]
    unsent = tables.queues[window.unsent]
    if unsent.size > 0.0 and room > 0.0:
        wanted = min(unsent.size, room)
        size, ts, latency = dequeue(pool, unsent, wanted, pool.whole, vertex.width)
        put_out(tables, pool, vertex, size, end, latency + (end - ts))
        room -= size
    while start >= window.close_at:
        room = close_window(tables, pool, vertex, end, room)
        window.close_at += window.advance
        window.index = (window.index + 1) % window.count
        reset_slots(tables, vertex, window)


@njit_inlined
def reset_slots(tables: Tables, vertex: Any, window: Any) -> None:
    channels = vertex.inputs_end - vertex.inputs
    for channel in range(channels):
        place = window.index * channels + channel
        slot = tables.slots[window.first + place]
        slot.size = 0.0
        slot.ts = 0.0
        slot.latency = 0.0
        for column in range(vertex.width):
            tables.slot_totals[window.first_total + place * vertex.width + column] = 0.0


@njit_inlined
def close_window(tables: Tables, pool: Pool, vertex: Any, end: float, room: float) -> float:
    """Gives the room that is left."""
    window = tables.windows[vertex.row]
    size, ts, latency, came = add_up_slots(tables, vertex, window)
    if not size > 0.0:
        return room
    given = came if window.output < 0.0 else window.output
    size = given
    channels, width, out, rest = vertex.inputs_end - vertex.inputs, vertex.width, pool.whole, pool.part
    for column in range(width):
        out[column] = 0.0
        for channel in range(channels):
            place = window.index * channels + channel
            out[column] += tables.slot_totals[window.first_total + place * width + column]
    if window.limits_output:
        surplus = find_surplus(tables, vertex)
        share = surplus / size if size != 0.0 else 0.0
        size -= surplus
        for column in range(width):
            out[column] -= share * out[column]
        window.dropped += surplus
    now = min(given, room)
    unsent = tables.queues[window.unsent]
    if now > 0.0:
        share = now / given
        first = share * size
        for column in range(width):
            whole = out[column]
            out[column] = share * whole
            rest[column] = whole - out[column]
        put_out(tables, pool, vertex, first, end, latency + (end - ts))
        if now < given:
            enqueue(pool, unsent, size - first, ts, latency, rest, width)
    else:
        enqueue(pool, unsent, size, ts, latency, out, width)
    return room - now


@njit_inlined
def add_up_slots(tables: Tables, vertex: Any, window: Any) -> Any:
    """Of all inputs, one after the other: size, ts, latency; and the sum of the sizes of the inputs."""
    channels = vertex.inputs_end - vertex.inputs
    size, ts, latency, came = 0.0, 0.0, 0.0, 0.0
    for channel in range(channels):
        many, at, late = 0.0, 0.0, 0.0
        for place in range(window.count):
            slot = tables.slots[window.first + place * channels + channel]
            if slot.size > 0.0:
                added = many + slot.size
                at = (many * at + slot.size * slot.ts) / added
                late = (many * late + slot.size * slot.latency) / added
                many = added
        came += many
        if many > 0.0:
            added = size + many
            ts = (size * ts + many * at) / added
            latency = (size * latency + many * late) / added
            size = added
    return size, ts, latency, came


@njit_inlined
def find_surplus(tables: Tables, vertex: Any) -> float:
    """What the fullest successor still has waiting."""
    surplus = 0.0
    for place in range(vertex.outputs, vertex.outputs_end):
        number = tables.outputs[place]
        selectivity = tables.edges[number].selectivity
        waits = tables.queues[number].size / selectivity if selectivity > 0.0 else 0.0
        if waits > surplus:
            surplus = waits
    return surplus


@njit_inlined
def put_out(tables: Tables, pool: Pool, vertex: Any, size: float, ts: float, latency: float) -> None:
    """A set, its totals in pool.whole, into every output queue."""
    for place in range(vertex.outputs, vertex.outputs_end):
        edge = tables.edges[tables.outputs[place]]
        queue = tables.queues[edge.sent]
        enqueue(pool, queue, edge.selectivity * size, ts, latency, pool.whole, vertex.width)


@njit_inlined
def gather(tables: Tables, pool: Pool, vertex: Any, most: float) -> float:
    """Events from the inputs into the current slot: how many."""
    window = tables.windows[vertex.row]
    channels, width, total = vertex.inputs_end - vertex.inputs, vertex.width, vertex.total
    if total <= 0.0:
        return 0.0
    events = min(total, most)
    size = 0.0
    for channel in range(channels):
        queue = tables.queues[tables.inputs[vertex.inputs + channel]]
        wanted = queue.size / total * events
        many, at, late = dequeue(pool, queue, wanted, pool.part, width)
        place = window.index * channels + channel
        slot = tables.slots[window.first + place]
        if many > 0.0:
            added = slot.size + many
            slot.ts = (slot.size * slot.ts + many * at) / added
            slot.latency = (slot.size * slot.latency + many * late) / added
            slot.size = added
            size += many
        for column in range(width):
            tables.slot_totals[window.first_total + place * width + column] += pool.part[column]
        lower_total(vertex, wanted)
    settle_total(tables, vertex, events)
    return size
