"""The forms of changes: what they are called, and which of them a stream is in.

cep.open(..., emit="changes", changelog="flink")   find_changelog("flink").write
cep.open(..., jam={"op": "string", "_match": ...}) read_changelog: the same rows with `_change`
"""

from __future__ import annotations

import pyarrow as pa

from cepheid.errors import InvalidInput, suggest_name
from cepheid.execution.changelogs import cepheid_rows, debezium, flink, spark
from cepheid.execution.changelogs.changelog import Changelog

CHANGELOGS: list[Changelog] = [
    cepheid_rows.FORM,
    flink.FORM,
    spark.FORM,
    debezium.FORM,
]


def find_changelog(name: object) -> Changelog:
    for form in CHANGELOGS:
        if form.name == name:
            return form
    known = [form.name for form in CHANGELOGS]
    hint = suggest_name(name, known) if isinstance(name, str) else f"give one of {', '.join(known)}"
    raise InvalidInput(f"changelog is {name!r}", hint=hint)


def find_written(schema: pa.Schema) -> Changelog | None:
    """The form that a stream of this schema is in; None: our own, or rows that do not change."""
    return next((form for form in CHANGELOGS if form.find_schema(schema) is not None), None)


def read_changelog_schema(schema: pa.Schema) -> pa.Schema:
    """The schema in our own form, if it is in one that can be read."""
    form = find_written(schema)
    own = None if form is None else form.find_schema(schema)
    return schema if own is None else own


def read_changelog(name: str, table: pa.Table) -> pa.Table:
    """The rows of a stream in our own form, if they are in one that can be read."""
    form = find_written(table.schema)
    return table if form is None or form.read is None else form.read(name, table)
