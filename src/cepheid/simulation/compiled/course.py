"""Group after group, tick after tick: what the three ways to run a placement have in common."""

from __future__ import annotations

from typing import Any

from cepheid.simulation.compiled.counts import Counts
from cepheid.simulation.compiled.lanes import Groups
from cepheid.simulation.compiled.options import inlined
from cepheid.simulation.compiled.producing import instructions_in
from cepheid.simulation.compiled.tables import Course, Tables
from cepheid.simulation.layout import WINDOW


@inlined
def begin_tick(counts: Counts, course: Course, place: Any, number: int, tick: int) -> float:
    """How many instructions the placement has."""
    instructions = instructions_in(course, tick, place.capacity, place.pes)
    counts.offered[number, int(course.start_s[tick] / 60.0)] += instructions
    return instructions


@inlined
def end_tick(tables: Tables, counts: Counts, course: Course, groups: Groups, state: Any) -> None:
    """At the queues is looked once a second."""
    start_s = course.start_s[state.tick]
    if int(start_s) == int(course.end_s[state.tick]):
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
