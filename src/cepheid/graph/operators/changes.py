"""ISTREAM and DSTREAM: what one evaluation of a window has that the one before had not, and the other way round.

Its input has the rows of groups that were touched, as they are now (`_sign` 1) and as they were (`_sign` -1), of each
`_evaluation`: a row that stands on both sides has not changed.  Rows of one evaluation come together.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from cepheid.graph.classification import Classification
from cepheid.graph.node import Needed, Origin, PlanNode, plan_node


@plan_node
class Changes(PlanNode):
    """columns: those of the result; keys: columns that, beside `_evaluation`, tell evaluations apart."""

    implementation: ClassVar[str] = "changes"

    kind: Literal["istream", "dstream"]
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()

    def classification(self) -> Classification:
        return Classification(sharing="proc+source", selectivity="at most 1")

    def reads(self, needed: Needed) -> Needed:  # noqa: ARG002
        return frozenset((*self.columns, *self.keys, "_sign", "_evaluation"))

    def origin(self, column: str) -> Origin:
        return 0, column

    def guess_ipe(self) -> float:
        return 30.0

    def guess_selectivity(self) -> float:
        return 0.5

    def parameters(self) -> list[str]:
        return [self.kind, *self.columns]
