"""What we believe about vertices and edges: rates, costs, selectivities, measured or assumed.

Kept beside the graph and keyed by vertex, so that beliefs are renewed without touching the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """rate_per_s: events that leave the vertex; ipe: instructions per event; selectivity: events out per in."""

    label: str | None = None
    rate_per_s: float | None = None
    ipe: float | None = None
    selectivity: float | None = None


@dataclass(frozen=True, slots=True)
class Beliefs:
    by_vertex: Mapping[str, Belief] = field(default_factory=dict)

    def of(self, vertex: str) -> Belief:
        return self.by_vertex.get(vertex, Belief())

    def renewed(self, vertex: str, **changes: float | str | None) -> Beliefs:
        return Beliefs({**self.by_vertex, vertex: replace(self.of(vertex), **changes)})  # type: ignore[arg-type]
