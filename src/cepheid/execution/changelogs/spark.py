"""changelog="spark": the columns of Spark's changelogs and of Delta's change data feed; AUTO CDC can be fed with it.

    _change_type      _match  _version  _commit_version  _commit_timestamp | row
    update_preimage   7       3         12               ...               | old
    update_postimage  7       4         12               ...               | new

    create_auto_cdc_flow(keys=["_match"], sequence_by="_version", apply_as_deletes="_change_type = 'delete'",
                         except_column_list=["_change_type", "_commit_version", "_commit_timestamp"])

`_version` is the one of our own form, spread: twice as much for an insert, one more for a retract.  In our own form a
retract may bear the version of the insert that it takes back, and whoever sequences by a single column could not tell
which of the two is newer; spread, it grows with every change of a `_match`.  `_commit_version` is the number of the
push, `_commit_timestamp` when its rows were given out, an instant, as Spark's TIMESTAMP is.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.execution.changelogs.changelog import Changelog, Commit
from cepheid.execution.changelogs.updates import pair_updates
from cepheid.execution.changelogs.word_column import find_own_schema, put_in_front, read_words
from cepheid.schema import without_changes

WORD = "_change_type"
COMMIT = pa.schema([("_commit_version", pa.int64()), ("_commit_timestamp", pa.timestamp("us", "UTC"))])
INSERTS, RETRACTS = ("insert", "update_postimage"), ("delete", "update_preimage")


def make_schema(schema: pa.Schema) -> pa.Schema:
    front = [pa.field(WORD, pa.string()), schema.field("_match"), pa.field("_version", pa.int64()), *COMMIT]
    return put_in_front("spark", schema, pa.schema(front))


def write(changes: pa.Table, commit: Commit) -> pa.Table:
    updates = pair_updates(changes)
    words = updates.choose(gone="delete", before="update_preimage", after="update_postimage", new="insert")
    versions = updates.rows.column("_version").cast(pa.int64()).to_numpy()
    told = [np.full(len(changes), value, dtype=np.int64) for value in (commit.number, commit.moment_us)]
    front = [
        words,
        updates.rows.column("_match"),
        pa.array(2 * versions + updates.gone, pa.int64()),
        *(pa.array(value).cast(field.type) for value, field in zip(told, COMMIT, strict=True)),
    ]
    row = updates.rows.select(without_changes(changes.schema).names)
    return pa.Table.from_arrays([*front, *row.columns], schema=make_schema(changes.schema))


def find_schema(schema: pa.Schema) -> pa.Schema | None:
    return find_own_schema(schema, WORD, tuple(COMMIT.names))


def read(stream: str, table: pa.Table) -> pa.Table:
    there = [name for name in COMMIT.names if name in table.column_names]
    return read_words(stream, table.drop_columns(there), WORD, INSERTS, RETRACTS)


FORM = Changelog("spark", make_schema, write, find_schema, read)
