"""Forms that are our own rows with other words in front: what flink.py and spark.py have in common."""

from __future__ import annotations

import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.errors import InvalidInput
from cepheid.schema import CHANGE_COLUMNS, INSERT, RETRACT


def put_in_front(form: str, schema: pa.Schema, front: pa.Schema) -> pa.Schema:
    """The schema of a form, from our own: other columns in front of the same row."""
    row = [field for field in schema if field.name not in CHANGE_COLUMNS]
    known = {field.name.lower(): field.name for field in front}
    for field in row:
        if field.name.lower() in known:
            hint = f"{', '.join(front.names)} are put in front of the rows: call it something else"
            raise InvalidInput(f'the rows have a column "{field.name}", which changelog="{form}" needs', hint=hint)
    return pa.schema([*front, *row])


def find_own_schema(schema: pa.Schema, word: str, others: tuple[str, ...] = ()) -> pa.Schema | None:
    """Our own form of a schema that has `word` in place of `_change`; others: columns that tell nothing of the row.
    Without `_match` and `_version` it is a stream of plain rows, whatever its columns are called."""
    if "_change" in schema.names or not {word, "_match", "_version"}.issubset(schema.names):
        return None
    row = [field for field in schema if field.name not in (word, *CHANGE_COLUMNS, *others)]
    told = [pa.field("_change", pa.string()), schema.field("_match"), schema.field("_version")]
    return pa.schema([*told, *row])


def read_words(
    stream: str, table: pa.Table, word: str, inserts: tuple[str, ...], retracts: tuple[str, ...]
) -> pa.Table:
    """The rows with `_change` in place of `word`."""
    words = table.column(word).cast(pa.string())
    comes = pc.fill_null(pc.is_in(words, pa.array(inserts)), False)
    known = pc.or_(comes, pc.fill_null(pc.is_in(words, pa.array(retracts)), False))
    if not pc.all(known, min_count=0).as_py():
        wrong = words.filter(pc.invert(known))[0].as_py()
        raise InvalidInput(f'"{stream}" has {wrong!r} for {word}', hint=f"one of {', '.join((*inserts, *retracts))}")
    schema = find_own_schema(table.schema, word)
    assert schema is not None, "the schema of the stream was recognised"
    return table.append_column("_change", pc.if_else(comes, INSERT, RETRACT)).select(schema.names)
