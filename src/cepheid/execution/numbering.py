"""Small numbers for keys and groups, and the values behind each number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.execution.event_log import EventLog
from cepheid.kernel.columns import Int64s, Interner, read_column
from cepheid.kernel.compiled.key_index import KeyIndex


class Numbering:
    """Numbers rows by the values of some columns, counted from 0 in the order in which they first appear."""

    def __init__(self, columns: list[str], layout: pa.Schema, interner: Interner, few: bool = False) -> None:
        """few: rows will come a few at a time as well."""
        self._columns = columns
        self._interner = interner
        self._index = KeyIndex(len(columns))
        self._rows = EventLog(pa.schema([layout.field(name) for name in columns]), interner if few else None)

    def __len__(self) -> int:
        return len(self._index) if self._columns else 1

    # --- a few rows at a time (execution/lane) -----------------------------------------------------------------
    @property
    def columns(self) -> list[str]:
        return self._columns

    @property
    def index(self) -> KeyIndex:
        return self._index

    @property
    def rows(self) -> EventLog:
        """The values behind numbers."""
        return self._rows

    def number(self, table: pa.Table) -> tuple[Int64s, npt.NDArray[np.bool_]]:
        """int64[n]; bool[n]: has the row a null?"""
        if not self._columns:
            return np.zeros(len(table), dtype=np.int64), np.zeros(len(table), dtype=np.bool_)
        known = len(self._index)
        read = [read_column(table.column(name), self._interner) for name in self._columns]
        numbers, has_null = self._index.number_rows(read, len(table))
        if len(self._index) > known:
            fresh = np.flatnonzero(numbers >= known)
            first = np.empty(len(self._index) - known, dtype=np.int64)
            first[numbers[fresh[::-1]] - known] = fresh[::-1]  # of several, the one written last stays: the first
            self._rows.append(table.select(self._columns).take(pa.array(first)))
        return numbers, has_null

    def take(self, column: str, numbers: Int64s) -> pa.ChunkedArray:
        """The values of a column behind numbers."""
        return self._rows.take(column, numbers)

    def take_rows(self, numbers: Int64s) -> pa.Table:
        chosen = np.zeros(len(self._rows), dtype=np.bool_)
        chosen[numbers[: len(chosen)]] = True  # without columns there is one number and no row
        return self._rows.take_rows(chosen)

    def renumber(self, old: Int64s, rows: pa.Table) -> Int64s:
        """Numbers for the rows that another numbering gave the ascending numbers `old`: int64, new by old, -1 where
        there is none."""
        renumbered = np.full(int(old[-1]) + 1 if len(old) else 0, -1, dtype=np.int64)
        renumbered[old] = self.number(rows)[0] if self._columns else 0
        return renumbered
