"""A consumer: where the rows of a query go."""

from __future__ import annotations

from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import PlanNode, Role, plan_node


@plan_node
class Sink(PlanNode):
    role: ClassVar[Role] = "consumer"
    implementation: ClassVar[str] = "sink"

    query: str = "query"

    def classification(self) -> Classification:
        return Classification()

    def parameters(self) -> list[str]:
        return [self.query]
