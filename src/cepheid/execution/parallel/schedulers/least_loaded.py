"""Whoever has the fewest messages waiting; among equals the first."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.disorder.consistency_manager import EventName


class LeastLoaded:
    def choose(self, first: EventName, loads: Sequence[int]) -> int:  # noqa: ARG002
        return min(range(len(loads)), key=loads.__getitem__)

    def clone(self) -> LeastLoaded:
        return self
