"""Keep the events for which a condition holds; the host's SQL engine evaluates it."""

from __future__ import annotations

from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import Needed, Origin, PlanNode, plan_node
from cepheid.scalars.show import show_scalar
from cepheid.scalars.value import Scalar, columns_of, weigh_value


@plan_node
class Filter(PlanNode):
    """`predicate`: over the columns of the one input."""

    implementation: ClassVar[str] = "filter"

    predicate: Scalar

    def classification(self) -> Classification:
        return Classification(
            sharing="proc+source",
            combined_by="filter",
            required_merge="sorted",
            required_split="random",
            selectivity="at most 1",
        )

    def reads(self, needed: Needed) -> Needed:
        return None if needed is None else needed | columns_of(self.predicate)

    def origin(self, column: str) -> Origin:
        return 0, column

    def guess_ipe(self) -> float:
        return weigh_value(self.predicate)

    def guess_selectivity(self) -> float:
        return 0.5

    def parameters(self) -> list[str]:
        return [show_scalar(self.predicate)]
