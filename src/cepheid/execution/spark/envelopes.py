"""Envelopes: many events of one share of the keys as one Arrow blob.

Spark hands rows to Python one by one and groups them in plain Python; a blob per share and batch turns that cost per
event into a cost per blob.  An envelope also tells the newest time among all events it was packed with, of whatever
share; on a stream every share gets one, with events or without, so that all know how far time has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from cepheid.event_time import BEGINNING, find_span, newest_time
from cepheid.execution.spark.handoff import read_payload, remove_earlier, write_payload
from cepheid.execution.spark.key_groups import choose_labels, share_groups
from cepheid.execution.spark.plain_errors import TellPlainly
from cepheid.kernel.key_hash import group_keys

ENVELOPE_SCHEMA = "label int, port int, sequence long, newest long, payload binary"
MOST_ROWS = 1_000_000  # events gathered before they are packed
TASK = 1 << 32  # sequences of one task lie together
STATE_PARTITIONS = ("spark.sql.streaming.internal.stateStore.partitions", "spark.sql.shuffle.partitions")

Packer = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class Packing:
    """How events of an input go into envelopes.  keys: the columns that tell the key group, of which there are
    `groups`; time: the one that tells how far time has come, empty if none does.  whole: of a table, where each group
    is a share; else of a stream, which has as many shares as Spark has partitions of state."""

    port: int
    keys: tuple[str, ...]
    groups: int
    time: str = "_time"
    whole: bool = False

    def count_shares(self) -> int:
        """How many shares there are, in a task of Spark's: it tells tasks the settings that the checkpoint fixed."""
        context = TaskContext.get()
        if self.whole or context is None:
            return self.groups
        told = (context.getLocalProperty(name) for name in STATE_PARTITIONS)
        return next(int(partitions) for partitions in told if partitions)


def make_packer(how: Packing, schema: pa.Schema) -> Packer:
    """A function for mapInArrow: events with the columns of `schema`, whatever they are called, in, envelopes out.

    The types are those of the schema, too: Spark labels times with the zone of the session, envelopes with UTC.
    """

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with TellPlainly():
            for place, table in enumerate(gather_batches(batches), first_sequence()):
                events = table.rename_columns(schema.names).cast(schema)
                newest = newest_time(events.column(how.time)) if how.time else BEGINNING
                yield pack_table(events, how, place, newest)

    return pack


def first_sequence() -> int:
    """Of the envelopes of this task, which is about to write them."""
    context = TaskContext.get()
    task = context.partitionId() if context else 0
    if task == 0:
        remove_earlier()
    return task * TASK


def gather_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
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


def pack_table(events: pa.Table, how: Packing, sequence: int, newest: int) -> pa.RecordBatch:
    """One envelope per share, each keeping the order of its events; of a table, only for shares that have events."""
    labels = choose_labels(how.count_shares())
    rows = [(labels[share], payload) for share, payload in part_events(events, how)]
    return write_envelopes(rows, how.port, sequence, newest)


def part_events(events: pa.Table, how: Packing) -> list[tuple[int, bytes | None]]:
    """Shares, each with its events; None: it has none, but hears the time."""
    count = how.count_shares()
    share_of = share_groups(how.groups, count).astype(np.int16 if count < 2**15 else np.int32)
    shares = np.unique(share_of)
    if how.keys and len(shares) > 1:
        columns = [events.column(name) for name in how.keys]
        share = share_of[group_keys(columns, len(events), how.groups)]
        order = np.argsort(share, kind="stable")
        events, share = events.take(pa.array(order)), share[order]
    else:
        share = np.zeros(len(events), dtype=share_of.dtype)  # all events belong together
    events = events.combine_chunks()
    bounds = np.searchsorted(share, [*shares, count])
    return [
        (int(number), write_payload(events.slice(begin, end - begin)) if end > begin else None)
        for number, (begin, end) in zip(shares, pairwise(bounds), strict=True)
        if end > begin or not how.whole
    ]


def write_envelopes(rows: list[tuple[int, bytes | None]], port: int, sequence: int, newest: int) -> pa.RecordBatch:
    """rows: labels with payloads."""
    return pa.RecordBatch.from_arrays(
        [
            pa.array([label for label, _ in rows], pa.int32()),
            pa.array([port] * len(rows), pa.int32()),
            pa.array([sequence] * len(rows), pa.int64()),
            pa.array([newest] * len(rows), pa.int64()),
            pa.array([payload for _, payload in rows], pa.binary()),
        ],
        names=["label", "port", "sequence", "newest", "payload"],
    )


def open_envelopes(
    ports: list[int], sequences: list[int], payloads: list[bytes | None], schemas: list[pa.Schema], times: list[str]
) -> list[pa.Table]:
    """One table per port, envelopes in the order in which they were packed, task by task.  times: of each port, the
    column that tells time."""
    found: list[dict[int, list[tuple[int, pa.Table]]]] = [{} for _ in schemas]
    for port, sequence, payload in zip(ports, sequences, payloads, strict=True):
        if payload is not None:
            found[port].setdefault(sequence // TASK, []).append((sequence, read_payload(payload)))
    return [_line_up(tasks, schema, time) for tasks, schema, time in zip(found, schemas, times, strict=True)]


def _line_up(tasks: dict[int, list[tuple[int, pa.Table]]], schema: pa.Schema, time: str) -> pa.Table:
    read = [pa.concat_tables([table for _, table in sorted(tasks[task], key=itemgetter(0))]) for task in sorted(tasks)]
    return pa.concat_tables([schema.empty_table(), *_put_in_order(read, time)])


def _put_in_order(tables: list[pa.Table], time: str) -> list[pa.Table]:
    """Files that follow each other in time are read by tasks that need not; put right whole, they need no sorting.
    Tables whose times overlap stay as they are: events of one time keep the order in which they came."""
    spans = [find_span(table.column(time)) for table in tables] if time and len(tables) > 1 else []
    order = sorted(range(len(spans)), key=spans.__getitem__)
    apart = all(spans[before][1] < spans[after][0] for before, after in pairwise(order))
    return [tables[place] for place in order] if spans and apart else tables
