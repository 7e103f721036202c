"""A producer: the stream or table a user handed over under a name."""

from __future__ import annotations

from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import MADE_HERE, Needed, Origin, PlanNode, Role, plan_node


@plan_node
class Source(PlanNode):
    """Which of its columns are read is told by those who read them (graph/read_columns.py): so it is the same for every
    query."""

    role: ClassVar[Role] = "producer"
    implementation: ClassVar[str] = "source"

    name: str

    def classification(self) -> Classification:
        return Classification(sharing="proc+source")

    def reads(self, needed: Needed) -> Needed:  # noqa: ARG002
        return frozenset()

    def origin(self, column: str) -> Origin:  # noqa: ARG002
        return MADE_HERE

    def guess_ipe(self) -> float:
        return 1.0

    def guess_selectivity(self) -> float:
        return 1.0

    def parameters(self) -> list[str]:
        return [self.name]
