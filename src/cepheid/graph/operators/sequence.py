"""SEQ: events of several steps that follow one another, in one of four ways of skipping others.

Each input is one stream in the event layout (see row_pattern.py), its own columns named `stream.column`; the
edges come in the order of `streams`.  Its output has one column per cell.
"""

from __future__ import annotations

from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import PlanNode, plan_node
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.expression import list_cells, show_expression
from cepheid.kernel.pattern import SequenceProgram


@plan_node
class Sequence(PlanNode):
    """`keys`: how many columns all events of a sequence must agree on."""

    implementation: ClassVar[str] = "sequence"

    program: SequenceProgram
    cells: tuple[OutputCell, ...]
    streams: tuple[str, ...]
    keys: int
    order: int = 1

    def classification(self) -> Classification:
        many = len(self.streams) > 1
        return Classification(
            type="merge" if many else "processing",
            merge_type="sorted" if many else "N/A",
            sharing="proc+source",
            required_merge="union" if self.keys else "N/A",
            required_split="attribute" if self.keys else "N/A",
            complexity="linear in events and in sequences found",
            selectivity="any: every combination with skip_till_any",
        )

    def parameters(self) -> list[str]:
        program = self.program
        steps = ", ".join(f"{self.streams[step.stream]} {step.variable}" for step in program.steps)
        shown = [f"({steps})"]
        shown += [
            f"{step.variable}: {show_expression(step.condition)}"
            for step in program.steps
            if step.condition is not None
        ]
        shown += [f"strategy={program.strategy}", f"keys={self.keys}"]
        if program.within is not None:
            shown.append(f"within={program.within / 1e6:g}s")
        return [*shown, f"cells=[{', '.join(cell.show() for cell in self.cells)}]"]

    def condition_columns(self) -> list[str]:
        """The input columns that conditions read."""
        conditions = [step.condition for step in self.program.steps if step.condition is not None]
        found = [cell for condition in conditions for cell in list_cells(condition)]
        return list(dict.fromkeys(cell.column for cell in found))

    def read_columns(self) -> list[str]:
        """The input columns that conditions and cells read, besides order and keys."""
        carried = [cell.column for cell in self.cells if cell.column is not None]
        return list(dict.fromkeys([*self.condition_columns(), *carried]))
