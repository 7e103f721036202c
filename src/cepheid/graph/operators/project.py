"""Compute columns from the columns of one event or row; the host's SQL engine evaluates them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from cepheid.graph.classification import Classification
from cepheid.graph.node import COMPUTED, Needed, Origin, PlanNode, plan_node
from cepheid.scalars.show import show_scalar
from cepheid.scalars.value import Column, Scalar, columns_of, weigh_value

_LEADING = ("_time", "_order", "_key", "_group", "_part")
_NUMBERED = re.compile(r"(_[a-z]+)(\d+)")


@plan_node
class Project(PlanNode):
    """`columns`: (name, value over the columns of the input)."""

    implementation: ClassVar[str] = "project"

    columns: tuple[tuple[str, Scalar], ...]

    def classification(self) -> Classification:
        return Classification(sharing="proc+source", required_merge="sorted", required_split="random")

    def reads(self, needed: Needed) -> Needed:  # noqa: ARG002
        return frozenset().union(*(columns_of(value) for _, value in self.columns))

    def origin(self, column: str) -> Origin:
        value = dict(self.columns)[column]
        return (0, value.name) if isinstance(value, Column) else COMPUTED

    def guess_ipe(self) -> float:
        return sum(weigh_value(value) for _, value in self.columns)

    def guess_selectivity(self) -> float:
        return 1.0

    def parameters(self) -> list[str]:
        return [
            show_scalar(value) if value == Column(name) else f"{show_scalar(value)} AS {name}"
            for name, value in self.columns
        ]


def event_layout(columns: Sequence[tuple[str, Scalar]]) -> Project:
    """The projection that feeds a stateful vertex: places with a meaning first, the others by name, so that it does
    not depend on what was read first."""
    return Project(columns=tuple(sorted(columns, key=lambda column: _place_of(column[0]))))


def _place_of(name: str) -> tuple[int, int, str]:
    numbered = _NUMBERED.fullmatch(name)
    stem, number = (numbered[1], int(numbered[2])) if numbered else (name, 0)
    return _LEADING.index(stem) if stem in _LEADING else len(_LEADING), number if stem in _LEADING else 0, name
