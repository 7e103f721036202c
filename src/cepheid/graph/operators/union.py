"""Streams under one another (UNION ALL): each row as it comes."""

from __future__ import annotations

from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import MADE_HERE, Needed, Origin, PlanNode, plan_node


@plan_node
class Union(PlanNode):
    """Its inputs have these columns, in this order."""

    implementation: ClassVar[str] = "union"

    columns: tuple[str, ...]

    def classification(self) -> Classification:
        return Classification(type="merge", merge_type="union", sharing="proc+source")

    def reads(self, needed: Needed) -> Needed:  # noqa: ARG002
        return frozenset(self.columns)

    def origin(self, column: str) -> Origin:  # noqa: ARG002
        return MADE_HERE

    def guess_ipe(self) -> float:
        return 1.0

    def guess_selectivity(self) -> float:
        return 1.0

    def parameters(self) -> list[str]:
        return list(self.columns)
