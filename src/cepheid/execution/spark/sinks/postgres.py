"""postgresql://user@host/database#table, a table of PostgreSQL: exactly once.

    BEGIN; cepheid_batches: this query is at batch 7; COPY the rows of batch 7; COMMIT

Rows and the number of their batch are one transaction.  A batch that comes again finds its number there, and adds
nothing; so does one that was committed when the connection broke before it could say so.  While the database is away,
the batch waits: up to PATIENCE_S, then the query fails.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag

import pyarrow as pa

from cepheid.errors import DatabaseAway, InvalidInput, NotSupportedYet
from cepheid.execution.spark.sinks.sink import BatchId, Rows, SparkSinkKind
from cepheid.extras import require_extra
from cepheid.lookups import Database

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Identifier
    from pyspark.sql import Column, DataFrame

PREFIXES = ("postgresql://", "postgres://")
PATIENCE_S = 60.0
PAUSE_S = 0.5
BATCHES = """CREATE TABLE IF NOT EXISTS cepheid_batches (
    query text, checkpoint text, batch bigint NOT NULL, PRIMARY KEY (query, checkpoint))"""
ADVANCE = """INSERT INTO cepheid_batches AS done VALUES (%s, %s, %s)
    ON CONFLICT (query, checkpoint)
    DO UPDATE SET batch = excluded.batch WHERE done.batch < excluded.batch RETURNING 1"""
LOCK = "SELECT pg_advisory_xact_lock(hashtext('cepheid_batches'))"  # two that make tables at once would fail

TYPES = {  # by Spark's names
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
NESTED = ("struct<", "array<", "map<")  # written as JSON


class PostgresSink:
    def __init__(self, url: str, table: str) -> None:
        require_extra("postgres")
        self._database = Database(url, table)
        self._columns: dict[str, str] = {}
        self._has_tables = False

    def prepare(self, frame: DataFrame) -> DataFrame:
        """What CSV cannot hold becomes text that PostgreSQL reads as the type of the column."""
        kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
        self._columns = {name: find_type(name, kind) for name, kind in kinds.items()}
        return frame.select(*(_as_written(name, kind) for name, kind in kinds.items()))

    def write(self, rows: Rows, batch: BatchId) -> None:
        import psycopg

        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                with psycopg.connect(self._database.url, connect_timeout=10, autocommit=True) as connection:
                    self._write_once(connection, rows, batch)
                return
            except psycopg.OperationalError as problem:  # away: nothing of it is there, or all of it is
                if time.monotonic() > deadline:
                    told = self._database.hide_secrets(str(problem).splitlines()[0])
                    raise DatabaseAway(self._database.address, told) from None
                time.sleep(PAUSE_S)
            except psycopg.Error as problem:
                told = self._database.hide_secrets(str(problem).splitlines()[0])
                hint = "the columns of the query are those of the table, with types that take them"
                raise InvalidInput(
                    f'table "{self._database.table}" does not take the rows: {told}', hint=hint
                ) from None

    def _make_tables(self, connection: Connection[Any]) -> None:
        """In a transaction of its own: the lock is for a moment, and not for the rows of others."""
        from psycopg import sql

        typed = [sql.SQL("{} {}").format(sql.Identifier(n), sql.SQL(kind)) for n, kind in self._columns.items()]
        make = sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(self._name(), sql.SQL(", ").join(typed))
        with connection.transaction():
            for statement in (LOCK, BATCHES, make):
                connection.execute(statement)
        self._has_tables = True

    def _write_once(self, connection: Connection[Any], rows: Rows, batch: BatchId) -> None:
        from psycopg import sql

        if not self._has_tables:
            self._make_tables(connection)
        names = sql.SQL(", ").join(map(sql.Identifier, self._columns))
        copy_into = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(self._name(), names)
        with connection.transaction():
            advanced = connection.execute(ADVANCE, (batch.query, batch.checkpoint, batch.number)).fetchone()
            if advanced is None:
                return
            with connection.cursor() as cursor, cursor.copy(copy_into) as copy:
                for text in write_csv(rows):
                    copy.write(text)

    def _name(self) -> Identifier:
        from psycopg import sql

        return sql.Identifier(*self._database.table.split("."))


def find_type(name: str, kind: str) -> str:
    """kind: Spark's type, as Spark writes it."""
    if kind.startswith("decimal("):
        return kind.replace("decimal", "numeric")
    if kind.startswith(NESTED):
        return "jsonb"
    if kind not in TYPES:
        raise NotSupportedYet(f'column "{name}", a {kind}, in PostgreSQL', hint=f"cast {name} to text in the query")
    return TYPES[kind]


def _as_written(name: str, kind: str) -> Column:
    from pyspark.sql import functions as F

    from cepheid.execution.spark.schemas import quote_name

    column = F.col(quote_name(name))
    if kind.startswith(NESTED):
        return F.to_json(column).alias(name)
    return F.concat(F.lit("\\x"), F.hex(column)).alias(name) if kind == "binary" else column


def write_csv(rows: Rows) -> Iterator[bytes]:
    """As PostgreSQL reads it: texts in quotes, and nothing at all for null."""
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False)
    for part in rows:
        text = io.BytesIO()
        csv.write_csv(pa.Table.from_batches([part]), text, options)
        yield text.getvalue()


def _open(text: str, query: str, folder: Path) -> PostgresSink:  # noqa: ARG001 (it is no path)
    url, table = urldefrag(text)
    return PostgresSink(url, unquote(table) or query)


KIND = SparkSinkKind("PostgreSQL", "postgresql://user@host/database#table", lambda t: t.startswith(PREFIXES), _open)
