"""MATCH_RECOGNIZE: row patterns over the events of each partition, in order.

Its input has the *event layout*: `_time` (the first ORDER BY column), `_order1`, ... (further ones), `_key0`, ...
(PARTITION BY) and any other column that conditions or cells read.  Its output has one column per cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cepheid.graph.classification import Classification
from cepheid.graph.node import EngineNode, plan_node
from cepheid.graph.predicate import Predicate, answer_columns, read_by_predicates
from cepheid.kernel.expression import (
    CURRENT,
    Aggregate,
    HostAggregate,
    HostCall,
    MatchNumber,
    Position,
    list_columns,
    list_facts,
    list_host_columns,
    reads_match_number,
    show_aggregate,
    show_cell,
    show_expression,
    show_row_aggregate,
)
from cepheid.kernel.pattern import RowPatternProgram, show_pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCell:
    """One value handed out per row of output.

    A column of the row itself (`row`: of the first event, for one row per match), or at a position; an aggregate
    over events of the match (`row_aggregate`: one that the kernel leaves to others); the name of the variable
    (`classifier`) at a position; the number of the match, null where there is none; or whether it is a partial
    match whose time ran out (`timed_out`); or the time at which the match was complete (`moment`).
    `final`: seen from the end of the match, not from the row itself (ALL ROWS PER MATCH).
    """

    name: str
    kind: Literal[
        "row", "navigate", "aggregate", "row_aggregate", "classifier", "match_number", "timed_out", "moment"
    ] = "navigate"
    column: str | None = None
    position: Position = CURRENT
    aggregate: Aggregate | None = None
    of_rows: HostAggregate | None = None
    final: bool = False

    def read_columns(self) -> list[str]:
        """The input columns that it reads."""
        inside: list[str | None] = []
        if self.aggregate is not None:
            inside = [self.aggregate.column, self.aggregate.by]
        if self.of_rows is not None:
            inside = [*self.of_rows.read_columns()]
        return [column for column in (self.column, *inside) if column is not None]

    def tells_number(self) -> bool:
        return self.kind == "match_number" or (
            self.of_rows is not None and self.of_rows.reads_of_match("_match_number")
        )

    def tells_variables(self) -> bool:
        return self.kind == "classifier" or (self.of_rows is not None and self.of_rows.reads_of_match("_classifier"))

    def show(self) -> str:
        match self.kind:
            case "row":
                shown = self.column or ""
            case "navigate":
                shown = show_cell(self.column or "*", self.position)
            case "aggregate":
                assert self.aggregate is not None, "an aggregate cell has an aggregate"
                shown = show_aggregate(self.aggregate)
            case "row_aggregate":
                assert self.of_rows is not None, "it has an aggregate over rows"
                shown = show_row_aggregate(self.of_rows)
            case "classifier":
                shown = show_cell("CLASSIFIER()", self.position)
            case "moment":
                shown = "MATCH_TIME()"
            case _:
                shown = f"{self.kind.upper()}()"
        return f"{'FINAL ' if self.final else ''}{shown} AS {self.name}"


@plan_node
class RowPattern(EngineNode):
    """`order`: how many ORDER BY columns; `keys`: how many PARTITION BY columns; `all_rows`: a row per event
    of a match instead of one per match; `show_empty`: whether empty matches give a row; `predicates`: conditions in
    Python, each a column of the events."""

    implementation: ClassVar[str] = "row_pattern"

    program: RowPatternProgram
    cells: tuple[OutputCell, ...]
    keys: int
    order: int = 1
    all_rows: bool = False
    show_empty: bool = True
    predicates: tuple[Predicate, ...] = ()

    def classification(self) -> Classification:
        return Classification(
            sharing="proc+source",
            required_merge="union" if self.keys else "N/A",
            required_split="attribute" if self.keys else "N/A",
            complexity="linear in events for conditions that look at single events; bounded by a budget otherwise",
            selectivity="at most 1 row per event",
        )

    def guess_ipe(self) -> float:
        return 100.0

    def guess_selectivity(self) -> float:
        return 0.1

    def parameters(self) -> list[str]:
        program = self.program
        shown = [f"pattern=({show_pattern(program.pattern)})"]
        shown += [f"{variable}: {show_expression(condition)}" for variable, condition in program.conditions]
        skip = program.skip.kind + "".join(f" {variable}" for variable in program.skip.variables)
        shown += [f"skip={skip}", f"keys={self.keys}", "rows=all" if self.all_rows else "rows=one"]
        if program.within is not None:
            shown.append(f"within={program.within / 1e6:g}s")
        if program.unmatched:
            shown.append("unmatched rows")
        if program.timeouts:
            shown.append("timeouts")
        if program.frame is not None:
            following = "all" if program.frame.following is None else program.frame.following
            following = program.frame.column or following
            shown.append(f"frame=({'seek' if program.frame.seek else 'initial'}, following={following})")
        shown += [predicate.show() for predicate in self.predicates]
        return [*shown, f"cells=[{', '.join(cell.show() for cell in self.cells)}]"]

    def condition_columns(self) -> list[str]:
        """The input columns that conditions read; answers of predicates are no input columns."""
        found = dict.fromkeys(column for _, condition in self.program.conditions for column in list_columns(condition))
        if self.program.frame is not None and self.program.frame.column is not None:
            found |= {self.program.frame.column: None}
        return [column for column in found if column not in answer_columns(self.predicates)]

    def read_columns(self) -> list[str]:
        """The input columns that conditions, predicates and cells read, besides order and keys."""
        carried = [column for cell in self.cells for column in cell.read_columns()]
        asked = [column for _, condition in self.program.conditions for column in list_host_columns(condition)]
        shown = read_by_predicates(self.predicates)
        return list(dict.fromkeys([*self.condition_columns(), *asked, *shown, *carried]))

    def cell_names(self) -> list[str]:
        return [cell.name for cell in self.cells]

    def lookback(self) -> int:
        """How many events before a search a cell may read; one is kept if matches are numbered."""
        return max([1 if self.is_numbered else 0, *(-cell.position.shift for cell in self.cells)])

    @property
    def is_numbered(self) -> bool:
        """Do rows or conditions tell the number of the match?"""
        facts = [fact for _, condition in self.program.conditions for fact in list_facts(condition)]
        told = any(cell.tells_number() for cell in self.cells)
        return told or any(
            isinstance(fact, MatchNumber) or (isinstance(fact, HostCall) and reads_match_number(fact)) for fact in facts
        )
