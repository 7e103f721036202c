"""A consumer: where the rows of a query go."""

from __future__ import annotations

from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import MADE_HERE, Needed, Origin, PlanNode, Role, plan_node


@plan_node
class Sink(PlanNode):
    role: ClassVar[Role] = "consumer"
    implementation: ClassVar[str] = "sink"

    query: str = "query"

    def classification(self) -> Classification:
        return Classification()

    def reads(self, needed: Needed) -> Needed:  # noqa: ARG002
        return None

    def origin(self, column: str) -> Origin:  # noqa: ARG002
        return MADE_HERE

    def guess_ipe(self) -> float:
        return 1.0

    def guess_selectivity(self) -> float:
        return 1.0

    def parameters(self) -> list[str]:
        return [self.query]
