"""What every vertex of a query graph is: an immutable value with a kind.

A node knows what it means.  What we believe about it (rate, cost, place) and what users call it lives
elsewhere, keyed by vertex, so that it can be renewed without touching the plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

from cepheid.graph.classification import Classification

Role = Literal["producer", "operator", "consumer"]
Needed = frozenset[str] | None  # columns; None: every one
MADE_HERE: Literal["made here"] = "made here"
COMPUTED: Literal["computed"] = "computed"
Origin = tuple[int, str] | Literal["made here", "computed"]  # (input, column of it)


class PlanNode:
    """Base of producers, operators and consumers."""

    role: ClassVar[Role] = "operator"
    implementation: ClassVar[str] = ""

    def classification(self) -> Classification:
        """Its place in the classification of AGeCEP."""
        raise NotImplementedError(type(self).__name__)

    def parameters(self) -> list[str]:
        """What tells it from another of its kind, as text (Table I: params)."""
        raise NotImplementedError(type(self).__name__)

    def reads(self, needed: Needed) -> Needed:
        """The columns of its inputs that it reads, if `needed` of its own are read."""
        raise NotImplementedError(type(self).__name__)

    def origin(self, column: str) -> Origin:
        """Where one of its columns comes from: a column of an input that it passes on unchanged, MADE_HERE, or COMPUTED
        from others."""
        raise NotImplementedError(type(self).__name__)

    def guess_ipe(self) -> float:
        """Instructions for each event that comes in, where nobody has measured."""
        raise NotImplementedError(type(self).__name__)

    def guess_selectivity(self) -> float:
        """Rows for each event that comes in, where nobody has measured."""
        raise NotImplementedError(type(self).__name__)

    def describe(self) -> str:
        """One line of explain output."""
        return f"{type(self).__name__}({', '.join(self.parameters())})"


class EngineNode(PlanNode):
    """A stateful operator of ours: it runs in engines, over events in the event layout (operators/row_pattern.py).

    keys: how many columns `_key0`, ... part its events into what can be handled apart; order: how many columns order
    them; cells: the columns of its rows, each with a name.
    """

    keys: int
    order: int
    cells: tuple[Any, ...]

    @property
    def split(self) -> int:
        """How many of the key columns may part its events among engines."""
        return self.keys

    def read_columns(self) -> list[str]:
        """The input columns that it reads, besides order and keys."""
        raise NotImplementedError(type(self).__name__)

    def reads(self, needed: Needed) -> Needed:  # noqa: ARG002
        layout = ["_time", *(f"_order{number}" for number in range(1, self.order))]
        return frozenset((*layout, *(f"_key{number}" for number in range(self.keys)), *self.read_columns()))

    def origin(self, column: str) -> Origin:  # noqa: ARG002
        return MADE_HERE

    def cell_names(self) -> list[str]:
        """The columns of its rows."""
        raise NotImplementedError(type(self).__name__)


_Node = TypeVar("_Node", bound=type[PlanNode])


@dataclass_transform(frozen_default=True, kw_only_default=True)
def plan_node(cls: _Node) -> _Node:
    """A frozen, keyword-only record whose hash is computed once and never pickled.

    String hashes differ from process to process, so a stored hash must not travel.
    """
    made: Any = dataclass(frozen=True, kw_only=True)(cls)
    compute: Callable[[Any], int] = made.__hash__

    def stored_hash(self: Any) -> int:
        known = self.__dict__.get("_hash")
        if known is None:
            known = compute(self)
            object.__setattr__(self, "_hash", known)
        return int(known)

    def state_without_caches(self: Any) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_hash", "_content")}

    made.__hash__ = stored_hash
    made.__getstate__ = state_without_caches
    return made
