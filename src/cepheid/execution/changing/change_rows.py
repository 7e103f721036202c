"""Rows that come and go, as they travel between vertices, and as users see them.

    users:     _change, _match, _version, then the row          "retract", 17, 2, ...
    vertices:  the row, then four columns of ours                                   ..., true, "buses:17", 2, 40
               or, as long as they are those of a stream that only grows, one                              ..., 17

Of one push, a vertex is given for each row at most one retract, of a row that was there before the push, and at most
one insert, of a row that is new; so the order among them does not matter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.schema import CHANGE_COLUMNS, INSERT, RETRACT

GONE = "_change.gone"  # is the row taken back?
ROW = "_change.row"  # who it is: "stream:match" for a row of a stream, an id for one that an engine made
VERSION = "_change.version"
PLACE = "_change.place"  # what decides between rows of one time, where the next engine reads them in order
NUMBER = "_change.number"  # the row's number in a stream that only grows: says all that those four say
CARRIED = pa.schema([(GONE, pa.bool_()), (ROW, pa.string()), (VERSION, pa.int64()), (PLACE, pa.int64())])

HIDDEN = frozenset((*CARRIED.names, NUMBER))

Flags = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]


def with_carried(schema: pa.Schema) -> pa.Schema:
    """The schema of rows that travel."""
    return pa.schema([*schema, *CARRIED])


def with_number(schema: pa.Schema) -> pa.Schema:
    """The schema of rows that travel with their numbers."""
    return schema.append(pa.field(NUMBER, pa.int64()))


def drop_hidden(schema: pa.Schema) -> pa.Schema:
    """The schema of the rows themselves."""
    return pa.schema([field for field in schema if field.name not in HIDDEN])


def without_carried(table: pa.Table) -> pa.Table:
    """The rows of a stream that never takes one back."""
    assert NUMBER in table.column_names or not pc.any(table.column(GONE)).as_py(), "a stream of inserts has no retracts"
    return table.select([name for name in table.column_names if name not in HIDDEN])


def carry(table: pa.Table, gone: Flags, rows: pa.Array | pa.ChunkedArray, versions: Int64s, places: Int64s) -> pa.Table:
    """Rows and what is to be known of them."""
    told = [pa.array(gone), rows, pa.array(versions, pa.int64()), pa.array(places, pa.int64())]
    return pa.Table.from_arrays([*table.columns, *told], schema=with_carried(table.schema))


def read_flags(column: pa.ChunkedArray) -> Flags:
    flags: Flags = column.to_numpy()
    return flags


def name_row(stream: str, matches: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Who the rows of a stream are: matches of two streams may be alike."""
    return pc.binary_join_element_wise(pa.scalar(stream), matches.cast(pa.string()), ":")


class ShownChanges:
    """The rows of a query as users see them: what is known of a row stands in front.

    match_type: of `_match`; None: rows of several streams, or made by an engine, are told by our own names.
    """

    def __init__(self, schema: pa.Schema, match_type: pa.DataType | None) -> None:
        self._match_type = match_type
        self._names = [name for name in schema.names if name not in HIDDEN]
        shown = zip(CHANGE_COLUMNS, (pa.string(), match_type or pa.string(), pa.int64()), strict=True)
        self.schema = pa.schema([*shown, *(schema.field(name) for name in self._names)])

    def show(self, table: pa.Table) -> pa.Table:
        """Retracts come before inserts: what takes the place of a row comes after it."""
        gone = read_flags(table.column(GONE))
        if gone.any() and not gone.all():
            order = np.argsort(~gone, kind="stable")
            table, gone = table.take(pa.array(order)), gone[order]
        words = pa.DictionaryArray.from_arrays(pa.array(gone.astype(np.int8)), pa.array([INSERT, RETRACT]))
        told = [words.cast(pa.string()), self._show_matches(table.column(ROW)), table.column(VERSION)]
        return pa.Table.from_arrays([*told, *(table.column(name) for name in self._names)], schema=self.schema)

    def _show_matches(self, rows: pa.ChunkedArray) -> pa.ChunkedArray:
        if self._match_type is None:
            return rows
        return pc.replace_substring_regex(rows, "^[^:]*:", "").cast(self._match_type)
