"""Relational SQL that is left whole to the host's engine: joins, grouping, sorting, subqueries, VALUES."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import MADE_HERE, Needed, Origin, PlanNode, plan_node
from cepheid.scalars.value import Scalar


@plan_node
class Relation(PlanNode):
    """`query` names its inputs as in `inputs`, which are in the order of the incoming edges; text: for people."""

    implementation: ClassVar[str] = "relation"

    query: Scalar
    inputs: tuple[str, ...]
    text: str = field(default="", compare=False)

    def classification(self) -> Classification:
        many = len(self.inputs) > 1
        return Classification(type="merge" if many else "processing", merge_type="custom" if many else "N/A")

    def reads(self, needed: Needed) -> Needed:  # noqa: ARG002
        return None

    def origin(self, column: str) -> Origin:  # noqa: ARG002
        return MADE_HERE

    def guess_ipe(self) -> float:
        return 60.0

    def guess_selectivity(self) -> float:
        return 1.0

    def parameters(self) -> list[str]:
        return [self.text]
