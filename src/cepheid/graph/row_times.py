"""The times of rows of windows, patterns and joins: which of their columns can order those who read them.

    SELECT window_end AS at, max(ts) AS last, sum(v) ... [RANGE 1 MINUTE SLIDE 1 MINUTE]

    moment of the row     at            never behind it
    time of an event      last          behind it by a minute at most
    a moment before it    window_end - INTERVAL '1' MILLISECOND, as TUMBLE_ROWTIME is

An engine knows the oldest moment of the rows that it may still give; what is read from them is no older than that less
the lag of the column.  A column without such a bound, as the oldest time in a window of 100 events, orders nothing
while the stream goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.graph.column_origin import follow_column, is_time_of_match
from cepheid.graph.node import COMPUTED, MADE_HERE
from cepheid.graph.operators import OverRows, Project, RowPattern, Sequence, Source, Union, WindowAggregate, WindowJoin
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.window import WindowedAggregate
from cepheid.scalars.value import Column, Literal, Operation, Scalar

OF_NEWEST = ("max", "last")  # aggregates that are the newest time of their events
SHIFTS = {"HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000, "MILLISECOND": 1000, "MICROSECOND": 1}
OF_ONE = (*OF_NEWEST, "min", "first")  # that are the time of one of them


@dataclass(frozen=True, slots=True)
class RowTime:
    """The vertex whose rows tell their time, and how far behind its moment that time may be, in microseconds."""

    vertex: str
    lag: int = 0


@dataclass(frozen=True, slots=True)
class StreamTime:
    """A column of a stream that users push."""

    stream: str
    column: str


def trace_times(graph: QueryGraph, vertex: str, column: str) -> list[StreamTime | RowTime] | None:
    """Where the times in a column come from, several through a union; None if nothing bounds some of them."""
    found = _follow_time(graph, vertex, column)
    if found is None:
        return None
    made, name, behind = found
    match graph.vertices[made]:
        case Union():
            below = [trace_times(graph, source, name) for source in graph.inputs(made)]
            times = [time for each in below for time in each or ()]
            return None if None in below else _put_behind(times, behind)
        case Source(name=stream):
            return _put_behind([StreamTime(stream, name)], behind)
    time = trace_row_time(graph, made, name)
    return None if time is None else _put_behind([time], behind)


def _put_behind(times: list[StreamTime | RowTime], behind: int) -> list[StreamTime | RowTime] | None:
    """Times that lie before others; of events that users push, nobody knows those before."""
    if not behind:
        return times
    rows = [time for time in times if isinstance(time, RowTime)]
    return [RowTime(time.vertex, max(0, time.lag + behind)) for time in rows] if len(rows) == len(times) else None


def _follow_time(graph: QueryGraph, vertex: str, column: str) -> tuple[str, str, int] | None:
    """The vertex where a time is made, its name there, and how long before it the column lies, in microseconds."""
    behind = 0
    while True:
        node = graph.vertices[vertex]
        origin = node.origin(column)
        if origin == MADE_HERE:
            return vertex, column, behind
        if origin == COMPUTED:
            shifted = _read_shift(dict(node.columns)[column]) if isinstance(node, Project) else None
            if shifted is None:
                return None
            column, before = shifted
            behind += before
            vertex = graph.inputs(vertex)[0]
            continue
        number, column = origin
        vertex = graph.inputs(vertex)[number]


def _read_shift(value: Scalar) -> tuple[str, int] | None:
    """x - INTERVAL '1' SECOND: the column, and how long before it that is.  (Days differ in length.)"""
    if not isinstance(value, Operation) or value.kind not in ("sub", "add"):
        return None
    match value.part("this"), value.part("expression"):
        case Column(name=name), Operation(kind="interval") as interval:
            amount, unit = interval.part("this"), interval.part("unit")
            if isinstance(amount, Literal) and amount.text.isdigit() and isinstance(unit, Operation):
                length = SHIFTS.get(str(unit.part("this")).upper())
                sign = 1 if value.kind == "sub" else -1
                return None if length is None else (name, sign * int(amount.text) * length)
    return None


def trace_row_time(graph: QueryGraph, vertex: str, column: str) -> RowTime | None:
    """Where in an engine the times in a column come from; None if nothing bounds them."""
    found = follow_column(graph, vertex, column)
    if found is None:
        return None
    made, name = found
    match graph.vertices[made]:
        case RowPattern(cells=cells) | Sequence(cells=cells):
            cell = next(cell for cell in cells if cell.name == name)
            lag = 0 if is_time_of_match(cell) else None
        case WindowAggregate() as window:
            lag = _lag_of_window(graph, made, window, name)
        case OverRows(cells=over_cells):
            over = next(cell for cell in over_cells if cell.name == name)
            lag = 0 if over.kind == "row" and _is_time(graph, made, over.input, over.column) else None
        case WindowJoin() as join:
            lag = _lag_of_join(graph, made, join, name)
        case _:
            lag = None
    return None if lag is None else RowTime(made, lag)


def _lag_of_window(graph: QueryGraph, vertex: str, node: WindowAggregate, name: str) -> int | None:
    cell = next(cell for cell in node.cells if cell.name == name)
    evaluation = node.program.evaluation
    if cell.kind == "moment":
        return 0
    if node.program.shows == "changes":
        return None  # rows as they were before
    if cell.kind in ("row", "key", "group"):
        if not _is_time(graph, vertex, 0, cell.column):
            return None
        return 0 if cell.kind == "row" and evaluation.when == "event" else _span(node)
    if cell.kind == "start":
        return _span(node)
    if cell.kind == "end":
        return _lag_of_newest(node) if _span(node) is None else 0
    if cell.kind == "aggregate":
        aggregate = node.program.aggregates[cell.number]
        return _lag_of_aggregate(graph, vertex, node, aggregate)
    return None


def _lag_of_aggregate(
    graph: QueryGraph, vertex: str, node: WindowAggregate, aggregate: WindowedAggregate
) -> int | None:
    if aggregate.function not in OF_ONE or not _is_time(graph, vertex, 0, aggregate.column):
        return None
    if _span(node) is not None:
        return _span(node)
    is_newest = aggregate.function in OF_NEWEST and _is_of_whole_windows(graph, vertex, node)
    return _lag_of_newest(node) if is_newest else None


def _lag_of_newest(node: WindowAggregate) -> int | None:
    """Of the newest event of a window that has no length in time: most are looked at when it arrives."""
    if node.program.window.kind == "session":
        return node.program.window.size
    return 0 if node.program.evaluation.when in ("event", "count", "close") else None


def _span(node: WindowAggregate) -> int | None:
    """How far before the moment of a row its window may begin; it ends there, or later while it is open."""
    window = node.program.window
    return window.size if window.kind == "time" else None


def _is_of_whole_windows(graph: QueryGraph, vertex: str, node: WindowAggregate) -> bool:
    """Is a row about all events of a window, none left out by WHERE or another group?"""
    meanings = _layout_of(graph, vertex, 0)
    keys = [meanings[f"_key{number}"] for number in range(node.keys)]
    return not node.filtered and all(meanings[f"_group{number}"] in keys for number in range(node.groups))


def _lag_of_join(graph: QueryGraph, vertex: str, node: WindowJoin, name: str) -> int | None:
    """The later event of a pair is its moment; the other one is still in its window then."""
    cell = next(cell for cell in node.cells if cell.name == name)
    if cell.input < 0:
        return 0
    window = node.program.inputs[cell.input]
    return window.size if window.kind == "time" and _is_time(graph, vertex, cell.input, cell.column) else None


def _is_time(graph: QueryGraph, vertex: str, number: int, column: str | None) -> bool:
    """Is a column of an input the event's own time?"""
    meanings = _layout_of(graph, vertex, number)
    return column is not None and meanings.get(column) == meanings["_time"]


def _layout_of(graph: QueryGraph, vertex: str, number: int) -> dict[str, object]:
    layout = graph.vertices[graph.inputs(vertex)[number]]
    assert isinstance(layout, Project), "the event layout is a projection"
    return dict(layout.columns)
