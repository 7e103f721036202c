"""A delay whose scale swings: once in every period it is `factor` times as long as at the beginning.

factor ─      ╭─╮         ╭─╮
            ╭─╯ ╰─╮     ╭─╯ ╰─╮
     1 ─ ───╯     ╰─────╯     ╰───▶ time of the event
         ├─ period ─┤
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheid.bench.disorder.delays.delay import MOST_NS, Delay, Int64s, from_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    of: Delay
    factor: float
    period_s: float

    def draw(self, times_ns: Int64s, random: np.random.Generator) -> Int64s:
        swing = (1.0 - np.cos(2.0 * np.pi * times_ns / from_s(self.period_s))) / 2.0
        scaled = self.of.draw(times_ns, random) * (1.0 + (self.factor - 1.0) * swing)
        return np.rint(np.minimum(scaled, float(MOST_NS))).astype(np.int64)
