"""Whoever has the fewest messages waiting; among equals the first."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.execution.parallel.events import EventId


class LeastLoaded:
    def choose(self, first: EventId, loads: Sequence[int]) -> int:  # noqa: ARG002
        return min(range(len(loads)), key=loads.__getitem__)

    def clone(self) -> LeastLoaded:
        return self
