"""The kinds of sinks, in the order in which they are asked; users add theirs.

session.deploy("jam", "SELECT ...", sink="jam.parquet")   [query.jam] sink = "jam.csv"   cepheid sql --output jam.jsonl
                                  └──────────────── open_sink ───────────────┘
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.errors import InvalidInput, UnknownKind
from cepheid.execution.file_names import is_path, locate_path
from cepheid.execution.sinks import (
    arrow_files,
    call_function,
    collect_tables,
    csv_files,
    json_lines,
    merged_table,
    parquet_files,
    terminal,
)
from cepheid.execution.sinks.sink import OpenSink, Recognise, Sink, SinkKind, is_sink

SINK_KINDS: list[SinkKind] = [
    terminal.KIND,
    merged_table.KIND,  # in front of files: it has a prefix of its own
    parquet_files.KIND,
    csv_files.KIND,
    json_lines.KIND,
    arrow_files.KIND,
    collect_tables.KIND,
    call_function.KIND,
]


def open_sink(given: Any, *, name: str, schema: pa.Schema | None = None, folder: Path | None = None) -> Sink:
    """What a user gave as a sink: a text (a path, stdout:table, a URL), a function, a list, or a `Sink` of their own.

    name: of the query, for messages.  schema: of its rows, so that a result without rows has it; None: that of the
    first table.  folder: where relative paths start from.
    """
    if is_sink(given):
        return given
    kind, asked = _find_kind(given, name, folder)
    opened = kind.open(asked, name, schema)
    if not is_sink(opened):
        hint = "give it write(table) and close(), as in cepheid.execution.sinks.sink"
        raise InvalidInput(f'the sink of kind "{kind.name}" is a {type(opened).__name__}, no Sink', hint=hint)
    return opened


def find_target(text: str, *, name: str, folder: Path | None = None) -> Path | None:
    """The file that a text names, None: it names something else.  Nothing is opened; an unknown kind is refused."""
    kind, asked = _find_kind(text, name, folder)
    return asked if kind.takes_paths else None


def register_sink(name: str, recognises: Recognise, open: OpenSink) -> None:  # noqa: A002 (as in SinkKind)
    """Add a kind of sink, asked before those that are there.

    recognises(given): is it one?  It is asked for every text and object that someone gives as a sink.
    open(given, query_name, schema): a `Sink`, which has `write(table)` and `close()`; the schema is that of the rows,
    or None if it is not known before the first.
    """
    if any(kind.name == name for kind in SINK_KINDS):
        raise InvalidInput(f'there is a kind of sink called "{name}" already', hint="choose another name")
    SINK_KINDS.insert(0, SinkKind(name, f"registered as {name}", recognises, open))


def _find_kind(given: Any, name: str, folder: Path | None) -> tuple[SinkKind, Any]:
    """With what the kind is shown: paths are located."""
    given = str(given) if isinstance(given, Path) else given
    may_be_path = isinstance(given, str) and is_path(given)
    for kind in SINK_KINDS:
        asked = locate_path(given, folder) if kind.takes_paths and may_be_path else given
        if (may_be_path or not kind.takes_paths) and kind.recognises(asked):
            return kind, asked if kind.locate is None or folder is None else kind.locate(asked, folder)
    raise UnknownKind("sink", name, given, [f"{kind.name} ({kind.written})" for kind in SINK_KINDS])
