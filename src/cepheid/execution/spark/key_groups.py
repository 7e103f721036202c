"""Key groups, the shares of them that engines serve, and what shares are called.

    key ─hash─▶ key group (fixed for the life of a checkpoint) ─▶ share: one for each state partition of Spark

Each engine serves all groups of its share, so a batch costs one call, one get and one put for each partition, however
many groups there are.  The state of a share goes to the partition that Spark's own hash of its *label* says: labels are
chosen so that every partition gets exactly one.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

_MASK = 0xFFFFFFFF


@cache
def choose_labels(shares: int, stage: int = 0) -> tuple[int, ...]:
    """One label per share, with different hashes modulo `shares`; stage: of several that have labels of their own."""
    found: list[list[int]] = [[] for _ in range(shares)]
    label = 0
    while min(map(len, found)) <= stage:
        found[hash_label(label) % shares].append(label)
        label += 1
    return tuple(labels[stage] for labels in found)


def share_groups(groups: int, shares: int) -> npt.NDArray[np.int64]:
    """int64[groups], ascending: to which share each group belongs; they differ by one group at most."""
    return np.arange(groups, dtype=np.int64) * shares // groups


def hash_label(label: int) -> int:
    """Spark's murmur3 of an int with seed 42, as a signed number."""
    mixed = (label * 0xCC9E2D51) & _MASK
    mixed = ((mixed << 15) | (mixed >> 17)) & _MASK
    mixed = (mixed * 0x1B873593) & _MASK
    state = 42 ^ mixed
    state = ((state << 13) | (state >> 19)) & _MASK
    state = (state * 5 + 0xE6546B64) & _MASK
    state ^= 4
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state ^= state >> shift
        state = (state * factor) & _MASK
    mixed = state ^ (state >> 16)
    return mixed - 2**32 if mixed >= 2**31 else mixed
