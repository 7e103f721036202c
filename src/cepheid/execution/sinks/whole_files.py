"""Files that cannot be read without their end: written beside the target, and put in its place when they are whole.

rows ─▶ .jam.parquet.1f3a9c02.part ─close─▶ jam.parquet

Small tables are gathered, so that row groups have a size that is good to read.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import pyarrow as pa

from cepheid.execution.file_names import has_ending
from cepheid.execution.sinks.sink import SinkKind
from cepheid.execution.sinks.target import prepare_target, writing
from cepheid.schema import fit_schema

GROUP_ROWS = 131_072
TYPE_HINT = "cast the columns in the query to types that the file can hold, or choose another kind of file"

MakeWriter = Callable[[Any, pa.Schema], Any]  # an object with write_table and close, over an open file


class WholeFileSink:
    """schema: of the rows; None: that of the first table.  Without either there will be no file, as after a failure."""

    def __init__(self, path: Path, name: str, schema: pa.Schema | None, make_writer: MakeWriter) -> None:
        prepare_target(path)
        self.path, self.name, self.schema, self.make_writer = path, name, schema, make_writer
        self._waiting: list[pa.Table] = []
        self._held = 0
        self._file: IO[bytes] | None = None
        self._writer: Any = None
        self._temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
        self._opened: list[Any] = []
        self._drop = weakref.finalize(self, _drop_file, self._opened, self._temporary)
        if schema is not None:
            self._start(schema)

    def write(self, table: pa.Table, /) -> None:
        assert self._drop.alive, "a sink is not written to after it was closed or has failed"
        if self.schema is None:
            self.schema = table.schema
            self._start(self.schema)
        if len(table):
            self._waiting.append(fit_schema(self.name, table, self.schema))
            self._held += len(table)
        if self._held >= GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        if not self._drop.alive:
            return
        self._flush()
        if self._file is not None:
            with self._writing():
                self._writer.close()
                _finish(self._file)
                self._temporary.replace(self.path)
        self._drop()

    def _start(self, schema: pa.Schema) -> None:
        with self._writing():
            self._file = self._temporary.open("wb")
            self._opened.append(self._file)
            self._writer = self.make_writer(self._file, schema)
            self._opened.append(self._writer)

    def _flush(self) -> None:
        if self._waiting:
            with self._writing():
                self._writer.write_table(pa.concat_tables(self._waiting))
        self._waiting, self._held = [], 0

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """After a failure nothing is kept: a later `close` must not pass a part for the whole."""
        try:
            with writing(self.path, TYPE_HINT):
                yield
        except BaseException:
            self._drop()
            raise


def _finish(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())  # else a crash of the machine could leave the name and not the content
    file.close()


def _drop_file(opened: list[Any], temporary: Path) -> None:
    for each in reversed(opened):
        with suppress(pa.ArrowException, OSError, ValueError):  # it was closed, or cannot be: it is thrown away
            each.close()
    temporary.unlink(missing_ok=True)


def kind_of_whole_files(name: str, endings: tuple[str, ...], make_writer: MakeWriter) -> SinkKind:
    def recognises(path: Path) -> bool:
        return has_ending(path.name, endings)

    def open_file(path: Any, query: str, schema: pa.Schema | None) -> WholeFileSink:
        return WholeFileSink(path, query, schema, make_writer)

    return SinkKind(name, " or ".join(endings), recognises, open_file, takes_paths=True)
