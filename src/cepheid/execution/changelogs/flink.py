"""changelog="flink": row kinds, as Flink's TO_CHANGELOG writes them and FROM_CHANGELOG reads them.

    op             _match  _version | row          FROM_CHANGELOG(input => TABLE jam)
    UPDATE_BEFORE  7       1        | old          the default names of both: `op`, INSERT, UPDATE_BEFORE,
    UPDATE_AFTER   7       2        | new          UPDATE_AFTER, DELETE

Retracts are whole rows, so it is a retract stream that needs no key; UPDATE_BEFORE stands right in front of its
UPDATE_AFTER, as Flink's operators give them.  `_match` is the key for those who want an upsert stream (PARTITION BY
_match, PRIMARY KEY (_match)), and both columns are kept so that the stream can be given to a query of ours.
"""

from __future__ import annotations

import pyarrow as pa

from cepheid.execution.changelogs.changelog import Changelog, Commit
from cepheid.execution.changelogs.updates import pair_updates
from cepheid.execution.changelogs.word_column import find_own_schema, put_in_front, read_words

OP = "op"
INSERTS, RETRACTS = ("INSERT", "UPDATE_AFTER"), ("DELETE", "UPDATE_BEFORE")


def make_schema(schema: pa.Schema) -> pa.Schema:
    return put_in_front(
        "flink", schema, pa.schema([(OP, pa.string()), schema.field("_match"), schema.field("_version")])
    )


def write(changes: pa.Table, commit: Commit) -> pa.Table:  # noqa: ARG001 (row kinds know no commits)
    updates = pair_updates(changes)
    words = updates.choose(gone="DELETE", before="UPDATE_BEFORE", after="UPDATE_AFTER", new="INSERT")
    schema = make_schema(changes.schema)
    return pa.Table.from_arrays([words, *updates.rows.drop_columns("_change").columns], schema=schema)


def find_schema(schema: pa.Schema) -> pa.Schema | None:
    return find_own_schema(schema, OP)


def read(stream: str, table: pa.Table) -> pa.Table:
    return read_words(stream, table, OP, INSERTS, RETRACTS)


FORM = Changelog("flink", make_schema, write, find_schema, read)
