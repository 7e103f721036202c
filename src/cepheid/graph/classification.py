"""How an operator may be reconfigured: the criteria of AGeCEP, section 5.

The record holds the constant part of Table I; degrees and identity come from the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OperatorType = Literal["processing", "merge", "split", "merge-split"]
MergeType = Literal["union", "sorted", "custom", "N/A"]
SplitType = Literal["random", "attribute", "query", "custom", "N/A"]
SharingStrategy = Literal["processing", "source", "proc+source", "N/A"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    type: OperatorType = "processing"
    merge_type: MergeType = "N/A"
    split_type: SplitType = "N/A"
    sharing: SharingStrategy = "N/A"
    combined_by: str | None = None  # implementation of the operator that replaces a run of these
    required_merge: MergeType = "N/A"
    required_split: SplitType = "N/A"
    complexity: str = "linear in events"
    selectivity: str = "1"

    @property
    def shareable(self) -> bool:
        return self.sharing != "N/A"

    @property
    def combinable(self) -> bool:
        return self.combined_by is not None

    @property
    def duplicable(self) -> bool:
        return self.required_split != "N/A"
