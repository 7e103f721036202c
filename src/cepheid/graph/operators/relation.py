"""Relational SQL that is left whole to the host's engine: joins, grouping, sorting, subqueries, VALUES."""

from __future__ import annotations

from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import PlanNode, plan_node


@plan_node
class Relation(PlanNode):
    """`sql` names its inputs as in `inputs`, which are in the order of the incoming edges."""

    implementation: ClassVar[str] = "relation"

    sql: str
    inputs: tuple[str, ...]

    def classification(self) -> Classification:
        many = len(self.inputs) > 1
        return Classification(type="merge" if many else "processing", merge_type="custom" if many else "N/A")

    def parameters(self) -> list[str]:
        return [" ".join(self.sql.split())]
