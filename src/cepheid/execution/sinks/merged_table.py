"""A table that is kept at the net answer of a query whose rows come and go.

    sink = cep.MergeSink("postgresql://writer@host/shop#jam", bound=timedelta(hours=1))
    sink.write(query.push(bids=batch))           or session.deploy(..., sink=sink), or sink = "merge:out/jam"

merging/__init__.py says what becomes of a batch.  After `write` it is there: what was written needs no `close`, and a
batch that may have been written before a failure is written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.errors import InvalidInput
from cepheid.event_time import in_microseconds, read_moment
from cepheid.execution.merging.latest_changes import check_changes, read_batch
from cepheid.execution.merging.merge_address import (
    MergeAddress,
    locate_merge_address,
    open_merged_table,
    read_bound,
    read_merge_address,
)
from cepheid.execution.merging.merged_table import MergedTable, Tombstones
from cepheid.execution.sinks.sink import SinkKind
from cepheid.processing_time import Clock, SystemClock, check_clock
from cepheid.schema import fit_schema

PREFIX = "merge:"
WRITTEN = "merge:out/jam, merge:duckdb://file.db#table, merge:postgresql://user@host/database#table"


class MergeSink:
    """target: a folder, which holds Parquet files, duckdb://file.db#table or postgresql://user@host/database#table.

    key: columns that, with `_match`, tell the rows of the table apart, where a `_match` has several.  bound: for how
    long a retracted row is remembered, so that an older insert that comes late does not bring it back: no less than how
    far back batches may be given again or overtake one another; None: for ever.  time: the column that is the time of a
    row, of which `bound` is a span; None: the clock's.  clock: None: the system's.  name: of the table, where the
    target does not say, and of the query in messages.  schema: of the rows; None: that of the first table.
    """

    def __init__(
        self,
        target: str | Path,
        *,
        key: str | Sequence[str] = (),
        bound: timedelta | None = None,
        time: str | None = None,
        clock: Clock | None = None,
        name: str = "rows",
        schema: pa.Schema | None = None,
    ) -> None:
        address = read_merge_address(str(target).removeprefix(PREFIX))
        self.key, self.bound, self.time = _read_options(address, key, bound, time)
        self.name, self.schema = name, schema
        self._clock = SystemClock() if clock is None else check_clock(clock)
        self._table: MergedTable = open_merged_table(address, name, self.key)
        self._is_prepared = False
        self._known_us: int | None = None  # the latest time that was written
        if schema is not None:
            self._check(schema)

    def write(self, table: pa.Table, /) -> None:
        """Take in changes, all of them or, if this raises, none."""
        schema = self._prepare(table.schema)
        if not len(table):
            return
        latest = read_batch(self.name, fit_schema(self.name, table, schema), self.key)
        now_us = self._read_now(table)
        self._table.merge(latest, Tombstones(now_us, None if self.bound is None else in_microseconds(self.bound)))
        self._known_us = now_us

    def close(self) -> None:
        """All is written; a result without rows has its columns."""
        if self.schema is not None:
            self._prepare(self.schema)

    def _prepare(self, schema: pa.Schema) -> pa.Schema:
        if self._is_prepared and self.schema is not None:
            return self.schema
        if self.schema is None:
            self._check(schema)
        else:
            schema = self.schema
        self._table.prepare(schema)
        self._known_us = self._table.read_clock(self.time)
        self.schema, self._is_prepared = schema, True
        return schema

    def _check(self, schema: pa.Schema) -> None:
        check_changes(self.name, schema, self.key)
        if self.time is not None:
            if self.time not in schema.names:
                told = f'time is "{self.time}", which the rows of "{self.name}" do not have'
                raise InvalidInput(told, hint=f"{', '.join(schema.names)}")
            if not pa.types.is_timestamp(schema.field(self.time).type):
                told = f'time is "{self.time}", a {schema.field(self.time).type}'
                raise InvalidInput(told, hint="name a column of timestamps, or none: then it is the clock's time")

    def _read_now(self, table: pa.Table) -> int:
        """It never goes back, also where batches do."""
        if self.time is None:
            now = read_moment(self._clock.now())
        else:
            column = table.column(self.time)
            newest = pc.max(column.cast(pa.timestamp("us", column.type.tz), safe=False)).cast(pa.int64()).as_py()
            now = 0 if newest is None else newest
        return now if self._known_us is None else max(now, self._known_us)


def _read_options(
    address: MergeAddress, key: str | Sequence[str], bound: timedelta | None, time: str | None
) -> tuple[tuple[str, ...], timedelta | None, str | None]:
    """Those that were given, else those of the address."""
    given = address.options
    columns = (key,) if isinstance(key, str) else tuple(key)
    if not columns and "key" in given:
        columns = tuple(given["key"].split(","))
    if bound is None and "bound_s" in given:
        bound = read_bound(given["bound_s"])
    checked: object = bound
    if checked is not None and (not isinstance(checked, timedelta) or checked < timedelta(0)):
        raise InvalidInput(f"bound is {bound!r}", hint="a timedelta, not negative: bound=timedelta(hours=1)")
    return columns, bound, time if time is not None else given.get("time")


def is_merge(given: object) -> bool:
    return isinstance(given, str) and given.startswith(PREFIX)


def locate(given: str, folder: Path) -> str:
    return PREFIX + locate_merge_address(given.removeprefix(PREFIX), folder)


def _open(given: Any, name: str, schema: pa.Schema | None) -> MergeSink:
    return MergeSink(given, name=name, schema=schema)


KIND = SinkKind("merged table", WRITTEN, is_merge, _open, locate=locate)
