"""changelog="debezium": an envelope for each change, as Debezium writes it and its many readers know it.

    _match  before        after         source                        op  ts_ms
    7       {7, old}      {7, new}      {"cepheid", 12, 2}            u   ...
    9       {9, gone}     null          {"cepheid", 12, 1}            d   ...
    8       null          {8, new}      {"cepheid", 12, 1}            c   ...

A retract and an insert of one `_match` in one push are a single envelope, `u`.  `_match` stands in front, to be the key
of records, and in both rows, where Debezium has the key of a table: readers of envelopes (Flink's debezium-json among
them) look for their primary key there.  `source` has what concerns the change and not the row: connector; commit, the
number of the push; version, of the `_match`, of the newer row.  `ts_ms` is when the rows were given out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.execution.changelogs.changelog import Changelog, Commit
from cepheid.execution.changelogs.updates import Updates, pair_updates

SOURCE = pa.struct([("connector", pa.string()), ("commit", pa.int64()), ("version", pa.int64())])


def make_schema(schema: pa.Schema) -> pa.Schema:
    row = pa.struct([field for field in schema if field.name not in ("_change", "_version")])
    return pa.schema(
        [
            schema.field("_match"),
            ("before", row),
            ("after", row),
            ("source", SOURCE),
            ("op", pa.string()),
            ("ts_ms", pa.int64()),
        ]
    )


def write(changes: pa.Table, commit: Commit) -> pa.Table:
    updates = pair_updates(changes)
    heads = np.flatnonzero(updates.gone | ~updates.paired)  # the second half of a pair is told with the first
    is_update = updates.paired[heads]
    newer = heads + is_update
    schema = make_schema(changes.schema)
    words = np.where(updates.gone[heads], np.where(is_update, "u", "d"), "c")
    columns = [
        updates.rows.column("_match").take(pa.array(heads)),
        _take_rows(updates, heads, ~updates.gone[heads], schema.field("before").type),
        _take_rows(updates, newer, updates.gone[newer], schema.field("after").type),
        _tell_source(updates.rows.column("_version").take(pa.array(newer)), commit),
        pa.array(words, pa.string()),
        pa.array(np.full(len(heads), commit.moment_us // 1000, dtype=np.int64)),
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _take_rows(
    updates: Updates, places: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_], row: pa.StructType
) -> pa.StructArray:
    """The rows at these places, as structs; missing: bool[n], where there is none."""
    taken = updates.rows.select([field.name for field in row]).take(pa.array(places))
    columns = [column.combine_chunks() for column in taken.columns]
    return pa.StructArray.from_arrays(columns, fields=list(row), mask=pa.array(missing))


def _tell_source(versions: pa.ChunkedArray, commit: Commit) -> pa.StructArray:
    connector = pa.array(np.full(len(versions), "cepheid"), pa.string())
    number = pa.array(np.full(len(versions), commit.number, dtype=np.int64))
    numbered = versions.combine_chunks().cast(pa.int64())
    return pa.StructArray.from_arrays([connector, number, numbered], fields=list(SOURCE))


FORM = Changelog("debezium", make_schema, write)
