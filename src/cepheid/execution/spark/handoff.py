"""Where all workers are on one machine, large payloads of envelopes go from worker to worker as files.

    elsewhere  worker ─▶ JVM ─▶ shuffle ─▶ JVM ─▶ worker: every byte is copied ten times
    here       worker ─▶ file ─▶ worker, mapped into memory; the envelope carries its name

The folder is Spark's own for temporary files, which it removes when it stops.  A file may be read again as long as its
batch runs, should a task be repeated; the next batch, which begins when that is done, removes it.
"""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import pyarrow as pa
from pyspark import SparkFiles, TaskContext
from pyspark.sql import SparkSession

from cepheid.execution.blob import read_table_bytes, write_table
from cepheid.execution.spark.worker_python import runs_here

FOLDER = "spark.sql.cepheid.handoff"  # Spark tells tasks all settings of a query that begin like its own of SQL
FILE = b"file:"  # an Arrow stream begins otherwise
LEAST_BYTES = 1 << 18


def choose_folder(spark: SparkSession) -> dict[str, str]:
    """The setting of a query that is about to start; none where workers may be on other machines."""
    return {FOLDER: str(Path(SparkFiles.getRootDirectory()) / "cepheid")} if runs_here(spark) else {}


def write_payload(events: pa.Table) -> bytes:
    """Events, or the name of a file that has them."""
    folder = _find_folder() if events.nbytes >= LEAST_BYTES else None
    if folder is None:
        return write_table(events)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / uuid.uuid4().hex
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, events.schema) as writer:
        writer.write_table(events)
    return FILE + str(path).encode()


def read_payload(payload: bytes) -> pa.Table:
    if not payload.startswith(FILE):
        return read_table_bytes(payload)
    with pa.memory_map(payload.removeprefix(FILE).decode()) as file:
        return pa.ipc.open_stream(file).read_all()


def remove_earlier() -> None:
    """What batches before this one have left; called by one task of a batch, before it writes."""
    folder = _find_folder()
    if folder is not None and folder.parent.is_dir():
        for other in folder.parent.iterdir():
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)


def _find_folder() -> Path | None:
    """Of this query and batch, in a task; None: there is none."""
    context = TaskContext.get()
    root = None if context is None else context.getLocalProperty(FOLDER)
    if not root:
        return None
    query, batch = (context.getLocalProperty(name) for name in ("sql.streaming.queryId", "streaming.sql.batchId"))  # type: ignore[union-attr]
    return Path(root) / str(query) / str(batch) if query and batch else None
