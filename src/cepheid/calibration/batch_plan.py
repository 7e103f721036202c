"""Which batches are measured: runs of one size after another, in blocks.

A host that is loaded makes batches of one size for a long time, and what it puts off until later (tidying up every so
many events) falls on these.  So each size is run on its own, long enough to pay for its share; sizes mixed would pay
for each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PARTS = (0.05, 0.25, 0.5, 1.0)  # of the largest batch
BLOCKS = 5


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """warm_up: sizes that are run first and not counted.  rounds: how often each size comes in each block."""

    sizes: tuple[int, ...]
    warm_up: tuple[int, ...]
    rounds: tuple[int, ...]
    blocks: int = BLOCKS
    seed: int = 1

    @property
    def events(self) -> int:
        return sum(self.warm_up) + self.blocks * sum(s * r for s, r in zip(self.sizes, self.rounds, strict=True))

    def runs(self, block: int) -> list[tuple[int, int]]:
        """Sizes and how often, in an order of its own for each block: what grows while it runs must not be taken for
        size."""
        order = np.random.default_rng((self.seed, block)).permutation(len(self.sizes))
        return [(self.sizes[place], self.rounds[place]) for place in order]

    def block(self, number: int) -> list[int]:
        return [size for size, rounds in self.runs(number) for _ in range(rounds)]


def plan_batches(largest: int, events: int, warm_up: tuple[int, ...]) -> BatchPlan:
    """About `events` events in all, in batches of up to `largest`; every size gets as many events, and one batch at
    least."""
    sizes = tuple(sorted({max(1, round(part * largest)) for part in PARTS}))
    share = (events - sum(warm_up)) // (BLOCKS * len(sizes))
    return BatchPlan(sizes, warm_up, tuple(max(1, share // size) for size in sizes))
