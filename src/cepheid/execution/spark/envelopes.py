"""Envelopes: many events of one key group as one Arrow blob.

Spark hands rows to Python one by one and groups them in plain Python; a blob per key group and batch turns that
cost per event into a cost per blob.  An envelope also tells the newest time among all events it was packed
with, of whatever group, so that time goes on for groups with few events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from cepheid.event_time import newest_time
from cepheid.execution.blob import read_table_bytes, write_table
from cepheid.execution.spark.key_groups import choose_labels
from cepheid.kernel.key_hash import group_keys

ENVELOPE_SCHEMA = "label int, port int, sequence long, newest long, payload binary"
MOST_ROWS = 1_000_000  # events gathered before they are packed

Packer = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def make_packer(port: int, groups: int, keys: list[str], schema: pa.Schema, time: str = "_time") -> Packer:
    """A function for mapInArrow: events with the columns of `schema`, whatever they are called, in, envelopes out.

    The types are those of the schema, too: Spark labels times with the zone of the session, envelopes with UTC.
    keys, time: the columns of `schema` that tell the key group, and how far time has come.
    """

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        sequence = (context.partitionId() if context else 0) << 32
        for table in _gather(batches):
            events = table.rename_columns(schema.names).cast(schema)
            yield pack_table(events, port, groups, keys, sequence, newest_time(events.column(time)))
            sequence += 1

    return pack


def _gather(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= MOST_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


def pack_table(events: pa.Table, port: int, groups: int, keys: list[str], sequence: int, newest: int) -> pa.RecordBatch:
    """One envelope per group that has events, each keeping the order of its events."""
    if keys:
        columns = [events.column(name) for name in keys]
        group = group_keys(columns, len(events), groups).astype(np.int16 if groups < 2**15 else np.int32)
    else:
        group = np.zeros(len(events), dtype=np.int16)  # no keys: all events belong together
    present = np.flatnonzero(np.bincount(group, minlength=1))
    if len(present) > 1:
        order = np.argsort(group, kind="stable")
        events, group = events.take(pa.array(order)), group[order]
    events = events.combine_chunks()
    bounds = np.searchsorted(group, [*present, groups])
    labels = choose_labels(groups)
    payloads = [write_table(events.slice(begin, end - begin)) for begin, end in pairwise(bounds)]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([labels[number] for number in present], pa.int32()),
            pa.array([port] * len(present), pa.int32()),
            pa.array([sequence] * len(present), pa.int64()),
            pa.array([newest] * len(present), pa.int64()),
            pa.array(payloads, pa.binary()),
        ],
        names=["label", "port", "sequence", "newest", "payload"],
    )


def open_envelopes(
    ports: list[int], sequences: list[int], payloads: list[bytes], schemas: list[pa.Schema]
) -> list[pa.Table]:
    """One table per port, envelopes in the order in which they were packed."""
    order = sorted(range(len(ports)), key=sequences.__getitem__)
    tables: list[list[pa.Table]] = [[schema.empty_table()] for schema in schemas]
    for place in order:
        tables[ports[place]].append(read_table_bytes(payloads[place]))
    return [pa.concat_tables(parts) for parts in tables]
