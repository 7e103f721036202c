"""The tally as the kernels see it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.simulation.compiled.options import njit_inlined
from cepheid.simulation.compiled.pool import Pool
from cepheid.simulation.compiled.tables import Tables
from cepheid.simulation.layout import CONSUMER
from cepheid.simulation.tally import BINS, BINS_PER_OCTAVE, LOWEST_OCTAVE, Tally

Floats = npt.NDArray[np.float64]


class TallyArrays(NamedTuple):
    consumed: Floats
    latency: Floats
    origins: Floats
    seconds: npt.NDArray[np.uint8]
    bins: npt.NDArray[np.float32]
    processed: Floats
    waiting: Floats
    most_waiting: Floats
    dropped: Floats
    sent: Floats
    used: Floats
    offered: Floats


def arrays_of(tally: Tally) -> TallyArrays:
    return TallyArrays(*(getattr(tally, name) for name in TallyArrays._fields))


@njit_inlined
def observe(
    tables: Tables, counts: TallyArrays, pool: Pool, number: int, instructions: float, end: float, minute: int,
    size: float, latency: float,
) -> None:  # fmt: skip
    """A run of a vertex; the totals of what it took are in pool.whole."""
    vertex = tables.vertices[number]
    counts.used[vertex.place, minute] += instructions
    counts.processed[number, minute] += size
    if vertex.kind == CONSUMER and size != 0.0:
        _count_consumed(tables, counts, pool, vertex, end, minute, size, latency)


@njit_inlined
def _count_consumed(
    tables: Tables, counts: TallyArrays, pool: Pool, vertex: Any, end: float, minute: int, size: float, latency: float
) -> None:
    row = vertex.row
    first = tables.paths_of[row]
    counts.consumed[row, minute] += size
    counts.latency[row, minute] += size * latency
    origins = 0.0
    for column in range(vertex.width):
        origins += pool.whole[column] / tables.paths[first + column]
    counts.origins[row, minute] += origins
    counts.seconds[row, int(end / 1000.0)] = 1
    # NumPy rounds a Python float to float32 before it adds
    counts.bins[row, find_bin(latency)] += np.float32(size)


@njit_inlined
def find_bin(latency_ms: float) -> int:
    """See tally.py."""
    if not latency_ms > 0.0:
        return 0
    mantissa, exponent = math.frexp(latency_ms)
    place = (exponent - LOWEST_OCTAVE) * BINS_PER_OCTAVE + int((mantissa - 0.5) * 2.0 * BINS_PER_OCTAVE)
    return min(max(place, 0), BINS - 1)
