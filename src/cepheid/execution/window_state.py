"""What a window operator keeps besides events, as it lies in a snapshot.

arrays of the kernel, which name keys and groups by numbers ─┐
the numbers that occur in them, and the values behind each  ─┼─▶ bytes
texts that the kernel knows                                 ─┘
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.execution.blob import read_blob, read_table_bytes, write_blob, write_table
from cepheid.execution.numbering import Numbering
from cepheid.execution.operator import Owners
from cepheid.kernel.columns import Int64s, Interner
from cepheid.kernel.partition_rows import Arrays, list_rows

Grouping = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownNumbers:
    """numbers: int64[n], ascending; rows: the values behind each of them (none, if they are of no columns)."""

    numbers: Int64s
    rows: pa.Table

    def find_owners(self, owners: Owners, keys: list[str]) -> Int64s:
        """int64, by number: the part that it belongs to, -1 for what is no number."""
        whose = np.full(int(self.numbers[-1]) + 1 if len(self.numbers) else 0, -1, dtype=np.int64)
        whose[self.numbers] = owners(self.rows.select(keys))
        return whose

    def split(self, whose: Int64s, count: int) -> list[KnownNumbers]:
        """Those of each part, under the numbers that they have."""
        places = list_rows(whose[self.numbers], count)
        return [KnownNumbers(self.numbers[of_part], self.rows.take(pa.array(of_part))) for of_part in places]


@dataclass(frozen=True, slots=True)
class WindowState:
    arrays: Arrays
    numbers: dict[Grouping, KnownNumbers]
    texts: list[str]

    @staticmethod
    def read(blob: bytes) -> WindowState:
        header, (state, *rows) = read_blob(blob)
        told = zip(header["groupings"], map(read_table_bytes, rows), strict=True)
        numbers = {
            tuple(grouping): KnownNumbers(np.array(known, dtype=np.int64), table) for (grouping, known), table in told
        }
        return WindowState(dict(np.load(io.BytesIO(state))), numbers, header["texts"])

    def write(self) -> bytes:
        state = io.BytesIO()
        np.savez(state, **self.arrays)  # type: ignore[arg-type]
        groupings = [[grouping, known.numbers.tolist()] for grouping, known in self.numbers.items()]
        rows = [write_table(known.rows) for known in self.numbers.values()]
        return write_blob({"groupings": groupings, "texts": self.texts}, [state.getvalue(), *rows])


def merge_numbers(
    parts: list[dict[Grouping, KnownNumbers]],
) -> tuple[dict[Grouping, KnownNumbers], list[dict[Grouping, Int64s]]]:
    """New numbers for what is known in parts; for each part int64, new by old."""
    merged: dict[Grouping, KnownNumbers] = {}
    renumbered: list[dict[Grouping, Int64s]] = [{} for _ in parts]
    for grouping in parts[0]:
        known = [part[grouping] for part in parts]
        so_far = 0
        for of_part, new in zip(known, renumbered, strict=True):
            numbers = of_part.numbers
            new[grouping] = np.full(int(numbers[-1]) + 1 if len(numbers) else 0, -1, dtype=np.int64)
            new[grouping][numbers] = np.arange(so_far, so_far + len(numbers))
            so_far += len(numbers)
        rows = pa.concat_tables([of_part.rows for of_part in known])
        assert _are_distinct(rows), "a key is in one part only"
        merged[grouping] = KnownNumbers(np.arange(so_far), rows)
    return merged, renumbered


def _are_distinct(rows: pa.Table) -> bool:
    numbering = Numbering(rows.column_names, rows.schema, Interner())
    numbering.number(rows)
    return len(numbering) == len(rows)
