"""Events as tuples, one at a time or a few, and rows as tuples: without Arrow in between.

    bids = query.feed("bids")
    rows = bids.push((1, 2.5, datetime(2026, 1, 1)))       one event
    rows = bids.push([(1, 2.5, ...), (2, 3.0, ...)])       several

Values stand in the order of the stream's columns; None is null; times are datetimes, or microseconds since 1970.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import chain
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.embedded.stream_lane import StreamLane
from cepheid.execution.lane.engine_lane import EngineLane
from cepheid.execution.lane.few_rows import list_tuples
from cepheid.execution.lane.sources import Source, code_of, is_text
from cepheid.kernel.columns import Interner
from cepheid.kernel.compiled.memory import BIT, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32

Event = tuple[Any, ...]
ROOM = 512  # events that are packed at once
_FORMATS = {
    BIT: "B", INT8: "b", INT16: "h", INT32: "i", INT64: "q", UINT8: "B", UINT16: "H", UINT32: "I", FLOAT32: "f",
    FLOAT64: "d",
}  # fmt: skip
_EPOCH, _EPOCH_UTC = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)  # noqa: DTZ001 (of times without a zone)
_UNUSUAL = (struct.error, TypeError, AttributeError, OverflowError, ValueError)
"""What packing raises if an event has a null or a value of another type."""


class Feed:
    """The events of one stream."""

    def __init__(self, stream: str, schema: pa.Schema, lane: StreamLane | None, push: Callable[..., Any]) -> None:
        """lane: the short way, if there is one; push: of the query, for all else."""
        self._stream = stream
        self._schema = schema
        self._push_table = push
        self._lane = lane
        self._width = len(schema)
        self._packer = None if self._lane is None else _Packer(schema, self._lane)

    def push(self, events: Event | Sequence[Event]) -> Any:
        """Take in an event, or several in a list; give the rows that are settled now, as tuples.  If several queries
        were opened together: by the name of each."""
        packer, lane = self._packer, self._lane
        if packer is not None and lane is not None:
            engine_lane = lane.engine_lane
            if engine_lane is not None and (count := packer.pack(events, engine_lane)):
                rows = lane.push_packed(engine_lane, count)
                if rows is not None:
                    return rows
        return self._push_slowly(events)

    __call__ = push

    def close(self) -> None:
        """The query is finished, and says so when it is asked."""
        self._packer = None

    def _push_slowly(self, events: Event | Sequence[Event]) -> Any:
        """Through Arrow: what is unusual."""
        listed = list(events) if isinstance(events, list) else [events]
        for event in listed:
            if not isinstance(event, tuple) or len(event) != self._width:
                self._refuse(event)
        columns = list(zip(*listed, strict=True)) if listed else [()] * self._width
        arrays = [self._read_values(field, values) for field, values in zip(self._schema, columns, strict=True)]
        found = self._push_table(**{self._stream: pa.Table.from_arrays(arrays, schema=self._schema)})
        if isinstance(found, dict):
            return {name: list_tuples(rows) for name, rows in found.items()}
        return list_tuples(found)

    def _refuse(self, event: Any) -> None:
        names = ", ".join(self._schema.names)
        said = f"has {len(event)} values" if isinstance(event, tuple) else f"is a {type(event).__name__}"
        raise InvalidInput(
            f'an event of "{self._stream}" {said}', hint=f"give a tuple with the columns {names}, None for null"
        )

    def _read_values(self, field: pa.Field, values: tuple[Any, ...]) -> pa.Array:
        try:
            if pa.types.is_timestamp(field.type):
                values = tuple(value if value is None else in_microseconds(value, field.type) for value in values)
                return pa.array(values, pa.int64()).view(pa.timestamp("us", field.type.tz)).cast(field.type, safe=False)
            if pa.types.is_integer(field.type):  # what Python takes for a whole number, as packing does
                values = tuple(value if value is None else index(value) for value in values)
            elif pa.types.is_floating(field.type):
                values = tuple(value if value is None else _read_float(value) for value in values)
            return pa.array(values, field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:
            raise InvalidInput(
                f'the column "{field.name}" of "{self._stream}" is of type {field.type}: {problem}',
                hint="give numbers, texts and datetimes (or microseconds since 1970) as the column has them; or None",
            ) from problem


def in_microseconds(value: Any, arrow_type: pa.DataType) -> int:
    """A time as it is stored; one without a zone is taken as UTC where the column has a zone."""
    if type(value) is int:
        return value
    if not isinstance(value, datetime):
        return index(value)
    span = value - (_EPOCH if value.tzinfo is None else _EPOCH_UTC)
    if value.tzinfo is not None and arrow_type.tz is None:
        raise TypeError(f"{value!r} has a time zone, the column has none")
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds


class _Packer:
    """Packs tuples into records, of which the engine's lane reads the columns that it needs."""

    def __init__(self, schema: pa.Schema, lane: StreamLane) -> None:
        self._width = len(schema)
        self._lane = lane
        self._known: EngineLane | None = None  # the lane of the engine that points here
        needed = set(lane.columns)
        self._is_direct = True  # may tuples be packed as they are?
        self._formats: list[str] = []
        self._converters: list[tuple[int, Callable[[Any], Any]]] = []
        self._types = [field.type for field in schema]
        for number, arrow_type in enumerate(self._types):
            self._formats.append(self._plan_column(number, arrow_type, number in needed))
        record = "".join(self._formats)
        self._record = f"{record}0q"
        self._size = struct.calcsize(self._record)
        self._offsets = [
            struct.calcsize("".join(self._formats[: number + 1])) - struct.calcsize(each)
            for number, each in enumerate(self._formats)
        ]
        self._room = np.zeros(ROOM * self._size, dtype=np.uint8)
        self._memory = self._room.data
        self._pack_one = struct.Struct(self._record).pack_into
        self._several: dict[int, Callable[..., None]] = {1: self._pack_one}
        self._interner = Interner()

    def _plan_column(self, number: int, arrow_type: pa.DataType, needed: bool) -> str:
        """The format of a column, and what its values must go through first."""
        code = code_of(arrow_type)
        if not needed and (code is None or pa.types.is_timestamp(arrow_type) or code[0] == BIT):
            self._converters.append((number, _leave_out))
            self._is_direct = False
            return "B"
        if code is None:
            self._is_direct = False
            assert is_text(arrow_type), "a lane has columns of numbers and texts"
            self._converters.append((number, self._number_text))
            return "q"
        if pa.types.is_timestamp(arrow_type):
            self._converters.append((number, lambda value: in_microseconds(value, arrow_type)))
        elif code[0] == BIT:
            self._is_direct = False
            self._converters.append((number, _read_flag))
        return _FORMATS[code[0]]

    def _number_text(self, value: Any) -> int:
        if type(value) is not str:
            raise TypeError("not a text")
        return self._interner.number_of(value)

    def pack(self, events: Any, engine_lane: EngineLane) -> int:
        """How many events were packed, for the lane to read; 0: these must go another way."""
        if engine_lane is not self._known or not self._lane.points_to(engine_lane, self):
            self._point(engine_lane)
        try:
            if type(events) is tuple:
                if len(events) != self._width:
                    return 0
                if self._is_direct:
                    self._pack_one(self._memory, 0, *events)
                    return 1
                values = list(events)
                for number, convert in self._converters:
                    values[number] = convert(values[number])
                self._pack_one(self._memory, 0, *values)
                return 1
            return self._pack_several(events)
        except _UNUSUAL:
            if self._is_direct and self._converters:  # times are given as datetimes, it seems
                self._is_direct = False
                return self.pack(events, engine_lane)
            return 0

    def _pack_several(self, events: Any) -> int:
        count = len(events)
        if not 0 < count <= ROOM or set(map(type, events)) != {tuple} or set(map(len, events)) != {self._width}:
            return 0
        pack = self._several.get(count)
        if pack is None:
            pack = self._several[count] = struct.Struct(self._record * count).pack_into
        if not self._is_direct:
            columns: list[Any] = list(zip(*events, strict=True))
            for number, convert in self._converters:
                columns[number] = map(convert, columns[number])
            events = zip(*columns, strict=True)
        pack(self._memory, 0, *chain.from_iterable(events))
        return count

    def _point(self, engine_lane: EngineLane) -> None:
        """Let the lane read from here."""
        address = self._room.ctypes.data
        codes = {
            "b": INT8,
            "B": UINT8,
            "h": INT16,
            "H": UINT16,
            "i": INT32,
            "I": UINT32,
            "q": INT64,
            "f": FLOAT32,
            "d": FLOAT64,
        }
        sources: list[Source] = [
            (address + self._offsets[number], self._size, codes[self._formats[number]], 0, 0, 0)
            for number in self._lane.columns
        ]
        self._lane.point(engine_lane, sources, self)
        self._interner = engine_lane.interner
        self._known = engine_lane


def _leave_out(value: Any) -> int:  # noqa: ARG001 (a column that nobody reads)
    return 0


def _read_float(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def _read_flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError("not a bool")
    return value
