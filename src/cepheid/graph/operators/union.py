"""Streams under one another (UNION ALL): each row as it comes."""

from __future__ import annotations

from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import PlanNode, plan_node


@plan_node
class Union(PlanNode):
    """Its inputs have these columns, in this order."""

    implementation: ClassVar[str] = "union"

    columns: tuple[str, ...]

    def classification(self) -> Classification:
        return Classification(type="merge", merge_type="union", sharing="proc+source")

    def parameters(self) -> list[str]:
        return list(self.columns)
