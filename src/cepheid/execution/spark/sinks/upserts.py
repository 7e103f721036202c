"""Changes as records of a topic that holds the newest of each key, and no value for what is gone.

    _change  _match  _version  value             key  value
    retract  7       4         {...}             7    {"_match": 7, "_version": 5, ...}
    insert   7       5         {...}       ─▶    9    (null: a tombstone, which compaction removes in time)
    retract  9       4         {...}

One record for each `_match` of a batch: what takes the place of a row is enough to take the row back, and a retract
without an insert behind it is a null.  Keyed by `_match`, a row's records are in one partition, in order.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from cepheid.execution.merging.latest_changes import read_batch
from cepheid.execution.spark.kafka.transactions import Record
from cepheid.execution.spark.sinks.sink import Rows
from cepheid.schema import INSERT

SEVERAL = "a key has one value: leave upsert out, which writes every change, or give each row a _match of its own"


def make_upserts(name: str, rows: Rows) -> Iterator[Record]:
    """rows: with `_change`, `_match` as text, `_version`, and `value`, the row as text.  name: of the topic."""
    latest = read_batch(name, pa.Table.from_batches(rows, rows.schema), (), SEVERAL)
    columns = (latest.column(column).to_pylist() for column in ("_match", "_change", "value"))
    for match, change, value in zip(*columns, strict=True):
        yield match, value if change == INSERT else None
