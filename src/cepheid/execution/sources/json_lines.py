"""JSON lines: an object for each event, compressed or not.  Types are guessed and hold as in csv_files.py.

A time is text like "2026-01-01 00:00:00"; Arrow finds those of whole seconds, the others are found here.  As Arrow does
it, one with an offset becomes the same instant without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.json as json_reader

from cepheid.execution.file_names import COMPRESSIONS
from cepheid.execution.sources.csv_files import BLOCK_BYTES, SAMPLE_BYTES
from cepheid.execution.sources.files import FileFormat, kind_of_files

PLAIN = (".jsonl", ".ndjson", ".json")


def _read_schema(path: Path) -> pa.Schema:
    reading = json_reader.ReadOptions(block_size=SAMPLE_BYTES)
    with pa.input_stream(path) as stream, json_reader.open_json(stream, reading) as reader:
        return _find_times(pa.Table.from_batches([reader.read_next_batch()])).schema


def _read(path: Path, rows: int, schema: pa.Schema, is_declared: bool) -> Iterator[pa.Table]:  # noqa: ARG001 (bytes)
    """A field that a guessed schema lacks may not be dropped in silence; one that a declared schema leaves out may."""
    unexpected: Literal["ignore", "error"] = "ignore" if is_declared else "error"
    parsing = json_reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected)
    reading = json_reader.ReadOptions(block_size=BLOCK_BYTES)
    with pa.input_stream(path) as stream, json_reader.open_json(stream, reading, parsing) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


def _read_whole(path: Path) -> pa.Table:
    with pa.input_stream(path) as stream:
        return _find_times(json_reader.read_json(stream))


def _find_times(table: pa.Table) -> pa.Table:
    """Columns of text of which all values are times, with an offset or all without, become timestamps."""
    for number, column in enumerate(table.schema):
        if pa.types.is_string(column.type):
            times = _as_times(table.column(number))
            table = table if times is None else table.set_column(number, column.name, times)
    return table


def _as_times(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    for zone in (None, "UTC"):
        try:
            return texts.cast(pa.timestamp("ns", zone)).cast(pa.timestamp("ns"))
        except pa.ArrowInvalid:
            continue  # at the first value that is no such time
    return None


def _advise(told: str) -> str | None:
    if "unexpected field" in told:
        return "the first rows do not have all the fields: declare a schema, with those that are wanted"
    if "changed from" in told or "convert JSON" in told:
        return 'write an object in each line, {"bus": 1, "delay": 2.5}, with values of one type, or declare a schema'
    if "Empty JSON" in told:
        return "a file without rows does not tell its columns: declare a schema"
    return None


FORMAT = FileFormat(
    "JSON lines",
    (*PLAIN, *(f"{plain}{each}" for plain in PLAIN for each in COMPRESSIONS)),
    _read_schema,
    _read,
    _read_whole,
    _advise,
)
KIND = kind_of_files(FORMAT, ".jsonl, .ndjson or .json, also .gz, .bz2, .zst or .lz4 of it")
