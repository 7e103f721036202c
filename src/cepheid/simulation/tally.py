"""What is counted while a simulation runs: a fixed amount of memory, however many events there are.

Rows are minutes of simulated time.  Latencies are kept as sums and in bins of 1/16 octave, for percentiles: within an
event set all events count with its mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.simulation.clock import Tick
from cepheid.simulation.layout import Layout
from cepheid.simulation.scenario import Scenario

Floats = npt.NDArray[np.float64]
BINS_PER_OCTAVE = 16
LOWEST_OCTAVE = -10  # about a microsecond, in ms
OCTAVES = 44
BINS = BINS_PER_OCTAVE * OCTAVES


# Which arrays have a row for each consumer, vertex, edge, placement.
ROWS_OF = {
    "consumers": ("consumed", "latency", "origins", "seconds", "bins"),
    "vertices": ("processed", "waiting", "most_waiting", "dropped"),
    "edges": ("sent",),
    "placements": ("used", "offered"),
}


@dataclass(slots=True)
class Tally:
    """c consumers, n vertices, e edges, p placements, m minutes, s seconds."""

    consumed: Floats  # [c, m] events
    latency: Floats  # [c, m] sum of size * latency, ms
    origins: Floats  # [c, m] events of producers that led to them, each path counted once
    seconds: npt.NDArray[np.uint8]  # [c, s] 1: something was consumed in that second
    bins: npt.NDArray[np.float32]  # [c, BINS] events by latency
    processed: Floats  # [n, m] events
    waiting: Floats  # [n, m] sum of queue lengths, sampled once a second
    most_waiting: Floats  # [n, m]
    looks: npt.NDArray[np.int64]  # [m] how often was looked
    dropped: Floats  # [n]
    sent: Floats  # [e] events that went over the network, by edge
    used: Floats  # [p, m] instructions
    offered: Floats  # [p, m]

    consumer_of: dict[int, int]  # vertex -> its row

    @classmethod
    def of(cls, scenario: Scenario, layout: Layout, last: Tick) -> Tally:
        """Room for the whole run.  CEPSim's time axis may run past its end: more processors are more time there."""
        longest = max(map(int, layout.pes), default=1) + 1 if scenario.fidelity == "cepsim" else 1
        end_s = last.end_s + longest * scenario.tick_s
        minutes, seconds = int(end_s / 60.0) + 1, int(end_s) + 1
        return cls(
            consumed=np.zeros((0, minutes)),
            latency=np.zeros((0, minutes)),
            origins=np.zeros((0, minutes)),
            seconds=np.zeros((0, seconds), np.uint8),
            bins=np.zeros((0, BINS), np.float32),
            processed=np.zeros((0, minutes)),
            waiting=np.zeros((0, minutes)),
            most_waiting=np.zeros((0, minutes)),
            looks=np.zeros(minutes, np.int64),
            dropped=np.zeros(0),
            sent=np.zeros(0),
            used=np.zeros((0, minutes)),
            offered=np.zeros((0, minutes)),
            consumer_of={},
        )

    def grow(self, layout: Layout) -> None:
        """Rows for what is new in the layout."""
        consumers = layout.consumers()
        self.consumer_of = {vertex: row for row, vertex in enumerate(consumers)}
        counts = {
            "consumers": len(consumers),
            "vertices": len(layout.instances),
            "edges": len(layout.source),
            "placements": len(layout.order),
        }
        for what, names in ROWS_OF.items():
            for name in names:
                rows = getattr(self, name)
                missing = np.zeros((counts[what] - len(rows), *rows.shape[1:]), rows.dtype)
                setattr(self, name, np.concatenate([rows, missing]) if len(rows) else missing)


def find_bin(latency_ms: float) -> int:
    """Exact arithmetic only, so that both engines agree."""
    if not latency_ms > 0.0:
        return 0
    mantissa, exponent = math.frexp(latency_ms)  # mantissa in [0.5, 1)
    place = (exponent - LOWEST_OCTAVE) * BINS_PER_OCTAVE + int((mantissa - 0.5) * 2.0 * BINS_PER_OCTAVE)
    return min(max(place, 0), BINS - 1)


def bin_edges() -> Floats:
    """Where each bin begins, in ms; one more than there are bins."""
    places = np.arange(BINS + 1)
    octave, part = np.divmod(places, BINS_PER_OCTAVE)
    return np.ldexp(0.5 + part / (2.0 * BINS_PER_OCTAVE), octave + LOWEST_OCTAVE)
