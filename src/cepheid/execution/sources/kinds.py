"""The kinds of sources, in the order in which they are asked; users add theirs.

session.source("buses", "feeds/*.parquet")   [source.buses] path = "feed.csv.gz"   cepheid sql --table buses=feed.jsonl
                                    └──────────── open_source ────────────┘
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.errors import InvalidInput, UnknownKind
from cepheid.execution.file_names import is_path, list_files, locate_path
from cepheid.execution.sources import (
    arrow_files,
    batches,
    csv_files,
    in_memory,
    json_lines,
    merged_folder,
    parquet_files,
)
from cepheid.execution.sources.files import FileSource
from cepheid.execution.sources.source import BATCH_ROWS, OpenSource, Recognise, Source, SourceKind, is_source
from cepheid.schema import fit_schema

SOURCE_KINDS: list[SourceKind] = [
    merged_folder.KIND,  # in front of Parquet, whose files it has
    csv_files.KIND,
    json_lines.KIND,
    arrow_files.KIND,
    parquet_files.KIND,  # behind the others: it takes any folder
    batches.KIND,  # in front of tables: an Arrow reader has a C stream as well, and is not to be read at once
    in_memory.KIND,
]


def open_source(given: Any, *, name: str, schema: pa.Schema | None = None, folder: Path | None = None) -> Source:
    """What a user gave as a source: a text (path, pattern, URL), a table, an iterator, or a `Source` of their own.

    name: of the stream, for messages.  schema: what it is declared to have, in place of what is found.  folder: where
    relative paths start from.
    """
    if is_source(given):
        return _fit_source(given, name, schema)
    given = str(given) if isinstance(given, Path) else given
    for kind in SOURCE_KINDS:
        asked = _asked(kind, given, folder)
        if asked is not None and kind.recognises(asked):
            return _fit_source(_checked(kind, kind.open(asked, name, schema)), name, schema)
    if isinstance(given, str) and is_path(given):
        list_files(locate_path(given, folder))  # a file that is not there is a plainer mistake
    raise UnknownKind("source", name, given, [f"{kind.name} ({kind.written})" for kind in SOURCE_KINDS])


def read_whole(source: Source, name: str) -> pa.Table:
    """All events of a source, for a query over whole tables."""
    if not source.is_finite:
        hint = "give a file or a table; what does not end is pushed into an open query"
        raise InvalidInput(f'"{name}" may not end, and cannot be read whole', hint=hint)
    if isinstance(source, FileSource):
        return source.read_whole()
    return pa.concat_tables([source.schema.empty_table(), *source.read()])


def register_source(name: str, recognises: Recognise, open: OpenSource) -> None:  # noqa: A002 (as in SourceKind)
    """Add a kind of source, asked before those that are there.

    recognises(given): is it one?  It is asked for every text and object that someone gives as a source.
    open(given, stream_name, schema): a `Source`: `schema`, `is_finite` and `read(rows)`, as in
    `cepheid.execution.sources.source`; the schema it is given is what the user declared, or None.
    """
    if any(kind.name == name for kind in SOURCE_KINDS):
        raise InvalidInput(f'there is a kind of source called "{name}" already', hint="choose another name")
    SOURCE_KINDS.insert(0, SourceKind(name, f"registered as {name}", recognises, open))


def _asked(kind: SourceKind, given: Any, folder: Path | None) -> Any:
    """What this kind is shown; None: nothing that it could know."""
    if not kind.takes_paths:
        return given
    return locate_path(given, folder) if isinstance(given, str) and is_path(given) else None


def _checked(kind: SourceKind, opened: Any) -> Source:
    if not is_source(opened):
        hint = "give it schema, is_finite and read(rows), as in cepheid.execution.sources.source"
        raise InvalidInput(f'the source of kind "{kind.name}" is a {type(opened).__name__}, no Source', hint=hint)
    return opened


def _fit_source(source: Source, name: str, schema: pa.Schema | None) -> Source:
    return source if schema is None or source.schema.equals(schema) else FittedSource(source, name, schema)


class FittedSource:
    """A source whose kind takes no notice of the schema that it is declared to have."""

    def __init__(self, source: Source, name: str, schema: pa.Schema) -> None:
        self.source, self.name, self.schema = source, name, schema
        self.is_finite = source.is_finite

    def read(self, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
        return (fit_schema(self.name, table, self.schema) for table in self.source.read(rows))
