"""Micro-batches, or pushes, that were measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchSample:
    events: int
    rows: int
    duration_s: float


Block = list[BatchSample]  # a part of a measurement: every size of batch, in random order


@dataclass(frozen=True, slots=True)
class Measured:
    """reach: see QueryProfile; 1 where several patterns or windows count the same events."""

    blocks: list[Block]
    reach: float = 1.0
