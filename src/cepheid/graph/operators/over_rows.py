"""Rows with what functions OVER pick from the rows around them: LAG, LEAD, FIRST_VALUE, ROW_NUMBER and their like.

Its input has the event layout (row_pattern.py): `_time`, `_order1`, ..., `_key0`, ... (PARTITION BY), and any other
column that functions or cells read.  Its output has one row for each of its input, once that is settled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cepheid.graph.classification import Classification
from cepheid.graph.node import EngineNode, plan_node
from cepheid.graph.operators.window_aggregate import show_windowed
from cepheid.kernel.over import OverFrame, OverFunction, OverProgram
from cepheid.kernel.window import WindowedAggregate


@dataclass(frozen=True, slots=True, kw_only=True)
class OverCell:
    """row: a `column` of the row itself; picked: of the row that function `number` picks, null if it picks none; found:
    does it pick one; number: what a function counts; aggregate: the one with that number, over the frame.  input: that
    of the row itself, where there are several."""

    name: str
    kind: Literal["row", "picked", "found", "number", "aggregate"]
    column: str | None = None
    number: int = 0
    input: int = 0

    def show(self) -> str:
        what = {"picked": f"#{self.number}.", "found": f"#{self.number} found", "row": ""}
        return f"{what.get(self.kind, f'{self.kind} #{self.number}')}{self.column or ''} AS {self.name}"


@plan_node
class OverRows(EngineNode):
    """aggregates: over the frame of the program."""

    implementation: ClassVar[str] = "over_rows"

    program: OverProgram
    cells: tuple[OverCell, ...]
    keys: int
    order: int = 1
    aggregates: tuple[WindowedAggregate, ...] = ()

    def classification(self) -> Classification:
        return Classification(
            sharing="proc+source",
            required_merge="union" if self.keys else "N/A",
            required_split="attribute" if self.keys else "N/A",
            complexity="constant per row, but for sorting by key",
            selectivity="one row for each",
        )

    def guess_ipe(self) -> float:
        return 80.0

    def guess_selectivity(self) -> float:
        return 1.0

    def parameters(self) -> list[str]:
        return [*self.show_functions(), f"keys={self.keys}", f"cells=[{', '.join(cell.show() for cell in self.cells)}]"]

    def show_functions(self) -> list[str]:
        frame = self.program.frame
        aggregates = [f"{show_windowed(aggregate)} {show_frame(frame)}" for aggregate in self.aggregates]
        return [*(show_function(function, frame) for function in self.program.functions), *aggregates]

    def value_columns(self) -> list[str]:
        """Columns of which only rows with a value count."""
        columns = (*self.program.sequences, self.program.about)
        return list(dict.fromkeys(column for column in columns if column is not None))

    def read_columns(self) -> list[str]:
        carried = [cell.column for cell in self.cells if cell.column is not None]
        aggregated = [column for each in self.aggregates for column in (each.column, each.by) if column is not None]
        return list(dict.fromkeys([*self.value_columns(), *aggregated, *carried]))

    def cell_names(self) -> list[str]:
        return [cell.name for cell in self.cells]


def show_function(function: OverFunction, frame: OverFrame) -> str:
    counted = "" if function.column is None else f" of rows with {function.column}"
    place = f" {show_frame(frame)}" if function.in_frame else ""
    number = f" {function.number}" if function.function in ("lag", "lead", "nth") else ""
    return f"{function.function}{number}{counted}{place}"


def show_frame(frame: OverFrame) -> str:
    def show(bound: int | None) -> str:
        if bound is None:
            return "UNBOUNDED PRECEDING"
        if not bound:
            return "CURRENT ROW"
        size = abs(bound) if frame.kind == "rows" else f"{abs(bound) / 1e6:g} s"
        return f"{size} {'PRECEDING' if bound < 0 else 'FOLLOWING'}"

    return f"{frame.kind.upper()} BETWEEN {show(frame.start)} AND {show(frame.end)}"


def describe_state(node: OverRows) -> str:
    """What is kept, in words."""
    program, each = node.program, " of each key" if node.keys else ""
    kept = ["the last row"]
    behind = [function.number for function in program.functions if function.function == "lag"]
    if behind:
        kept.append(f"the {max(behind)} before the next one")
    if any(function.function == "lead" for function in program.functions):
        kept.append("those that wait for a later one, which may never come before the stream ends")
    if program.framed:
        kept.append(f"those of {show_frame(program.frame)}")
    return f"kept{each}: {', '.join(kept)}"
