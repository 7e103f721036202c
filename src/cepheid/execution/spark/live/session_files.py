"""The checkpoint of a session, on whatever file system Spark keeps it: which batch comes next, and the records.

Each change writes a file of its own, with the next number; what is in force is the last one.  It is written under
another name first, so that a file with a number is whole.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from cepheid.execution.spark.live.session_record import SessionRecord, read_record

MOST_KEPT = 10


class SessionFiles:
    def __init__(self, spark: SparkSession, place: str) -> None:
        jvm: Any = spark._jvm  # noqa: SLF001 (there is no other way to Hadoop's file systems)
        self._jvm = jvm
        self.stream = f"{place.rstrip('/')}/stream"
        self._records = self._path(f"{place.rstrip('/')}/cepheid")
        self._system = self._records.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)

    def next_batch(self) -> int:
        """The number of the batch behind the last one that was finished."""
        return max(self._list_numbers(self._path(f"{self.stream}/commits"), ""), default=-1) + 1

    def read_newest(self) -> SessionRecord | None:
        numbers = self._list_numbers(self._records, ".json")
        if not numbers:
            return None
        path = self._jvm.org.apache.hadoop.fs.Path(self._records, f"{max(numbers)}.json")
        stream = self._system.open(path)
        try:
            text = str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
        return read_record(text, str(path))

    def write(self, record: SessionRecord) -> None:
        numbers = sorted(self._list_numbers(self._records, ".json"))
        number = numbers[-1] + 1 if numbers else 0
        unfinished = self._jvm.org.apache.hadoop.fs.Path(self._records, f".{number}.unfinished")
        stream = self._system.create(unfinished, True)
        try:
            stream.write(record.write().encode())
        finally:
            stream.close()
        self._system.rename(unfinished, self._jvm.org.apache.hadoop.fs.Path(self._records, f"{number}.json"))
        for old in numbers[: -MOST_KEPT + 1]:
            self._system.delete(self._jvm.org.apache.hadoop.fs.Path(self._records, f"{old}.json"), False)

    def _list_numbers(self, folder: Any, ending: str) -> list[int]:
        if not self._system.exists(folder):
            return []
        names = [str(each.getPath().getName()) for each in self._system.listStatus(folder)]
        stems = [name.removesuffix(ending) for name in names if name.endswith(ending)]
        return [int(stem) for stem in stems if stem.isdigit()]
