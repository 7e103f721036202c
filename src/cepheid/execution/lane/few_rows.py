"""A few rows as arrays: Arrow tables or tuples are made of them at the very end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.execution.lane.sources import is_text
from cepheid.execution.log_column import Picked
from cepheid.kernel.columns import Interner

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (of times without a zone)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)


class RowShape:
    """The columns of rows, and how their values are shown; made once."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.is_text = [is_text(field.type) for field in schema]
        self.readers = [time_reader(field.type) if pa.types.is_timestamp(field.type) else None for field in schema]


class FewRows:
    """columns: one for each of the shape; interner: behind the numbers of strings."""

    __slots__ = ("columns", "interner", "shape")

    def __init__(self, shape: RowShape, columns: list[Picked], interner: Interner) -> None:
        self.shape = shape
        self.columns = columns
        self.interner = interner

    def __len__(self) -> int:
        first = self.columns[0]
        return len(first[0]) if isinstance(first, tuple) else len(first)

    def as_table(self) -> pa.Table:
        arrays = [
            self._write(column, field.type) if isinstance(column, tuple) else column
            for column, field in zip(self.columns, self.shape.schema, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=self.shape.schema)

    def _write(self, column: tuple[Any, Any], arrow_type: pa.DataType) -> pa.Array:
        values, absent = column
        if is_text(arrow_type):
            return pa.array(self._list_texts(values, absent), arrow_type)
        if absent is None and values.dtype != np.bool_:
            return pa.Array.from_buffers(arrow_type, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
        array = pa.array(values, mask=absent)
        return array if array.type == arrow_type else array.view(arrow_type)

    def _list_texts(self, values: Any, absent: Any) -> list[str | None]:
        if absent is None:
            return [*self.interner.texts_of(values.tolist())]
        known = np.flatnonzero(~absent)
        texts: list[str | None] = [None] * len(values)
        for place, text in zip(known.tolist(), self.interner.texts_of(values[known].tolist()), strict=True):
            texts[place] = text
        return texts

    def list_columns(self) -> list[list[Any]]:
        """The values of each column, as Python has them."""
        shape = self.shape
        return [
            self._list(column, texts, reader)
            for column, texts, reader in zip(self.columns, shape.is_text, shape.readers, strict=True)
        ]

    def _list(self, column: Picked, texts: bool, reader: Callable[[int], datetime] | None) -> list[Any]:
        if not isinstance(column, tuple):
            listed: list[Any] = column.to_pylist()
            return listed
        values, absent = column
        if texts:
            return [*self._list_texts(values, absent)]
        found: list[Any] = values.tolist()
        if reader is not None:
            found = [*map(reader, found)]
        if absent is not None:
            found = [None if missing else value for value, missing in zip(found, absent.tolist(), strict=True)]
        return found


def time_reader(arrow_type: pa.DataType) -> Callable[[int], datetime]:
    """From microseconds to the time that Arrow would show for a timestamp of this type."""
    if arrow_type.tz is None:
        return lambda value: _EPOCH + timedelta(microseconds=value)
    if arrow_type.tz == "UTC":
        return lambda value: _EPOCH_UTC + timedelta(microseconds=value)
    zone: tzinfo = pa.scalar(0, arrow_type).as_py().tzinfo
    return lambda value: (_EPOCH_UTC + timedelta(microseconds=value)).astimezone(zone)


def list_tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a table as tuples."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
