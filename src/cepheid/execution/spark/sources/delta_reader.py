"""A Delta table as a streaming source of Spark, by its API for sources in Python; offsets are versions of the table.

    {"version": -1} ─▶ {"version": 7}    the files of the table as it is at version 7
    {"version": 7} ─▶ {"version": 9}     the files that versions 8 and 9 added

The driver lists files; workers read them, as Arrow.  A version that only moves rows to other files (compaction) adds
nothing.  One that takes rows away stops the stream: what was made of them cannot be taken back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from cepheid.errors import InvalidInput
from cepheid.execution.spark.capabilities import to_arrow_schema
from cepheid.execution.spark.plain_errors import TellPlainly

MOST_PARTITIONS = 64
NEW_PLACE = "to begin with the table as it is now, give the application a new checkpoint"


@dataclass
class DeltaFiles(InputPartition):
    """Files that the table has at this version."""

    version: int
    paths: list[str]


class DeltaStream(DataSource):
    @classmethod
    def name(cls) -> str:
        return "cepheid_delta"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return DeltaStreamReader(self.options["path"], schema)


class DeltaStreamReader(DataSourceStreamReader):
    def __init__(self, place: str, schema: StructType) -> None:
        self._place, self._schema = place, schema

    def initialOffset(self) -> dict[str, int]:
        return {"version": -1}

    def latestOffset(self, *_: Any) -> dict[str, int]:  # Spark 4.0 and 4.1 give no arguments
        from deltalake import DeltaTable

        return {"version": DeltaTable(self._place).version()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        first, last = start["version"], end["version"]
        with TellPlainly():
            if first == last:
                return []
            if first > last:
                told = f'"{self._place}" is at version {last}, and {first} was read already: it is another table'
                raise InvalidInput(told, hint=NEW_PLACE)
            if first < 0:
                return _share(last, [fragment.path for fragment in _open_dataset(self._place, last).get_fragments()])
            found: list[InputPartition] = []
            for version in range(first + 1, last + 1):
                found += _share(version, find_added(self._read_log(version), self._place, version))
            return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, DeltaFiles), "partitions() makes no others"
        import pyarrow.dataset as ds

        dataset = _open_dataset(self._place, partition.version)
        wanted = set(partition.paths)
        chosen = [fragment for fragment in dataset.get_fragments() if fragment.path in wanted]
        assert len(chosen) == len(wanted), "a version has the files that it added"
        files = ds.FileSystemDataset(chosen, dataset.schema, dataset.format, dataset.filesystem)
        schema = to_arrow_schema(self._schema)
        for batch in files.to_batches():
            if len(batch):
                table = pa.Table.from_batches([batch]).select(schema.names)
                yield from table.cast(schema).to_batches()

    def _read_log(self, version: int) -> str:
        from deltalake.fs import DeltaStorageHandler
        from pyarrow.fs import PyFileSystem

        name = f"_delta_log/{version:020d}.json"
        try:
            with PyFileSystem(DeltaStorageHandler(self._place)).open_input_file(name) as file:
                return file.read().decode()
        except OSError:
            told = f'version {version} of "{self._place}" was cleaned away before it was read'
            raise InvalidInput(told, hint=NEW_PLACE) from None


def find_added(log: str, place: str, version: int) -> list[str]:
    """The files that a version adds.  log: its file, an action in each line."""
    added = []
    for line in log.splitlines():
        action = json.loads(line) if line.strip() else {}
        if action.get("remove", {}).get("dataChange", False):
            told = f'version {version} of "{place}" takes rows away, and streams can only add'
            raise InvalidInput(told, hint=f"read tables that are only appended to; {NEW_PLACE}")
        if action.get("add", {}).get("dataChange", False):
            added.append(unquote(action["add"]["path"]))
    return added


def _open_dataset(place: str, version: int) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(place, version=version).to_pyarrow_dataset()


def _share(version: int, paths: list[str]) -> list[InputPartition]:
    shares = [paths[number::MOST_PARTITIONS] for number in range(MOST_PARTITIONS)]
    return [DeltaFiles(version, share) for share in shares if share]
