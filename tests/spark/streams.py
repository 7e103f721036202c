"""A stream that a test feeds file by file, and a query over it that can be stopped and started again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import cepheid as cep


class FedStream:
    """Files are taken one per micro-batch, in the order in which they were fed."""

    def __init__(self, spark: Any, folder: Path, schema: pa.Schema, direct: bool = True) -> None:
        self.spark, self.folder, self.schema = spark, folder, schema
        self._direct = direct
        self._fed = 0
        (folder / "in").mkdir(parents=True)

    def feed(self, table: pa.Table) -> None:
        self._fed += 1
        hidden = self.folder / "in" / f".{self._fed}"
        pq.write_table(table.cast(self.schema), hidden)
        os.utime(hidden, (1_700_000_000 + self._fed, 1_700_000_000 + self._fed))
        hidden.rename(self.folder / "in" / f"{self._fed:04d}.parquet")

    def frame(self) -> Any:
        from cepheid.execution.spark.capabilities import from_arrow_schema

        reader = self.spark.readStream.schema(from_arrow_schema(self.schema))
        frame = reader.option("maxFilesPerTrigger", "1").parquet(str(self.folder / "in"))
        return frame if self._direct else frame.where("true")  # any step of the user's own: events go through the JVM

    def run(self, text: str, name: str = "events", **settings: Any) -> Any:
        """Take what was fed since the last run, from the same checkpoint on; gives the StreamingQuery."""
        query = start_query(cep.sql(text, **{name: self.frame()}, **settings), self.folder)
        query.awaitTermination()
        return query

    @property
    def checkpoint(self) -> str:
        return str(self.folder / "checkpoint")

    def rows(self) -> pa.Table:
        return read_rows(self.spark, self.folder)


def start_query(frame: Any, folder: Path) -> Any:
    """Take what is there now, and end; rows and checkpoint go into the folder."""
    return (
        frame.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )


def run_some_at_once(frames: list[tuple[Any, Path]], count: int = 3) -> list[Any]:
    """Each frame as a query with a folder of its own; several share the cores, since each waits a lot."""
    queries = []
    for begin in range(0, len(frames), count):
        running = [start_query(frame, folder) for frame, folder in frames[begin : begin + count]]
        for query in running:
            query.awaitTermination()
        queries += running
    return queries


def read_rows(spark: Any, folder: Path) -> pa.Table:
    return spark.read.parquet(str(folder / "out")).toArrow()
