"""Folders of files, one for each batch that has rows, for queries of a session: exactly once, for any reader.

A batch that comes again writes a file of the same name, put in its place when it is whole.  So no list of files that
count is needed (files.py), and readers that take all files of the folder (Arrow, DuckDB, pandas) get each row once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.errors import NotSupportedYet
from cepheid.execution.file_names import is_path
from cepheid.execution.sinks.kinds import open_sink
from cepheid.execution.spark.sinks.sink import BatchId, FileSink, Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENDINGS = {"parquet": ".parquet", "csv": ".csv", "json": ".jsonl"}


class BatchFiles:
    def __init__(self, sink: FileSink) -> None:
        if not is_path(sink.path):
            raise NotSupportedYet(
                f'the sink "{sink.path}" of a query of a session: files are written to folders of this machine',
                hint="use delta:URL, or cep.sql(...).writeStream, whose files Spark writes anywhere",
            )
        self._folder, self._ending = Path(sink.path.removeprefix("file://")), ENDINGS[sink.form]

    def prepare(self, frame: DataFrame) -> DataFrame:
        return frame

    def write(self, rows: Rows, batch: BatchId) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"{batch.query}-{batch.checkpoint}-{batch.number:09}"
        unfinished = self._folder / f".{name}{self._ending}"  # readers pass over names that begin with a dot
        unfinished.unlink(missing_ok=True)  # what a run that died has left
        file = open_sink(str(unfinished), name=batch.query, schema=rows.schema)
        for each in rows:
            file.write(pa.Table.from_batches([each]))
        file.close()
        unfinished.replace(self._folder / f"{name}{self._ending}")
