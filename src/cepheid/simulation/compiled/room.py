"""How many events a vertex may process until a successor has no room for the results (reference/ports.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.simulation.compiled.options import njit_inlined
from cepheid.simulation.compiled.pool import NONE
from cepheid.simulation.compiled.tables import Tables
from cepheid.simulation.layout import CONSUMER, WINDOW

ANNOUNCED, HARD, UNBOUNDED = range(3)


@njit_inlined
def find_room(tables: Tables, vertex: Any, bounds: int) -> float:
    """ANNOUNCED: as the successors said when they last ran.  HARD: as it is now, events under way included."""
    room = np.inf
    if bounds == UNBOUNDED:
        return room
    for place in range(vertex.outputs, vertex.outputs_end):
        number = tables.outputs[place]
        edge = tables.edges[number]
        selectivity = edge.selectivity
        if selectivity <= 0.0:
            continue
        here = edge.limit
        if bounds == HARD and edge.queue > 0.0:
            here = edge.queue - tables.queues[number].size - edge.under_way
        if selectivity != 1.0:
            here /= selectivity
        if edge.sent != NONE:  # only windows leave something in their output queues
            here -= tables.queues[edge.sent].size / selectivity
        if here < room:
            room = here
    return room


@njit_inlined
def update_limits(tables: Tables, vertex: Any) -> None:
    for place in range(vertex.inputs, vertex.inputs_end):
        number = tables.inputs[place]
        edge = tables.edges[number]
        if edge.queue > 0.0:
            edge.limit = edge.queue - tables.queues[number].size


@njit_inlined
def find_need(tables: Tables, vertex: Any, bounds: int) -> Any:
    """How many instructions a vertex could use now, and its room (of consumers: any)."""
    events, room = vertex.total, np.inf
    if vertex.kind != CONSUMER:
        room = find_room(tables, vertex, bounds)
        if vertex.kind != WINDOW and room < events:
            events = room
    return events * vertex.ipe, room
