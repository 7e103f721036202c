"""Parquet: a file, the files that fit a pattern, or a folder, in which names of folders may be columns (bus=7/).

A file is read by row groups, in batches; a folder as Arrow's datasets see it, whatever its files are called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.dataset import ParquetFragmentScanOptions

from cepheid.execution.file_names import has_ending, is_folder, list_files
from cepheid.execution.sources.files import FileFormat, FileSource, open_files
from cepheid.execution.sources.source import SourceKind

ENDINGS = (".parquet", ".pq")


def _read_schema(path: Path) -> pa.Schema:
    return pq.read_schema(path)


def _read(path: Path, rows: int, schema: pa.Schema, is_declared: bool) -> Iterator[pa.Table]:  # noqa: ARG001
    with pq.ParquetFile(path, pre_buffer=False) as file:  # else Arrow reads ahead to the end of the file
        present = [name for name in schema.names if name in file.schema_arrow.names]
        for batch in file.iter_batches(batch_size=rows, columns=present):
            yield pa.Table.from_batches([batch])


def _read_folder_schema(path: Path) -> pa.Schema:
    return pq.ParquetDataset(path).schema


def _read_folder(path: Path, rows: int, schema: pa.Schema, is_declared: bool) -> Iterator[pa.Table]:  # noqa: ARG001
    folder = pq.ParquetDataset(path)
    options = ParquetFragmentScanOptions(pre_buffer=False)  # as in _read
    for fragment in folder.fragments:  # by name; one at a time, so that only one is in memory
        batches = fragment.to_batches(
            schema=folder.schema, batch_size=rows, batch_readahead=1, fragment_scan_options=options, use_threads=False
        )  # threads of Arrow's would read on while whoever reads is slow
        for batch in batches:
            yield pa.Table.from_batches([batch])


def _advise(told: str) -> str | None:
    if "magic bytes not found" in told or "footer" in told.lower():
        return "the file is not whole, or no Parquet; one that is being written has to be closed first"
    return None


FORMAT = FileFormat("Parquet", ENDINGS, _read_schema, _read, advise=_advise)
FOLDER = replace(FORMAT, read_schema=_read_folder_schema, read=_read_folder)


def _recognises(path: Path) -> bool:
    """Any folder that no other kind has recognised by its files: Spark's may have no endings."""
    return has_ending(path.name, ENDINGS) or is_folder(path)


def _open(path: Any, name: str, schema: pa.Schema | None) -> FileSource:
    if path.is_dir():
        list_files(path)  # is there anything in it?
        return FileSource(FOLDER, [path], name, schema)
    return open_files(FORMAT, path, name, schema)


KIND = SourceKind("Parquet", ".parquet, or a folder", _recognises, _open, takes_paths=True)
