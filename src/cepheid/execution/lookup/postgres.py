"""Tables in PostgreSQL, through psycopg 3.

    SELECT t."id", t."name" FROM "stops" AS t WHERE (t."id") IN (SELECT * FROM unnest($1::int8[]))

Keys go as arrays, one parameter for each key column, so that a batch of any size is one statement.  IN, not JOIN: for
the server two keys may be equal that differ here ('a' and 'a ' as char(5)), and would give a row twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import DriverMissing, InvalidInput, UnknownColumn
from cepheid.execution.lookup.connector import SourceAway
from cepheid.lookups import Database

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

T = TypeVar("T")

_CANONICAL_UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"


@dataclass(frozen=True, slots=True)
class _ColumnType:
    """arrow: how we hold it; asked: type of keys in a question; as_text: read, and if need be compared, as text."""

    arrow: pa.DataType
    asked: str = "text"
    as_text: bool = False


# By the numbers that PostgreSQL has fixed for its own types (pg_type.dat).
_TYPES = {
    16: _ColumnType(pa.bool_(), "bool"),
    20: _ColumnType(pa.int64(), "int8"),
    21: _ColumnType(pa.int16(), "int2"),
    23: _ColumnType(pa.int32(), "int4"),
    25: _ColumnType(pa.string()),
    1043: _ColumnType(pa.string()),
    1042: _ColumnType(pa.string(), "bpchar", as_text=True),  # char(n): as text it comes without the spaces behind it
    700: _ColumnType(pa.float32(), "float4"),
    701: _ColumnType(pa.float64(), "float8"),
    17: _ColumnType(pa.binary(), "bytea"),
    1082: _ColumnType(pa.date32(), "date"),
    1114: _ColumnType(pa.timestamp("us"), "timestamp"),
    1184: _ColumnType(pa.timestamp("us", tz="UTC"), "timestamptz"),
    1186: _ColumnType(pa.duration("us"), "interval"),
    2950: _ColumnType(pa.string(), "uuid", as_text=True),
}
_NUMERIC = 1700
_OTHER = _ColumnType(pa.string(), as_text=True)  # enums, JSON, arrays, addresses ...


class PostgresTable:
    """The connector for postgresql://user:password@host:port/database."""

    def __init__(self, database: Database) -> None:
        if find_spec("psycopg") is None:
            raise DriverMissing("PostgreSQL", "psycopg", "postgres")
        self._database = database
        self._connection: Connection[Any] | None = None
        self._types: dict[str, _ColumnType] = {}

    def read_schema(self) -> pa.Schema:
        from psycopg import sql

        statement = sql.SQL("SELECT * FROM {} LIMIT 0").format(self._name())
        self._types = self._ask(lambda connection: _read_types(connection, statement))
        return pa.schema([(name, kind.arrow) for name, kind in self._types.items()])

    def fetch(self, keys: pa.Table, columns: list[str]) -> pa.Table:
        for name in (*keys.column_names, *columns):
            if name not in self._types:
                raise UnknownColumn(name, self._database.table, self._types)
        keys = self._drop_impossible(keys)
        statement = self._statement(keys.column_names, columns)
        values = [column.to_pylist() for column in keys.columns]
        rows = self._ask(lambda connection: connection.execute(statement, values, binary=True).fetchall())
        by_column: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
        try:
            arrays = [
                pa.array(cells, type=self._types[name].arrow) for name, cells in zip(columns, by_column, strict=True)
            ]
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as problem:
            raise self._refusal(problem) from None
        return pa.table(arrays, names=columns)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:  # a query that was dropped, not finished
            self.close()

    def _name(self) -> Any:
        from psycopg import sql

        schema, table = self._database.schema, self._database.table
        return sql.Identifier(table) if schema is None else sql.Identifier(schema, table)

    def _statement(self, keys: list[str], columns: list[str]) -> Composed:
        from psycopg import sql

        def read(name: str) -> Any:
            kind = self._types[name]
            if kind.as_text:
                return sql.SQL("t.{}::text").format(sql.Identifier(name))
            # numeric without a precision has no type in Arrow
            shape = "t.{}::float8" if kind.arrow == pa.float64() else "t.{}"
            return sql.SQL(shape).format(sql.Identifier(name))

        def compare(name: str) -> Any:
            kind = self._types[name]
            return read(name) if kind.as_text and kind.asked == "text" else sql.SQL("t.{}").format(sql.Identifier(name))

        def ask(number: int, name: str) -> Any:
            return sql.SQL("${}::{}[]").format(sql.Literal(number), sql.Identifier(self._types[name].asked))

        return sql.SQL("SELECT {} FROM {} AS t WHERE ({}) IN (SELECT * FROM unnest({}))").format(
            sql.SQL(", ").join(read(name) for name in columns),
            self._name(),
            sql.SQL(", ").join(compare(name) for name in keys),
            sql.SQL(", ").join(ask(number, name) for number, name in enumerate(keys, start=1)),
        )

    def _drop_impossible(self, keys: pa.Table) -> pa.Table:
        """Without keys at which the server would stumble: they equal nothing there."""
        for name in keys.column_names:
            if pa.types.is_string(keys.schema.field(name).type):
                keys = keys.filter(pc.invert(pc.match_substring(keys.column(name), "\0")))
            if self._types[name].asked == "uuid":
                keys = keys.filter(pc.match_substring_regex(keys.column(name), _CANONICAL_UUID))
        return keys

    def _ask(self, question: Callable[[Connection[Any]], T]) -> T:
        """Put a question; if the connection has died since the last one, once more on a new one."""
        import psycopg

        try:
            if self._connection is not None:
                try:
                    return question(self._connection)
                except psycopg.OperationalError:
                    if not self._connection.broken:
                        raise
                    self.close()
            self._connection = self._connect()
            return question(self._connection)
        except (psycopg.OperationalError, psycopg.InterfaceError) as problem:
            self.close()
            raise SourceAway(_first_line(problem)) from None
        except psycopg.Error as problem:
            raise self._refusal(problem) from None

    def _connect(self) -> Connection[Any]:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        timeout_s = self._database.timeout.total_seconds()
        given = conninfo_to_dict(self._database.url)
        # A peer that vanished is noticed by keepalives; the server cannot tell us then that its time is up.
        wanted: dict[str, str | int] = {
            "connect_timeout": max(2, round(timeout_s)),  # libpq takes 1 for 2
            "keepalives_idle": max(1, round(timeout_s)),
            "keepalives_interval": max(1, round(timeout_s / 3)),
            "keepalives_count": 3,
            "application_name": "cepheid",
        }
        for name, value in wanted.items():
            given.setdefault(name, value)
        # No prepared statements: poolers hand each statement to another server process.  Raw: parameters are $1, since
        # psycopg's own %s would also be looked for inside of quoted names.
        connection: Connection[Any] = psycopg.connect(
            **given,  # type: ignore[arg-type]
            autocommit=True,
            prepare_threshold=None,
            cursor_factory=psycopg.RawCursor,
        )
        connection.execute(
            "SELECT set_config('statement_timeout', $1, false), set_config('TimeZone', 'UTC', false), "
            "set_config('default_transaction_read_only', 'on', false)",
            [str(max(1, round(timeout_s * 1000)))],
        )
        return connection

    def _refusal(self, problem: Exception) -> InvalidInput:
        reason = self._database.hide_secrets(_first_line(problem))
        hint = f"see in psql, as the same user, what SELECT * FROM {self._database.table} says"
        return InvalidInput(f'"{self._database.address}" refuses this: {reason}', hint=hint)


def _read_types(connection: Connection[Any], statement: Any) -> dict[str, _ColumnType]:
    description = connection.execute(statement).description
    assert description is not None, "a SELECT describes its columns"
    types = {}
    for column in description:
        if column.type_code != _NUMERIC:
            types[column.name] = _TYPES.get(column.type_code, _OTHER)
        elif column.precision is not None and column.precision <= 38 and column.scale is not None:
            types[column.name] = _ColumnType(pa.decimal128(column.precision, column.scale), "numeric")
        else:
            types[column.name] = _ColumnType(pa.float64(), "numeric")
    return types


def _first_line(problem: Exception) -> str:
    return str(problem).strip().split("\n", 1)[0]
