"""A window over a stream, and what is computed over it each time it is looked at.

Its input has the event layout (row_pattern.py): `_time`, `_key0`, ... (PARTITION BY), `_group0`, ... (GROUP BY), and
any other column that the window, its aggregates or cells read.  Its output has one column per cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cepheid.graph.classification import Classification
from cepheid.graph.node import EngineNode, plan_node
from cepheid.kernel.aggregates.catalog import find_aggregate
from cepheid.kernel.window import Evaluation, Window, WindowedAggregate, WindowProgram

CellKind = Literal["key", "group", "row", "aggregate", "start", "end", "moment", "rank", "sign", "evaluation"]
KEPT = "_kept"  # column of the layout: does WHERE hold?


@dataclass(frozen=True, slots=True, kw_only=True)
class SortTerm:
    """A cell to sort by."""

    cell: str
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCell:
    """One value handed out per row.

    key, group: the `column` that all events of the row's key or group agree on; row: a `column` of the event itself;
    aggregate: the one with this `number`; start, end: of the window; moment: time of the evaluation;
    rank: the place of the row (rank, dense_rank or row_number: `function`) among those of its evaluation;
    sign, evaluation: for those who compare one evaluation with the next.
    """

    name: str
    kind: CellKind
    column: str | None = None
    number: int = 0
    function: str = ""
    order: tuple[SortTerm, ...] = ()

    def show(self) -> str:
        shown = self.column or {"aggregate": f"#{self.number}"}.get(self.kind, self.kind)
        return f"{shown} AS {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """ORDER BY and LIMIT, for each evaluation by itself."""

    order: tuple[SortTerm, ...] = ()
    limit: int | None = None
    offset: int = 0


@plan_node
class WindowAggregate(EngineNode):
    """keys, groups: how many PARTITION BY and GROUP BY columns; filtered: `_kept` says which events WHERE leaves in."""

    implementation: ClassVar[str] = "window_aggregate"

    program: WindowProgram
    cells: tuple[WindowCell, ...]
    keys: int
    groups: int = 0
    order: int = 1
    filtered: bool = False
    arrangement: Arrangement = Arrangement()

    def classification(self) -> Classification:
        return Classification(
            sharing="proc+source",
            required_merge="union" if self.keys else "N/A",
            required_split="attribute" if self.keys else "N/A",
            complexity="constant per event and row; logarithmic in the window for percentiles",
            selectivity="as the evaluation says",
        )

    def guess_ipe(self) -> float:
        return 60.0

    def guess_selectivity(self) -> float:
        return 1.0

    def parameters(self) -> list[str]:
        program = self.program
        shown = [show_window(program.window), show_evaluation(program.evaluation)]
        shown += [show_windowed(aggregate) for aggregate in program.aggregates]
        shown += [f"keys={self.keys}", f"groups={self.groups}"]
        if program.shows != "concerned":
            shown.append(f"shows={program.shows}")
        if self.filtered:
            shown.append("where=_kept")
        if self.arrangement.order:
            terms = [f"{term.cell}{' desc' if term.descending else ''}" for term in self.arrangement.order]
            shown.append(f"order=[{', '.join(terms)}]")
        if self.arrangement.limit is not None:
            shown.append(f"limit={self.arrangement.limit}")
        return [*shown, f"cells=[{', '.join(cell.show() for cell in self.cells)}]"]

    def aggregate_columns(self) -> list[str]:
        """The columns that the kernel computes with."""
        window = self.program.window
        read = [window.opens, window.closes]
        read += [column for aggregate in self.program.aggregates for column in (aggregate.column, aggregate.by)]
        return list(dict.fromkeys(column for column in read if column is not None))

    def read_columns(self) -> list[str]:
        groups = [f"_group{number}" for number in range(self.groups)]
        carried = [cell.column for cell in self.cells if cell.column is not None]
        kept = [KEPT] if self.filtered else []
        return list(dict.fromkeys([*groups, *kept, *self.aggregate_columns(), *carried]))

    def cell_names(self) -> list[str]:
        return [cell.name for cell in self.cells]


def show_window(window: Window) -> str:
    """The window as it is written."""
    match window.kind:
        case "semantic":
            until = f" UNTIL {window.closes}" if window.closes else ""
            extent = f"FROM {window.opens}{until}"
        case "session":
            extent = f"SESSION {_show_time(window.size)}"
        case "count":
            extent = "ROWS UNBOUNDED" if window.size is None else f"ROWS {window.size}"
        case _:
            extent = f"RANGE {_show_time(window.size)}"
    slide = window.slide if window.kind != "time" or window.slide is None else _show_time(window.slide)
    return f"[{extent}{'' if slide is None else f' SLIDE {slide}'}]"


def show_evaluation(evaluation: Evaluation) -> str:
    match evaluation.when:
        case "time":
            return f"every {_show_time(evaluation.every)}"
        case "count":
            return f"every {evaluation.every} events"
    return f"on {evaluation.when}"


def show_windowed(aggregate: WindowedAggregate) -> str:
    arguments = [aggregate.column or "*", *([aggregate.by] if aggregate.by else [])]
    if find_aggregate(aggregate.function).parameter is not None:
        arguments.append(f"{aggregate.parameter:g}")
    return f"{aggregate.function}({', '.join(arguments)})"


def _show_time(microseconds: int | None) -> str:
    return "UNBOUNDED" if microseconds is None else f"{microseconds / 1e6:g} s"
