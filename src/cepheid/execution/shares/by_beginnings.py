"""Events handed out by what begins with them: a pattern without a key, whose matches do not hang together.

    SEQ(s a, s+ b[], r c) WHERE a.v < c.v WITHIN d      a1 ──────▶ process 0: the matches that begin with a1
                                                        a2 ──────▶ process 1: those that begin with a2

Each first event opens a window that lasts as long as WITHIN, and windows overlap, so that every process has all events;
but an event begins matches in one of them only.  Which, its number says, by a hash: in a row of every other event it is
not always the same that can begin.  So matching is shared out, and taking events in is not.

Not for patterns in which one match decides about another (CONSUME, LIMIT PARTIALS, MATCH_RECOGNIZE's SKIP), and not
where the first step repeats, or is one of several.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.execution.shares.picked_columns import pick_columns
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import Filter, Project, Sequence, Sink, Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.expression import Call, Cell, Constant, Expression, Position
from cepheid.kernel.key_hash import group_keys
from cepheid.kernel.pattern import Absent, SequenceProgram, Step
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.scalars.value import Column

BEGINS = "_begins"  # may a match begin with the event, in this process?


@dataclass(slots=True)
class ByBeginnings:
    """stream: of the first step.  count: of its events, so far."""

    placed: PlacedGraph
    schemas: Mapping[str, pa.Schema]
    stream: str
    count: int = 0
    repeats: bool = field(default=True, init=False)

    def part(self, stream: str, table: pa.Table, ways: int) -> list[pa.Table]:
        schema = self.schemas[stream]
        chosen = table.select([name for name in schema.names if name != BEGINS])
        if stream != self.stream:
            return [chosen] * ways
        numbers = pa.chunked_array([pa.array(np.arange(self.count, self.count + len(table)))])
        self.count += len(table)
        owners = group_keys([numbers], len(table), ways)
        mine = ((owners == way).astype(np.int8) for way in range(ways))
        return [chosen.append_column(schema.field(BEGINS), pa.array(begins)) for begins in mine]

    def write_state(self) -> dict[str, Any]:
        return {"count": self.count}

    def read_state(self, state: Mapping[str, Any]) -> None:
        self.count = state["count"]


def find_beginnings(placed: PlacedGraph, schemas: Mapping[str, pa.Schema]) -> ByBeginnings | None:
    """None: this will not do."""
    graph = placed.graph
    engines = [vertex for vertex, node in graph.vertices.items() if isinstance(node, EngineNode)]
    if len(engines) != 1 or any(BEGINS in schema.names for schema in schemas.values()):
        return None
    (vertex,) = engines
    node = graph.vertices[vertex]
    if not isinstance(node, Sequence) or any(cell.tells_number() for cell in node.cells):
        return None
    if not _is_row_wise(graph, vertex):
        return None
    place = _find_first(node.program)
    if place is None:
        return None
    first = node.program.items[place]
    assert isinstance(first, Step), "that is what was looked for"
    feed = graph.inputs(vertex)[first.stream]
    stream = _find_stream(graph, feed)
    projection = graph.vertices[feed]
    if stream is None or not isinstance(projection, Project):
        return None
    items = (*node.program.items[:place], _only_own(first), *node.program.items[place + 1 :])
    changed = {
        vertex: replace(node, program=replace(node.program, items=items)),
        feed: replace(projection, columns=(*projection.columns, (BEGINS, Column(BEGINS)))),
    }
    marked = QueryGraph({**graph.vertices, **changed}, graph.edges)
    handed = {name: pick_columns(graph, name, schema) for name, schema in schemas.items()}
    handed[stream] = handed[stream].append(pa.field(BEGINS, pa.int8()))
    return ByBeginnings(PlacedGraph(marked, placed.places), handed, stream)


def _find_first(program: SequenceProgram) -> int | None:
    """The place of the first step, if each event that fits it begins matches of its own."""
    if program.consume or program.limit is not None or program.flow is not None or program.within is None:
        return None
    for place, item in enumerate(program.items):
        if isinstance(item, Step):
            return None if item.repeated else place
        if not isinstance(item, Absent):
            return None
    return None


def _only_own(step: Step) -> Step:
    """The step, for events with which a match may begin here."""
    own: Expression = Call("eq", (Cell(BEGINS, "int", Position((step.variable,))), Constant(1, "int")), "bool")
    return replace(step, condition=own if step.condition is None else Call("and", (own, step.condition), "bool"))


def _find_stream(graph: QueryGraph, feed: str) -> str | None:
    """The stream that a projection is over, with nothing but filters in between."""
    below = graph.inputs(feed)[0]
    while isinstance(graph.vertices[below], Filter):
        (below,) = graph.inputs(below)
    node = graph.vertices[below]
    return node.name if isinstance(node, Source) else None


def _is_row_wise(graph: QueryGraph, vertex: str) -> bool:
    """Is each row of the pattern looked at by itself above it?"""
    above = [graph.vertices[name] for name in graph.reach(vertex, graph.outputs) if name != vertex]
    return all(isinstance(node, Filter | Project | Sink) for node in above)
