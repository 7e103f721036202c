"""What key groups are called.

State of a group goes to the partition that Spark's own hash of its *label* says: labels are chosen so that these
hashes are all different modulo the number of groups, and every number of partitions that divides it is used
evenly.
"""

from __future__ import annotations

from functools import cache

_MASK = 0xFFFFFFFF


@cache
def choose_labels(groups: int) -> tuple[int, ...]:
    """One label per group, with different hashes modulo `groups`."""
    found: dict[int, int] = {}
    label = 0
    while len(found) < groups:
        found.setdefault(hash_label(label) % groups, label)
        label += 1
    return tuple(found[place] for place in range(groups))


def hash_label(label: int) -> int:
    """Spark's murmur3 of an int with seed 42, as an unsigned number."""
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
    return _signed_mod(state ^ (state >> 16))


def _signed_mod(unsigned: int) -> int:
    """Spark takes the hash as a signed number and then a positive remainder; 2**32 keeps both for powers of two."""
    return unsigned - 2**32 if unsigned >= 2**31 else unsigned
