"""Compute columns from the columns of one event or row; the host's SQL engine evaluates them."""

from __future__ import annotations

from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import PlanNode, plan_node


@plan_node
class Project(PlanNode):
    """`columns`: (name, SQL over the columns of the input)."""

    implementation: ClassVar[str] = "project"

    columns: tuple[tuple[str, str], ...]

    def classification(self) -> Classification:
        return Classification(sharing="proc+source", required_merge="sorted", required_split="random")

    def parameters(self) -> list[str]:
        return [sql if sql == quote_name(name) else f"{sql} AS {name}" for name, sql in self.columns]


def quote_name(name: str) -> str:
    """A column name as SQL."""
    return '"' + name.replace('"', '""') + '"'
