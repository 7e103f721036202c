"""Each kind of vertex of a query graph as the simulator sees it: how many rows it gives, and when.

    ON EVENT                            an operator: a row for each event
    ON CLOSE, EVERY t                   a window: rows at fixed times, one for each group
    ON CLOSE of ROWS, EVERY n EVENTS    an operator: as many rows as groups, for each n events
    patterns, filters, joins            an operator with a selectivity: measured, given by the user, else guessed

Windows of the simulator are by time alone; those that count, or look at what events say, give their rows spread evenly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import singledispatch

from cepheid.graph.node import PlanNode
from cepheid.graph.operators import (
    Changes,
    Filter,
    HostWindow,
    OverRows,
    Project,
    Relation,
    RowPattern,
    Sequence,
    Sink,
    Source,
    TableJoin,
    Union,
    WindowAggregate,
    WindowJoin,
)
from cepheid.kernel.join import JoinInput
from cepheid.kernel.window import Evaluation, Window, WindowProgram
from cepheid.simulation.scenario import Kind
from cepheid.simulation.scenarios.default_costs import Work

# Guesses, where only the data can decide
FILTER_KEEPS = 0.5
SEQUENCES_PER_EVENT = 0.05  # Q5 of the performance study: 247,328 rows of 5 M events
MATCHES_PER_EVENT = 0.1
CLOSINGS_PER_EVENT = 0.1  # sessions, and windows that events open and close


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What comes into a vertex.  rates_per_s: of each input, by port.  keys: how many different keys events have."""

    rates_per_s: tuple[float, ...]
    keys: float

    @property
    def rate_per_s(self) -> float:
        return sum(self.rates_per_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexModel:
    """selectivity: rows for each event.  by_data: it depends on the data, so it is a guess at first.  Windows:
    `output` rows at the end of each advance, None: as many as came in."""

    kind: Kind
    work: Work
    selectivity: float = 1.0
    by_data: bool = False
    window_s: float = 0.0
    advance_s: float = 0.0
    output: float | None = None

    def rows_per_s(self, flow: Flow) -> float:
        if self.kind == "window" and self.output is not None:
            return self.output / self.advance_s
        if self.kind == "window":
            return flow.rate_per_s * self.window_s / self.advance_s
        return flow.rate_per_s * self.selectivity


@singledispatch
def model_vertex(node: PlanNode, flow: Flow) -> VertexModel:  # noqa: ARG001 (cases need it)
    raise AssertionError(f"{type(node).__name__} has no model for the simulator")


@model_vertex.register
def _(_: Source, flow: Flow) -> VertexModel:  # noqa: ARG001
    return VertexModel(kind="producer", work="read")


@model_vertex.register
def _(_: Sink, flow: Flow) -> VertexModel:  # noqa: ARG001
    return VertexModel(kind="consumer", work="hand_out")


@model_vertex.register
def _(_: Filter, flow: Flow) -> VertexModel:  # noqa: ARG001
    return VertexModel(kind="operator", work="filter", selectivity=FILTER_KEEPS, by_data=True)


@model_vertex.register
def _(_: Project, flow: Flow) -> VertexModel:  # noqa: ARG001
    return VertexModel(kind="operator", work="project")


@model_vertex.register
def _(_: Relation, flow: Flow) -> VertexModel:  # noqa: ARG001
    return VertexModel(kind="operator", work="relation", by_data=True)


@model_vertex.register
def _(_: Union, flow: Flow) -> VertexModel:  # noqa: ARG001
    return VertexModel(kind="operator", work="union")


@model_vertex.register
def _(_: TableJoin, flow: Flow) -> VertexModel:  # noqa: ARG001
    return VertexModel(kind="operator", work="look_up", by_data=True)


@model_vertex.register
def _(_: Changes, flow: Flow) -> VertexModel:  # noqa: ARG001
    """Rows as they were and as they are come in, of both only one side goes out."""
    return VertexModel(kind="operator", work="changes", selectivity=0.5, by_data=True)


@model_vertex.register
def _(_: Sequence, flow: Flow) -> VertexModel:  # noqa: ARG001
    return VertexModel(kind="operator", work="sequence", selectivity=SEQUENCES_PER_EVENT, by_data=True)


@model_vertex.register
def _(_: RowPattern, flow: Flow) -> VertexModel:  # noqa: ARG001
    return VertexModel(kind="operator", work="row_pattern", selectivity=MATCHES_PER_EVENT, by_data=True)


@model_vertex.register
def _(node: HostWindow, flow: Flow) -> VertexModel:
    program = WindowProgram(window=node.window, evaluation=Evaluation(when="close"), aggregates=node.aggregates)
    return _model_window(program, node.keys + node.groups > 0, math.inf, flow)


@model_vertex.register
def _(node: WindowAggregate, flow: Flow) -> VertexModel:
    most = math.inf if node.arrangement.limit is None else max(float(node.arrangement.limit), 0.0)
    if node.keys and node.program.window.kind == "count" and node.program.evaluation.when == "close":
        # each key counts its own events and closes its window alone; GROUP BY the same columns parts it no further
        return _model_window(node.program, node.groups > node.keys, most, flow)
    model = _model_window(node.program, node.keys + node.groups > 0, most, flow)
    if node.filtered and node.program.evaluation.when == "event":
        # events that WHERE leaves out pass through the window and give no rows
        return replace(model, selectivity=model.selectivity * FILTER_KEEPS, by_data=True)
    return model


@model_vertex.register
def _(node: WindowJoin, flow: Flow) -> VertexModel:
    """An event finds, in each other window, the events of its key: of as many as the window holds, one in `keys`."""
    sides = zip(node.program.inputs, flow.rates_per_s, strict=True)
    held = [_count_held(side, rate, flow.keys) for side, rate in sides]
    if not node.keys or any(math.isinf(events) for events in held) or flow.rate_per_s <= 0.0:
        return VertexModel(kind="operator", work="window_join", by_data=True)
    rows = 0.0
    for number, rate in enumerate(flow.rates_per_s):
        others = [events / flow.keys for place, events in enumerate(held) if place != number]
        rows += rate * math.prod(others)
    return VertexModel(kind="operator", work="window_join", selectivity=rows / flow.rate_per_s, by_data=True)


@model_vertex.register
def _(_: OverRows, flow: Flow) -> VertexModel:  # noqa: ARG001
    return VertexModel(kind="operator", work="sliding_window")


def _count_held(side: JoinInput, rate_per_s: float, keys: float) -> float:
    if side.size is None:
        return math.inf
    if side.kind == "count":
        return side.size * (keys if side.partitioned else 1.0)
    return rate_per_s * side.size / 1e6


def _model_window(program: WindowProgram, is_grouped: bool, most: float, flow: Flow) -> VertexModel:
    """most: rows of one evaluation (LIMIT)."""
    window, evaluation = program.window, program.evaluation
    inside = _count_inside(window, flow.rate_per_s)
    groups = _expect_distinct(inside, flow.keys) if is_grouped else 1.0
    if program.members:
        groups = inside  # the rows are the events themselves
    if evaluation.when in ("event", "expiry"):
        # one event enters or leaves: its group is concerned, or the whole relation is told, or old and new
        rows = {"concerned": 1.0, "all": groups, "changes": 2.0}[program.shows]
        endless = math.isinf(rows)
        return VertexModel(
            kind="operator", work="sliding_window", selectivity=1.0 if endless else min(rows, most), by_data=endless
        )
    if evaluation.when == "time" or (window.kind == "time" and window.size is not None):
        return _model_by_time(program, groups, is_grouped, most, flow)
    if evaluation.when == "count" or window.kind == "count":
        every = float(evaluation.every or window.slide or window.size or 1)
        touched = _expect_distinct(every, flow.keys) if is_grouped else 1.0
        rows = 2.0 * touched if program.shows == "changes" else groups
        endless = math.isinf(rows)
        rows = 1.0 if endless else rows
        return VertexModel(kind="operator", work="closing_window", selectivity=min(rows, most) / every, by_data=endless)
    return VertexModel(kind="operator", work="closing_window", selectivity=CLOSINGS_PER_EVENT, by_data=True)


def _model_by_time(program: WindowProgram, groups: float, is_grouped: bool, most: float, flow: Flow) -> VertexModel:
    """The simulator's windows are a whole number of advances long: others are made longer by a part of one."""
    window = program.window
    advance = program.evaluation.every if program.evaluation.when == "time" else window.slide or window.size
    assert advance, "a window that is looked at by time says when"
    size = window.size if window.kind == "time" and window.size is not None else advance
    rows: float | None = groups
    if program.shows == "changes":
        rows = 2.0 * (_expect_distinct(flow.rate_per_s * advance / 1e6, flow.keys) if is_grouped else 1.0)
    elif program.members or math.isinf(groups):
        rows = None
    if rows is not None or not math.isinf(most):
        rows = min(groups if rows is None else rows, most)
    return VertexModel(
        kind="window",
        work="closing_window",
        window_s=max(math.ceil(size / advance), 1) * advance / 1e6,
        advance_s=advance / 1e6,
        output=rows,
    )


def _count_inside(window: Window, rate_per_s: float) -> float:
    """How many events a window holds."""
    if window.size is None or window.kind in ("semantic", "session"):
        return math.inf
    return float(window.size) if window.kind == "count" else rate_per_s * window.size / 1e6


def _expect_distinct(events: float, keys: float) -> float:
    """How many different keys so many events have, if all keys are as likely."""
    return keys * -math.expm1(-events / keys)
