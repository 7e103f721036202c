"""How many events come to producers whose rate is not the same all the time: a table, for some ticks at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cepheid.simulation.arrivals.arrivals import ArrivalProcess
from cepheid.simulation.clock import Tick, iteration_edges
from cepheid.simulation.scenario import Scenario

Floats = npt.NDArray[np.float64]
MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ArrivalSource:
    """A producer that began in that tick, on a placement of that capacity: this fixes when it is asked."""

    arrivals: ArrivalProcess
    copy: int
    tick: int
    capacity: float
    pes: int


@dataclass(slots=True)
class Amounts:
    """A table that would be too large is filled part by part."""

    ticks: list[Tick]
    sources: list[ArrivalSource] = field(default_factory=list)
    table: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    first: int = 0  # the iteration of its first column
    filled: tuple[int, int, int] = (0, 0, 0)  # sources, from tick, to tick

    def most_ticks(self, scenario: Scenario) -> int:
        return max(MOST_BYTES // (8 * scenario.iterations * max(len(self.sources), 1)), 1)

    def fill(self, scenario: Scenario, first: int, last: int) -> None:
        """For ticks first..last-1; all of them, if that is not too much."""
        if not self.sources:
            return
        if self.most_ticks(scenario) >= len(self.ticks):
            first, last = 0, len(self.ticks)
        if self.filled == (len(self.sources), first, last):
            return
        self.filled = (len(self.sources), first, last)
        self.first, beyond = first * scenario.iterations, last * scenario.iterations
        self.table = np.zeros((len(self.sources), beyond - self.first))
        edges: dict[tuple[int, float, int], Floats] = {}
        for row, source in zip(self.table, self.sources, strict=True):
            key = (source.tick, source.capacity, source.pes)
            if key not in edges:
                edges[key] = iteration_edges(self.ticks[source.tick :], scenario, source.capacity, source.pes)
            amounts = source.arrivals.amounts(edges[key], source.copy)
            begins = source.tick * scenario.iterations + 1  # nothing comes before the second iteration
            skipped = max(self.first - begins, 0)
            part = amounts[skipped : max(beyond - begins, 0)]
            start = max(begins - self.first, 0)
            row[start : start + len(part)] = part
