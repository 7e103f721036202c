"""What we believe about vertices: rates, costs, selectivities, measured or assumed.

Kept beside the graph and under the digests of vertices, so that beliefs are renewed without touching the plan, and hold
for the same vertex in any other plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cepheid.graph.query_graph import QueryGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """rate_per_s: events that leave the vertex; ipe: instructions per event; selectivity: events out per in."""

    label: str | None = None
    rate_per_s: float | None = None
    ipe: float | None = None
    selectivity: float | None = None


NOTHING = Belief()


@dataclass(frozen=True, slots=True)
class Beliefs:
    by_digest: Mapping[str, Belief] = field(default_factory=dict)

    def of(self, graph: QueryGraph, vertex: str) -> Belief:
        return self.by_digest.get(graph.digests[vertex], NOTHING) if self.by_digest else NOTHING

    def renewed(self, digest: str, **changes: float | str | None) -> Beliefs:
        known = self.by_digest.get(digest, NOTHING)
        return Beliefs({**self.by_digest, digest: replace(known, **changes)})  # type: ignore[arg-type]
