"""A source that is cut off now and then: what it would have sent comes all at once when it is back.

time      ├──── every ────┤
──────────────██████──────────────██████──▶
              length │            length │
                     └ flush             └ flush
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheid.bench.disorder.delays.delay import Int64s, from_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """The last `length_s` of every `every_s`."""

    every_s: float
    length_s: float

    def draw(self, times_ns: Int64s, random: np.random.Generator) -> Int64s:  # noqa: ARG002 (nothing is drawn)
        every, length = from_s(self.every_s), from_s(self.length_s)
        left = every - times_ns % every
        return np.where(left <= length, left, 0)
