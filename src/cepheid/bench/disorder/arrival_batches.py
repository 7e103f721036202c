"""Plays events without a clock: the order of arrival, cut into batches by time of arrival.

    arrivals   1 4 9 │ 12 13 │       │ 31        every 10
    given at        10      20               40

So the latency of a row in the time of arrival is the same in every run: the batch that it came out with says when.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cepheid.bench.disorder.delays.delay import Int64s


class ArrivalBatch(NamedTuple):
    """Events begin to end - 1, given at this time."""

    begin: int
    end: int
    at_ns: int


def cut_by_arrival(arrivals_ns: Int64s, every_ns: int) -> Iterator[ArrivalBatch]:
    """arrivals_ns: int64[n], ascending.  An empty batch would tell nobody anything, and is left out."""
    numbers = arrivals_ns // every_ns
    bounds = np.concatenate([[0], np.flatnonzero(np.diff(numbers)) + 1, [len(numbers)]]) if len(numbers) else [0]
    for begin, end in pairwise(bounds):
        yield ArrivalBatch(int(begin), int(end), (int(numbers[begin]) + 1) * every_ns)
