"""Events that wait at the gate, a few of them, as records (kernel/compiled/hold.py).

Where others than the newest events decide when one may leave (several streams, lateness), each event is put into its
place among those that wait; the gate says how many may leave, and the operator takes them in from where they are.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.execution.lane.few_rows import FewRows, RowShape
from cepheid.execution.lane.sources import Source, is_text
from cepheid.execution.log_column import Picked
from cepheid.kernel.columns import Int64s, Interner, read_column
from cepheid.kernel.compiled.array_table import lay_out
from cepheid.kernel.compiled.hold import (
    ARRIVAL,
    ARRIVED,
    GONE,
    HELD,
    NEWEST,
    STREAM,
    TIME,
    count_ready,
    hold_events,
    let_go,
)
from cepheid.kernel.compiled.memory import FLOAT64, INT64

MOST_HELD = 2048
_NOWHERE: Source = (0, 0, -1, 0, 0, 0)


class Holding:
    """layout: of the events, `_stream` (if there are several) and `_arrival` behind their own columns."""

    def __init__(self, layout: pa.Schema, interner: Interner, inputs: int) -> None:
        self._layout = layout
        self._interner = interner
        width = len(layout)
        self._records = np.zeros((MOST_HELD, width), dtype=np.int64)
        self._valid = np.zeros((MOST_HELD, width), dtype=np.uint8)
        self._sources = [np.zeros((width, 6), dtype=np.int64) for _ in range(inputs)]
        self._memory = [sources.data.cast("B") for sources in self._sources]
        self._packing = struct.Struct(f"{6 * width}q")
        self._numbers = np.zeros(GONE + 1, dtype=np.int64)
        self._numbers[TIME] = layout.get_field_index("_time")
        self._numbers[STREAM] = layout.get_field_index("_stream")
        self._numbers[ARRIVAL] = layout.get_field_index("_arrival")
        here: list[npt.NDArray[Any]] = [self._records, self._valid, self._numbers]
        self._tables = [lay_out([sources, *here]) for sources in self._sources]
        address, valid = self._records.ctypes.data, self._valid.ctypes.data
        self._is_float = [pa.types.is_floating(field.type) for field in layout]
        self.sources: list[Source] = [
            (address + 8 * number, 8 * width, FLOAT64 if is_float else INT64, valid + number, width, 0)
            for number, is_float in enumerate(self._is_float)
        ]

    def __len__(self) -> int:
        return int(self._numbers[HELD] - self._numbers[GONE])

    def point(self, number: int, sources: list[Source | None]) -> None:
        """Read the next events of an input from here; None: their stream has no such column."""
        flat = [number for source in sources for number in (source or _NOWHERE)]
        self._packing.pack_into(self._memory[number], 0, *flat)

    def hold(self, count: int, stream: int, horizon: int, arrived: int) -> int | None:
        """Put events in their places; gives the newest of their times.  None: something is unusual about them, or there
        are too many, and nothing has happened."""
        numbers = self._numbers
        numbers[ARRIVED] = arrived
        return int(numbers[NEWEST]) if hold_events(self._tables[stream], count, stream, horizon) else None

    def count_ready(self, horizon: int, at_horizon: bool) -> int:
        let_go(self._tables[0])
        return int(count_ready(self._tables[0], horizon, at_horizon))

    def let_go(self, count: int) -> None:
        """The first so many have left: they lie where they are until others come."""
        self._numbers[GONE] = count

    # --- without asking the gate each time (kernel/compiled/take_in.py) --------------------------------------
    @property
    def tables(self) -> list[Int64s]:
        """For each input, where its sources and the events that wait are."""
        return self._tables

    @property
    def arrived(self) -> int:
        return int(self._numbers[ARRIVED])

    @arrived.setter
    def arrived(self, count: int) -> None:
        self._numbers[ARRIVED] = count

    def give(self) -> pa.Table:
        """All events that wait, as a table; they wait here no longer."""
        let_go(self._tables[0])
        count = len(self)
        columns: list[Picked] = []
        for number, field in enumerate(self._layout):
            words = np.ascontiguousarray(self._records[:count, number])
            absent = self._valid[:count, number] == 0
            columns.append((self._read_words(words, field.type), absent if absent.any() else None))
        self._numbers[HELD] = 0
        return FewRows(RowShape(self._layout), columns, self._interner).as_table()

    def _read_words(self, words: npt.NDArray[np.int64], arrow_type: pa.DataType) -> npt.NDArray[Any]:
        if pa.types.is_floating(arrow_type):
            return words.view(np.float64).astype(arrow_type.to_pandas_dtype())
        if is_text(arrow_type) or pa.types.is_timestamp(arrow_type):
            return words
        return words.astype(arrow_type.to_pandas_dtype())

    def take(self, table: pa.Table) -> bool:
        """Let the events of a table wait here as well; False: they are too many, or some cannot."""
        count, used = len(table), len(self)
        if used or count > MOST_HELD // 2:
            return False
        words = np.zeros((count, len(self._layout)), dtype=np.int64)
        valid = np.ones((count, len(self._layout)), dtype=np.uint8)
        for number, name in enumerate(self._layout.names):
            read = read_column(table.column(name), self._interner)
            words[:, number] = read.values.view(np.int64) if read.values.dtype == np.float64 else read.values
            if read.valid is not None:
                valid[:, number] = read.valid
        keys = [words[:, self._numbers[ARRIVAL]], words[:, self._numbers[TIME]]]
        if self._numbers[STREAM] >= 0:
            keys.insert(1, words[:, self._numbers[STREAM]])
        order = np.lexsort(keys)
        self._records[:count], self._valid[:count] = words[order], valid[order]
        self._numbers[HELD], self._numbers[GONE] = count, 0
        return True


def list_columns(layout: pa.Schema, schema: pa.Schema) -> list[int | None] | None:
    """Which column of an input is which of the layout (None: it has none); None: they are of another type."""
    found: list[int | None] = []
    for field in layout:
        number = schema.get_field_index(field.name)
        if number >= 0 and schema.field(number).type != field.type:
            return None
        found.append(number if number >= 0 else None)
    return found
