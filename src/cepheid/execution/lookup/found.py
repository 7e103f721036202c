"""What a look-up answers, and the contract of whoever answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from cepheid.kernel.columns import Int64s


@dataclass(frozen=True, slots=True)
class Found:
    """Pairs of an event and a row, in the order of events, then of the table.

    events, rows: int64[m], positions in the batch and in `table`.  The table comes along because another one may have
    taken its place by the time the rows are read.
    """

    events: Int64s
    rows: Int64s
    table: pa.Table


class Lookup(Protocol):
    """A table that can be asked by key."""

    @property
    def schema(self) -> pa.Schema:
        """Of the rows that it gives."""

    def find(self, keys: list[pa.ChunkedArray]) -> Found:
        """Rows whose key columns equal `keys`: a column for each, with a value for each event; null equals nothing."""

    def close(self) -> None:
        """Give back what it holds; it may be asked again."""
