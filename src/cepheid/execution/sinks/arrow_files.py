"""Arrow's IPC file format, also called Feather: whole when it is closed (whole_files.py)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc

from cepheid.execution.sinks.whole_files import kind_of_whole_files


def _make_writer(file: Any, schema: pa.Schema) -> ipc.RecordBatchFileWriter:
    """Batches of a dictionary column may each bring a dictionary of their own; in a file there can be but one."""
    return ipc.new_file(file, schema, options=ipc.IpcWriteOptions(unify_dictionaries=True))


KIND = kind_of_whole_files("Arrow", (".arrow", ".feather"), _make_writer)
