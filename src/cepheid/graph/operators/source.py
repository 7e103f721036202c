"""A producer: the stream or table a user handed over under a name."""

from __future__ import annotations

from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import PlanNode, Role, plan_node


@plan_node
class Source(PlanNode):
    """Which of its columns are read is told by those who read them (graph/read_columns.py): so it is the same for every
    query."""

    role: ClassVar[Role] = "producer"
    implementation: ClassVar[str] = "source"

    name: str

    def classification(self) -> Classification:
        return Classification(sharing="proc+source")

    def parameters(self) -> list[str]:
        return [self.name]
