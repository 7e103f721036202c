"""What a window operator is given: which events a window holds, when it is evaluated, what is computed.

docs/reference/windows.md says what each of these means.  Times are microseconds, counts are events.

    Window              which events       time | count | semantic | session; sliding, hopping, jumping, landmark
    Evaluation          when evaluated     event | expiry | close | time | count
    WindowedAggregate   what is computed   one of kernel/aggregates/

Events come with two numbers: their *key* (PARTITION BY: windows of its own) and their *group* (PARTITION BY and GROUP
BY together: what a row is about), so every group belongs to one key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Int64s
from cepheid.kernel.expression import Kind
from cepheid.kernel.python_aggregate import PythonAggregate

WindowKind = Literal["time", "count", "semantic", "session"]
When = Literal["event", "expiry", "close", "time", "count"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """size: None for a landmark (and for a semantic window, which ends by `closes`); of a session, the gap.

    slide: None if the window moves with every event; else the distance of the starts of two windows (semantic: in
    opening events).  opens, closes: bool columns of the events; closes None: it never does.
    inclusive, peers: the frame of SQL's OVER (RANGE ...): [t - size, t], and all events of one time are seen together.
    """

    kind: WindowKind
    size: int | None = None
    slide: int | None = None
    opens: str | None = None
    closes: str | None = None
    inclusive: bool = False
    peers: bool = False

    @property
    def is_sliding(self) -> bool:
        """Does it move with every event?"""
        return self.kind in ("time", "count") and self.slide is None and self.size is not None

    @property
    def is_landmark(self) -> bool:
        """Does it never lose an event?"""
        return self.closes is None if self.kind == "semantic" else self.size is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """every: microseconds (time) or events (count)."""

    when: When
    every: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowedAggregate:
    """One aggregate over the events of a group in a window.

    column None: count(*).  kind: of the result (of an element, where the result is a list: least, greatest, array_agg).
    parameter: the share q of percentiles, the number k of least and greatest.
    by: the second column of min_by and max_by.  python: the functions of `python`.
    """

    function: str
    column: str | None = None
    column_kind: Kind | None = None
    kind: Kind = "int"
    by: str | None = None
    by_kind: Kind | None = None
    parameter: float = 0.0
    python: PythonAggregate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowProgram:
    """What one window vertex is to do.

    members: the rows are the events themselves; then there are no aggregates, and group and key are the same.
    shows: "concerned": rows as `evaluation` says; "all": the whole relation at every evaluation (RSTREAM); "changes":
    for every evaluation the rows of groups that were touched since the one before, as they were (sign -1) and as they
    are now (sign +1).
    """

    window: Window
    evaluation: Evaluation
    aggregates: tuple[WindowedAggregate, ...] = ()
    members: bool = False
    shows: Literal["concerned", "all", "changes"] = "concerned"


@dataclass(frozen=True, slots=True)
class ListColumn:
    """Lists, one behind another: list r is values[ends[r - 1]:ends[r]] (from 0 for the first); valid: uint8[rows]."""

    ends: Int64s
    items: Column
    valid: npt.NDArray[np.uint8] | None = None


@dataclass(frozen=True, slots=True)
class ObjectColumn:
    """What functions in Python gave."""

    values: list[Any]


AnswerColumn = Column | ListColumn | ObjectColumn


@dataclass(frozen=True, slots=True)
class WindowRows:
    """Rows of a window operator, in the order of evaluations.

    groups: int64[n]; events: int64[n], the event at which the row came out or (members) that it is, by its index
    among all events given to the operator since it began or was restored, -1 if there is none; moments: int64[n],
    time of the evaluation; starts, ends: int64[n], window_start and window_end; evaluations: int64[n], ascending,
    equal for the rows of one evaluation of a key; signs: int8[n] if the program shows changes; values: one
    column per aggregate.
    """

    groups: Int64s
    events: Int64s
    moments: Int64s
    starts: Int64s
    ends: Int64s
    evaluations: Int64s
    signs: npt.NDArray[np.int8] | None
    values: tuple[AnswerColumn, ...]

    def __len__(self) -> int:
        return len(self.groups)


def take_rows(rows: WindowRows, kept: npt.NDArray[np.bool_]) -> WindowRows:
    """Some of the rows."""
    return WindowRows(
        rows.groups[kept],
        rows.events[kept],
        rows.moments[kept],
        rows.starts[kept],
        rows.ends[kept],
        rows.evaluations[kept],
        None if rows.signs is None else rows.signs[kept],
        tuple(_take_column(column, kept) for column in rows.values),
    )


def _take_column(column: AnswerColumn, kept: npt.NDArray[np.bool_]) -> AnswerColumn:
    if isinstance(column, ObjectColumn):
        return ObjectColumn([value for value, stays in zip(column.values, kept, strict=True) if stays])
    valid = None if column.valid is None else column.valid[kept]
    if isinstance(column, Column):
        return Column(column.values[kept], valid)
    lengths = np.diff(column.ends, prepend=0)
    inside = np.repeat(kept, lengths)
    items = Column(column.items.values[inside], None if column.items.valid is None else column.items.valid[inside])
    return ListColumn(np.cumsum(lengths[kept]), items, valid)


@dataclass(frozen=True, slots=True)
class WindowEvents:
    """Events in order, for one or more programs.

    times: int64[n], ascending; keys: int64[n]; groups: int64[n] for each program; columns: by name, whatever
    aggregates and windows read.
    """

    times: Int64s
    keys: Int64s
    groups: tuple[Int64s, ...]
    columns: dict[str, Column]

    def __len__(self) -> int:
        return len(self.times)
