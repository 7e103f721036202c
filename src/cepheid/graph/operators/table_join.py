"""Events with the rows of a table that they find, as the table is when they come: in memory, or in a database.

Its one input has the stream's columns, named `alias.column`, and `_key0`, ...; its output has one column per cell.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from cepheid.graph.classification import Classification
from cepheid.graph.node import COMPUTED, Needed, Origin, PlanNode, plan_node
from cepheid.graph.operators.window_join import JoinCell
from cepheid.scalars.show import show_scalar
from cepheid.scalars.value import Scalar


@plan_node
class TableJoin(PlanNode):
    """table: as the user calls it; keys: its columns that must equal `_key0`, ...; cells: input 0 is the stream, 1
    the table; condition: over cells, what else is asked of a pair; latest: a time of the table; of the rows that an
    event finds, only the latest one that is not behind the event's `_as_of` counts (of equal ones the last)."""

    implementation: ClassVar[str] = "table_join"

    table: str
    kind: Literal["inner", "left"]
    keys: tuple[str, ...]
    cells: tuple[JoinCell, ...]
    condition: Scalar | None = None
    latest: str | None = None

    def classification(self) -> Classification:
        return Classification(
            sharing="proc+source", required_merge="sorted", required_split="random", selectivity="rows found per event"
        )

    def reads(self, needed: Needed) -> Needed:  # noqa: ARG002
        keys = (f"_key{number}" for number in range(len(self.keys)))
        moment = () if self.latest is None else ("_as_of",)
        return frozenset((*(cell.column for cell in self.cells if cell.input == 0), *keys, *moment))

    def origin(self, column: str) -> Origin:
        cell = next(cell for cell in self.cells if cell.name == column)
        return (0, cell.column) if cell.input == 0 else COMPUTED

    def guess_ipe(self) -> float:
        return 60.0

    def guess_selectivity(self) -> float:
        return 1.0

    def parameters(self) -> list[str]:
        shown = [self.table, self.kind, f"keys=[{', '.join(self.keys)}]"]
        if self.condition is not None:
            shown.append(show_scalar(self.condition))
        if self.latest is not None:
            shown.append(f"latest {self.latest} <= _as_of")
        return [*shown, f"cells=[{', '.join(cell.name for cell in self.cells)}]"]
