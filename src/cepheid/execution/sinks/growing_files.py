"""Files of lines, which can be read while they grow: written in place, each table in whole lines.

An earlier file of the name is replaced when the first table comes, or at `close`: a query that fails before leaves it
as it is.  After each `write` the lines are with the operating system, so that `tail -f` shows them, and a process that
dies leaves them all; of the `write` that it died in there may be a part of a line.  The file alone does not say whether
more will come.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa

from cepheid.execution.file_names import has_ending
from cepheid.execution.sinks.sink import SinkKind
from cepheid.execution.sinks.target import prepare_target, writing
from cepheid.schema import fit_schema


class LineWriter(Protocol):
    """Lines for tables, into an open file of bytes."""

    def write_table(self, table: pa.Table, /) -> None: ...

    def close(self) -> None: ...


MakeLines = Callable[[IO[bytes], pa.Schema], LineWriter]
CheckSchema = Callable[[Path, pa.Schema], None]  # raises InvalidInput for columns that such lines cannot hold


class GrowingFileSink:
    """schema: of the rows; None: that of the first table.  Without either there is no file."""

    def __init__(
        self, path: Path, name: str, schema: pa.Schema | None, make_lines: MakeLines, check: CheckSchema
    ) -> None:
        prepare_target(path)
        if schema is not None:
            check(path, schema)
        self.path, self.name, self.schema, self.make_lines, self.check = path, name, schema, make_lines, check
        self._file: IO[bytes] | None = None
        self._lines: LineWriter | None = None
        self._closed = False

    def write(self, table: pa.Table, /) -> None:
        assert not self._closed, "a sink is not written to after it was closed"
        if self.schema is None:
            self.check(self.path, table.schema)
            self.schema = table.schema
        fitted = fit_schema(self.name, table, self.schema)
        with writing(self.path):
            file, lines = self._start(self.schema)
            if len(fitted):
                lines.write_table(fitted)
            file.flush()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self.schema is None:
            return
        with writing(self.path):
            file, lines = self._start(self.schema)
            lines.close()
            file.close()

    def _start(self, schema: pa.Schema) -> tuple[IO[bytes], LineWriter]:
        if self._file is None:
            self._file = self.path.open("wb")
            weakref.finalize(self, self._file.close)
        if self._lines is None:
            self._lines = self.make_lines(self._file, schema)
        return self._file, self._lines


def kind_of_growing_files(
    name: str, endings: tuple[str, ...], make_lines: MakeLines, check: CheckSchema = lambda _, __: None
) -> SinkKind:
    def recognises(path: Path) -> bool:
        return has_ending(path.name, endings)

    def open_file(path: Any, query: str, schema: pa.Schema | None) -> GrowingFileSink:
        return GrowingFileSink(path, query, schema, make_lines, check)

    return SinkKind(name, " or ".join(endings), recognises, open_file, takes_paths=True)
