"""Files of one format as a source: one, a folder of them, or those that fit a pattern, in the order of their names.

paths ─FileFormat.read─▶ tables ─fit_schema─▶ of one schema ─cut_tables─▶ of one size

Only the file that is being read is open, and of it only a piece is in memory.  The schema is that of the first file;
the others are fitted to it, or refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.file_names import find_sample, has_ending, is_folder, list_files
from cepheid.execution.sources.cut_tables import cut_tables
from cepheid.execution.sources.source import BATCH_ROWS, SourceKind
from cepheid.schema import fit_schema, read_schema, read_table


@dataclass(frozen=True, slots=True)
class FileFormat:
    """read_schema: of a file, from a first piece of it.  read: tables of about `rows` rows with at least the columns of
    the schema, which is declared or guessed; where the file does not say its types, those of the schema.  read_whole:
    for files whose types are guessed: all of it, with types that fit all rows and not only the first.  advise: a next
    step, from Arrow's words."""

    name: str
    endings: tuple[str, ...]
    read_schema: Callable[[Path], pa.Schema]
    read: Callable[[Path, int, pa.Schema, bool], Iterator[pa.Table]]
    read_whole: Callable[[Path], pa.Table] | None = None
    advise: Callable[[str], str | None] = lambda _: None


class FileSource:
    """paths: in the order they are read."""

    is_finite = True

    def __init__(self, form: FileFormat, paths: list[Path], name: str, declared: pa.Schema | None = None) -> None:
        self.form, self.paths, self.name, self.declared = form, paths, name, declared

    @cached_property
    def schema(self) -> pa.Schema:
        if self.declared is not None:
            return self.declared
        with self._reading(self.paths[0]):
            found = self.form.read_schema(self.paths[0])
        return read_schema(self.name, found)

    def read(self, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
        return cut_tables(self._read_files(rows), rows)

    def read_whole(self) -> pa.Table:
        if self.form.read_whole is None or self.declared is not None or len(self.paths) > 1:
            return pa.concat_tables([self.schema.empty_table(), *self._read_files(BATCH_ROWS)])
        with self._reading(self.paths[0]):
            whole = self.form.read_whole(self.paths[0])
        return read_table(self.name, whole)

    def _read_files(self, rows: int) -> Iterator[pa.Table]:
        schema = self.schema
        for path in self.paths:
            with self._reading(path):
                for table in self.form.read(path, rows, schema, self.declared is not None):
                    yield self._fit(path, table, schema)

    def _fit(self, path: Path, table: pa.Table, schema: pa.Schema) -> pa.Table:
        try:
            return fit_schema(self.name, read_table(self.name, table), schema)
        except InvalidInput as problem:
            first = "the declared schema" if self.declared is not None else f'"{self.paths[0]}"'
            told = f'"{path}" does not fit {first}: {problem.message}'
            raise InvalidInput(told, hint=f"the schema is: {_show_schema(schema)}") from None

    @contextmanager
    def _reading(self, path: Path) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
            told = str(problem).strip().rstrip(".")
            otherwise = f"it was read as {self.form.name}; if it is something else, give it that ending"
            hint = self.form.advise(told) or otherwise
            if isinstance(problem, PermissionError):
                hint = "see that you may read it"
            raise InvalidInput(f'"{path}" cannot be read: {told}', hint=hint) from None


def open_files(form: FileFormat, path: Path, name: str, schema: pa.Schema | None) -> FileSource:
    paths = list_files(path)
    for other in paths:
        if not has_ending(other.name, form.endings) and other != path:
            told = f'"{path}" has files of several kinds: "{paths[0]}" and "{other}"'
            raise InvalidInput(told, hint=f'name those to be read, as in "{path.parent / f"*{form.endings[0]}"}"')
    return FileSource(form, paths, name, schema)


def kind_of_files(form: FileFormat, written: str = "") -> SourceKind:
    """Files that end so, folders and patterns whose first file does."""

    def recognises(path: Path) -> bool:
        if not is_folder(path) and has_ending(path.name, form.endings):
            return True
        return has_ending(find_sample(path).name, form.endings)

    def open_form(path: Any, name: str, schema: pa.Schema | None) -> FileSource:
        return open_files(form, path, name, schema)

    return SourceKind(form.name, written or ", ".join(form.endings), recognises, open_form, takes_paths=True)


def _show_schema(schema: pa.Schema) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in schema)
