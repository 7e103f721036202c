"""Arrow files: the IPC file format (Feather), the IPC stream format, and Feather files of before 2020.

Files are mapped into memory, so that a batch is read when it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc

from cepheid.execution.sources.files import FileFormat, kind_of_files


def _read_schema(path: Path) -> pa.Schema:
    if _begins_with(path, b"FEA1"):
        return feather.read_table(path).schema
    with _open_ipc(path) as reader:
        return reader.schema


def _read(path: Path, rows: int, schema: pa.Schema, is_declared: bool) -> Iterator[pa.Table]:  # noqa: ARG001
    if _begins_with(path, b"FEA1"):  # has no batches
        yield feather.read_table(path)
        return
    with _open_ipc(path) as reader:
        if isinstance(reader, ipc.RecordBatchFileReader):
            for number in range(reader.num_record_batches):
                yield pa.Table.from_batches([reader.get_batch(number)])
        else:
            for batch in reader:
                yield pa.Table.from_batches([batch])


@contextmanager
def _open_ipc(path: Path) -> Iterator[Any]:
    is_file = _begins_with(path, b"ARROW1")
    with pa.memory_map(str(path)) as stream, (ipc.open_file if is_file else ipc.open_stream)(stream) as reader:
        yield reader


def _begins_with(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark


def _advise(told: str) -> str | None:
    if any(sign in told.lower() for sign in ("footer", "not an arrow file", "too small", "schema message")):
        return "the file is not whole, or no Arrow file; one that is being written has to be closed first"
    return None


FORMAT = FileFormat("Arrow", (".arrow", ".feather", ".arrows"), _read_schema, _read, advise=_advise)
KIND = kind_of_files(FORMAT)
