"""A snapshot of an engine whose events come and go."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cepheid.execution.operator import KeptEvents


@dataclass(frozen=True, slots=True)
class KeptChanges:
    """All that an engine knows.  base: None if nothing is settled; log, held: events; rows, past: of each vertex;
    confined: is there no base because late events have a reach (reach.py)?"""

    base: KeptEvents | None
    log: pa.Table
    held: pa.Table
    rows: list[pa.Table]
    past: list[pa.Table]
    turns: list[int]
    places: list[int]
    present: int
    settled: int
    newest: int
    confined: bool = False
