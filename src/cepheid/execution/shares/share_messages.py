"""What is said between an application and the processes that have shares of a query.

    application                                process
    PUSH: events, how far time has come   ─▶   rows that are settled, by query
    FINISH: the end of all streams        ─▶   the rows that are left
    TELL: a question                      ─▶   counts, late events, a snapshot

Each is a blob (execution/blob.py): a header, and Arrow streams for tables that are not empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import pyarrow as pa

from cepheid.execution.blob import read_blob, read_table_bytes, write_blob, write_table
from cepheid.schema import empty_table

PUSH, FINISH, TELL = 1, 2, 3  # kinds of messages
Question = Literal["counts", "late", "watches", "measurements", "snapshot"]
QUESTIONS: tuple[Question, ...] = get_args(Question)

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Push:
    """newest: of streams that have spoken, the newest time of what was pushed, whoever has it; heard: by stream, no
    event older than this will come."""

    tables: Tables
    newest: Mapping[str, int]
    heard: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """rows: by query.  snapshot: of what is known now, if it was asked for."""

    rows: Tables
    snapshot: bytes | None = None


def write_push(push: Push, asks_snapshot: bool) -> bytes:
    names, parts = _write_tables(push.tables)
    told = {"tables": names, "newest": dict(push.newest), "heard": dict(push.heard), "asks_snapshot": asks_snapshot}
    return write_blob(told, parts)


def read_push(body: bytes, schemas: Mapping[str, pa.Schema]) -> tuple[Push, bool]:
    """With whether a snapshot is asked for; schemas: of the streams."""
    told, parts = read_blob(body)
    return Push(_read_tables(told["tables"], parts, schemas), told["newest"], told["heard"]), told["asks_snapshot"]


def write_answer(answer: Answer) -> bytes:
    names, parts = _write_tables(answer.rows)
    has_snapshot = answer.snapshot is not None
    if answer.snapshot is not None:
        parts.append(answer.snapshot)
    return write_blob({"tables": names, "snapshot": has_snapshot}, parts)


def read_answer(body: bytes, schemas: Mapping[str, pa.Schema]) -> Answer:
    """schemas: of the rows of each query."""
    told, parts = read_blob(body)
    return Answer(_read_tables(told["tables"], parts, schemas), parts[-1] if told["snapshot"] else None)


def _write_tables(tables: Tables) -> tuple[list[str], list[bytes]]:
    some = {name: table for name, table in tables.items() if len(table)}
    return list(some), [write_table(table) for table in some.values()]


def _read_tables(names: list[str], parts: list[bytes], schemas: Mapping[str, pa.Schema]) -> dict[str, pa.Table]:
    """Of every name in schemas."""
    found = {name: read_table_bytes(part) for name, part in zip(names, parts, strict=False)}
    return {name: found.get(name, empty_table(schema)) for name, schema in schemas.items()}
