"""The state of a stage says itself to whom it belongs: asked in every batch, wherever the query was started.

The first partition of what is packed adds an envelope without events for a group of its own.  Its state is the stage's
record, and any other record fails the batch before a row of it is given out.  Where Cepheid sees a query start
(query_start.py) it was refused long before; this holds where it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from cepheid.event_time import BEGINNING
from cepheid.execution.blob import read_blob, write_blob
from cepheid.execution.spark.envelopes import Packer
from cepheid.execution.spark.plain_errors import TellPlainly
from cepheid.execution.spark.stage_record import StageRecord, check_stages, read_stage

GUARD = -1  # labels of key groups begin at 0


def add_guard(pack: Packer) -> Packer:
    """The same for mapInArrow, where the first task of a batch adds the envelope of the guard."""

    def pack_guarded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        newest = BEGINNING
        with TellPlainly():
            for envelopes in pack(batches):
                newest = max(newest, *envelopes.column("newest").to_pylist())
                yield envelopes
        context = TaskContext.get()
        if context is not None and context.partitionId() == 0:
            yield guard_envelope(newest)

    return pack_guarded


def guard_envelope(newest: int) -> pa.RecordBatch:
    """No events; newest: how far time has come."""
    return pa.RecordBatch.from_arrays(
        [
            pa.array([GUARD], pa.int32()),
            pa.array([0], pa.int32()),
            pa.array([0], pa.int64()),
            pa.array([newest], pa.int64()),
            pa.array([b""], pa.binary()),
        ],
        names=["label", "port", "sequence", "newest", "payload"],
    )


def check_guard(index: Any, record: StageRecord) -> None:
    """`index`: the ValueState of the guard's group."""
    stored = index.get() if index.exists() else None
    if stored is None:
        index.update((write_blob({"stage": record.as_dict()}, []),))
        return
    header, _ = read_blob(bytes(stored[0]))
    check_stages([read_stage(header["stage"])], [record], "the checkpoint")
