"""A delay that grows step by step, then ends at once: a source that falls behind and is put right.

    delay        ┌─┐
               ┌─┘ │
             ┌─┘   │
    ─────────┘     └────────▶ time of the event
           start   end

Where a source is FIFO (played_events.py), the first events after the end wait for those before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheid.bench.disorder.delays.delay import MICROSECOND_NS, MILLISECOND_NS, Int64s, from_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp:
    """From `start_s` on, `add_us` more every `step_ms`, from nothing; from `end_s` on, nothing again."""

    start_s: float
    end_s: float
    step_ms: float
    add_us: float

    def draw(self, times_ns: Int64s, random: np.random.Generator) -> Int64s:  # noqa: ARG002 (nothing is drawn)
        start, end = from_s(self.start_s), from_s(self.end_s)
        steps = (times_ns - start) // round(self.step_ms * MILLISECOND_NS)
        delays = np.rint(steps * (self.add_us * MICROSECOND_NS)).astype(np.int64)
        return np.where((times_ns >= start) & (times_ns < end), delays, 0)
