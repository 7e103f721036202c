"""The folder that a merge sink keeps (merging/folder_table.py): the rows that are there when it is read, plain rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.merging.folder_table import is_merged_folder, read_merged_folder, read_merged_schema
from cepheid.execution.sources.cut_tables import cut_tables
from cepheid.execution.sources.source import BATCH_ROWS, SourceKind


class MergedFolder:
    is_finite = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def schema(self) -> pa.Schema:
        with self._reading():
            return read_merged_schema(self._folder)

    def read(self, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
        with self._reading():
            whole = read_merged_folder(self._folder)
        return cut_tables(iter([whole]), rows)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as problem:
            told = f'"{self._folder}" cannot be read: {str(problem).strip().rstrip(".")}'
            raise InvalidInput(told, hint="it was written by a merge sink: see that it is whole") from None


def _open(path: Any, name: str, schema: pa.Schema | None) -> MergedFolder:  # noqa: ARG001 (its files say what it has)
    return MergedFolder(path)


KIND = SourceKind("merged table", "a folder that a merge sink keeps", is_merged_folder, _open, takes_paths=True)
