"""Who has work: found through the run queue, so that idle vertices are not asked."""

from __future__ import annotations

from typing import Any

from cepheid.simulation.compiled.options import njit_inlined
from cepheid.simulation.compiled.pool import NONE
from cepheid.simulation.compiled.queues import NEARLY_NOTHING
from cepheid.simulation.compiled.room import ANNOUNCED, find_need
from cepheid.simulation.compiled.run_queue import next_runnable
from cepheid.simulation.compiled.tables import Tables
from cepheid.simulation.layout import WINDOW

WORTH_RUNNING = 1.0  # instructions, see reference/scheduling.py


@njit_inlined
def find_work(tables: Tables, place: Any, first: int, count: int, now: float, bounds: int) -> Any:
    """The first vertex from position `first` on, round to it again, that is free and has work: its position, how many
    instructions, its room.  In CEPSim all are free, and windows have no work of their own."""
    position, turned = first, False
    while True:
        position = next_runnable(tables.run_queue, place.run_queue, position, count)
        if position == NONE or (turned and position >= first):
            if turned or first == 0:
                return NONE, 0.0, 0.0
            position, turned = 0, True
            continue
        vertex = tables.vertices[tables.order[place.order + position]]
        if bounds == ANNOUNCED or (vertex.busy_until <= now and vertex.blocked_until <= now):
            needed, room = find_need(tables, vertex, bounds)
            if needed > WORTH_RUNNING or (bounds != ANNOUNCED and is_due(tables, vertex, now, room)):
                return position, needed, room
        position += 1


@njit_inlined
def is_due(tables: Tables, vertex: Any, now: float, room: float) -> bool:
    """A window to close, or something held back that has room now."""
    if vertex.kind != WINDOW:
        return False
    window = tables.windows[vertex.row]
    return now >= window.close_at or (tables.queues[window.unsent].size > 0.0 and room > NEARLY_NOTHING)
