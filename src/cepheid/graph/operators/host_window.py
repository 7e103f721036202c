"""Windows that are a GROUP BY: each event belongs to windows that its time alone tells, and whole tables are at hand.

It is what a WindowAggregate with jumping or hopping time windows ON CLOSE becomes where the host groups quicker than
our engines (rewrite/rules/leave_windows_to_host.py).  Input and cells are the same.
"""

from __future__ import annotations

from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import MADE_HERE, Needed, Origin, PlanNode, plan_node
from cepheid.graph.operators.window_aggregate import WindowCell, show_window, show_windowed
from cepheid.kernel.window import Window, WindowedAggregate


@plan_node
class HostWindow(PlanNode):
    """keys, groups: how many PARTITION BY and GROUP BY columns."""

    implementation: ClassVar[str] = "host_window"

    window: Window
    aggregates: tuple[WindowedAggregate, ...]
    cells: tuple[WindowCell, ...]
    keys: int
    groups: int = 0

    def classification(self) -> Classification:
        return Classification(
            sharing="proc+source",
            complexity="the windows that hold an event, per event",
            selectivity="one row per window and group",
        )

    def reads(self, needed: Needed) -> Needed:  # noqa: ARG002
        return frozenset(self.read_columns())

    def origin(self, column: str) -> Origin:  # noqa: ARG002
        return MADE_HERE

    def guess_ipe(self) -> float:
        return 30.0

    def guess_selectivity(self) -> float:
        return 0.01

    def parameters(self) -> list[str]:
        shown = [show_window(self.window), *map(show_windowed, self.aggregates)]
        shown += [f"keys={self.keys}", f"groups={self.groups}"]
        return [*shown, f"cells=[{', '.join(cell.show() for cell in self.cells)}]"]

    def group_columns(self) -> list[str]:
        """What rows are about, besides the window."""
        keys = [f"_key{number}" for number in range(self.keys)]
        return [*keys, *(f"_group{number}" for number in range(self.groups))]

    def read_columns(self) -> list[str]:
        read = [aggregate.column for aggregate in self.aggregates if aggregate.column is not None]
        return list(dict.fromkeys(["_time", *self.group_columns(), *read]))
