"""Rows of tables as events, and back: who each is, where it stands in the order, and its columns as a mapping.

    columns of a row  ts, source, number ─▶ EventName      all ─▶ Event.data

Without a column of numbers, events of a source are counted as they arrive; those of one source at one time are then in
the order of their arrival.  Without a column of sources there is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.disorder.consistency_manager import EventName
from cepheid.errors import InvalidInput, UnknownColumn
from cepheid.event_time import is_event_time, order_values
from cepheid.execution.parallel.events import Event
from cepheid.schema import fit_schema, read_schema, read_table

NAME = "events"  # what tables are called in messages
MOST_SOURCE = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EventColumns:
    """What tells an event: columns of its time, its source (None: there is one), its number there (None: counted)."""

    time: str = "ts"
    source: str | None = None
    number: str | None = None


class EventTables:
    def __init__(self, schema: Any, columns: EventColumns) -> None:
        self.schema, self._columns = read_schema(NAME, schema), columns
        self._counted: dict[int, int] = {}  # events of each source so far
        self._check_columns()

    def read(self, table: Any) -> list[Event]:
        """Nothing is counted unless all rows can be read."""
        rows = fit_schema(NAME, read_table(NAME, table), self.schema)
        times = self._read_numbers(rows, self._columns.time)
        sources = self._read_numbers(rows, self._columns.source) if self._columns.source else [0] * len(rows)
        if sources and not 0 <= min(sources) <= max(sources) <= MOST_SOURCE:
            hint = f"number your sources from 0 to {MOST_SOURCE}"
            raise InvalidInput(f'"{NAME}.{self._columns.source}" has a source out of range', hint=hint)
        numbers = self._read_numbers(rows, self._columns.number) if self._columns.number else self._count(sources)
        names = map(EventName, times, sources, numbers)
        return [Event(name, data) for name, data in zip(names, rows.to_pylist(), strict=True)]

    def write(self, events: Iterable[Event]) -> pa.Table:
        return pa.Table.from_pylist([event.data for event in events], schema=self.schema)

    def _check_columns(self) -> None:
        columns = self._columns
        for name in filter(None, (columns.time, columns.source, columns.number)):
            if name not in self.schema.names:
                raise UnknownColumn(name, NAME, self.schema.names)
            kind = self.schema.field(name).type
            is_time = name == columns.time and is_event_time(kind)
            if not is_time and not pa.types.is_integer(kind):
                wanted = "a timestamp, a date or whole numbers" if name == columns.time else "whole numbers"
                raise InvalidInput(f'"{NAME}.{name}" is {kind}', hint=f"it must be {wanted}")

    def _read_numbers(self, rows: pa.Table, name: str) -> list[int]:
        values, is_known = order_values(rows.column(name))
        if is_known is not None and not is_known.all():
            place = int(np.flatnonzero(~is_known)[0])
            raise InvalidInput(f'"{NAME}.{name}" is null in row {place}', hint="leave such rows out")
        numbers: list[int] = values.tolist()
        return numbers

    def _count(self, sources: list[int]) -> list[int]:
        numbers = []
        for source in sources:
            numbers.append(self._counted.get(source, 0))
            self._counted[source] = numbers[-1] + 1
        return numbers
