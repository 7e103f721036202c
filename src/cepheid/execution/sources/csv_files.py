"""CSV with a line of names, compressed or not.  Types are guessed: 2026-01-01 00:00:00 is a timestamp, 7 an integer.

In pieces, types are guessed from the first SAMPLE_BYTES and hold from then on: a value further down that does not fit
them is an error that names it, never another value.  A file that is read whole has types that fit all its rows.  A
declared schema is taken in place of guesses.  The zone of the machine takes no part: a time without an offset has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv

from cepheid.execution.file_names import COMPRESSIONS
from cepheid.execution.sources.files import FileFormat, kind_of_files

SAMPLE_BYTES = 16 << 20
BLOCK_BYTES = 1 << 20


PARSING = csv.ParseOptions(newlines_in_values=True)  # else a block could end inside of a value in quotes


def _read_schema(path: Path) -> pa.Schema:
    reading = csv.ReadOptions(block_size=SAMPLE_BYTES)
    with pa.input_stream(path) as stream, csv.open_csv(stream, reading, PARSING) as reader:
        return reader.schema


def _read(path: Path, rows: int, schema: pa.Schema, is_declared: bool) -> Iterator[pa.Table]:  # noqa: ARG001
    types = {column.name: column.type for column in schema}
    options = csv.ConvertOptions(column_types=types, include_columns=schema.names)
    reading = csv.ReadOptions(block_size=BLOCK_BYTES)
    with pa.input_stream(path) as stream, csv.open_csv(stream, reading, PARSING, options) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


def _read_whole(path: Path) -> pa.Table:
    with pa.input_stream(path) as stream:
        return csv.read_csv(stream, parse_options=PARSING)


def _advise(told: str) -> str | None:
    if "conversion error" in told:
        return "types are those of the schema, or of the first rows: declare a schema with a type that fits all values"
    if "columns, got" in told:
        return "each line needs as many values as the first; a comma inside a value needs quotes around it"
    if "include_columns" in told:
        return "the first line names the columns; all files of a source need those of the first"
    if "Empty CSV" in told:
        return "the first line names the columns, even if there are no rows"
    return None


FORMAT = FileFormat(
    "CSV", (".csv", *(f".csv{each}" for each in COMPRESSIONS)), _read_schema, _read, _read_whole, _advise
)
KIND = kind_of_files(FORMAT, ".csv, also .gz, .bz2, .zst or .lz4 of it")
