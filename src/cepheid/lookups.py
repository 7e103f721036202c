"""What a query can join a stream with, besides other streams: a table in memory, a table of a database.

    cities = cep.Table(arrow_table)                                  # cities.refresh(newer) while queries run
    stops = cep.Database("postgresql://reader@host/transport", "stops", when_away="wait")
    cep.open("SELECT b.*, s.name FROM buses AS b JOIN stops AS s ON b.stop = s.id", buses=schema, stops=stops)

Records only: no driver is loaded and nothing is opened before a query needs it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeVar, get_args
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from cepheid.database_url import hide_secrets, show_address
from cepheid.errors import InvalidInput
from cepheid.event_time import can_order
from cepheid.kernel.python_aggregate import PythonAggregate as Aggregate
from cepheid.schema import fit_schema, read_table

WhenAway = Literal["fail", "wait", "null"]

__all__ = ["Aggregate", "Database", "Table"]

_SCHEMES = ("postgresql", "postgres", "duckdb")


class Follower(Protocol):
    """Something made from a table that wants to hear of a newer one."""

    def refresh(self, table: pa.Table, /) -> None: ...


F = TypeVar("F", bound=Follower)


class Table:
    """A table in memory that queries join with: Arrow, pandas, Polars, or whatever offers Arrow's C stream.

    valid_from, valid_to: the columns that say from when a row is valid, and until when (that moment not included; null:
    without bound), for FOR SYSTEM_TIME AS OF.  Without `valid_to`, a row is valid until the next one of its key is.
    """

    def __init__(self, data: Any, *, valid_from: str | None = None, valid_to: str | None = None) -> None:
        self._data = read_table("table", data)
        self.validity = _check_validity(self._data.schema, valid_from, valid_to)
        self._followers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._changing = threading.Lock()

    @property
    def data(self) -> pa.Table:
        return self._data

    @property
    def schema(self) -> pa.Schema:
        return self._data.schema

    def refresh(self, data: Any) -> None:
        """Take new content, of the same columns, also while queries run.

        Each batch sees the old rows or the new ones, whole.  The new rows are prepared here, in the thread that
        calls; queries go on meanwhile.
        """
        table = fit_schema("table", read_table("table", data), self._data.schema)
        with self._changing:
            for follower in list(self._followers):
                follower.refresh(table)
            self._data = table

    def follow(self, make: Callable[[pa.Table], F]) -> F:
        """What `make` gives for the present content; it is refreshed with this table as long as it is in use."""
        with self._changing:  # else a refresh could come between making and remembering, and be lost
            follower = make(self._data)
            self._followers.add(follower)
            return follower

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _make_table, (self._data, *(self.validity or (None, None)))

    def __repr__(self) -> str:
        return f"Table({self._data.num_rows} rows: {', '.join(self._data.schema.names)})"


def _make_table(data: pa.Table, valid_from: str | None, valid_to: str | None) -> Table:
    return Table(data, valid_from=valid_from, valid_to=valid_to)


def _check_validity(schema: pa.Schema, valid_from: str | None, valid_to: str | None) -> tuple[str, str | None] | None:
    for name, column in (("valid_from", valid_from), ("valid_to", valid_to)):
        if column is not None and column not in schema.names:
            raise InvalidInput(
                f"{name} is {column!r}, which the table does not have", hint=f"its columns: {', '.join(schema.names)}"
            )
        if column is not None and not can_order(schema.field(column).type):
            raise InvalidInput(
                f"{name} is {column!r}, a {schema.field(column).type}", hint="give a column of timestamps or numbers"
            )
    if valid_from is None and valid_to is not None:
        raise InvalidInput("valid_to is given, valid_from is not", hint="give both, or valid_from alone")
    return None if valid_from is None else (valid_from, valid_to)


@dataclass(frozen=True, slots=True, repr=False)
class Database:
    """A table of a database that queries join with, asked for the keys of each batch at once.

    url: postgresql://user:password@host:port/database, or duckdb:///path/of/the/file.db (duckdb://file.db: relative).
    schema: where the database keeps the table; None: where it looks by itself.
    cache_rows: so many rows are remembered, keys without a row count as one; those not asked for the longest leave.
    time_to_live: how old a remembered answer may be; None: any age.  Zero remembers nothing beyond a batch.
    when_away: what happens to events while the database does not answer.  "fail": the query fails.  "wait": it tries
    again, with growing pauses, and fails after `wait_at_most`.  "null": what is not remembered counts as not found.
    timeout: how long connecting, and one question, may take before the database counts as away.
    """

    url: str
    table: str
    schema: str | None = field(default=None, kw_only=True)
    cache_rows: int = field(default=100_000, kw_only=True)
    time_to_live: timedelta | None = field(default=timedelta(minutes=5), kw_only=True)
    when_away: WhenAway = field(default="fail", kw_only=True)
    wait_at_most: timedelta = field(default=timedelta(seconds=30), kw_only=True)
    timeout: timedelta = field(default=timedelta(seconds=10), kw_only=True)

    def __post_init__(self) -> None:
        # The text of a wrong address is not repeated: it may hold a password where we do not look for it.
        _check_address(self.url)
        _check_name("table", self.table)
        if self.schema is not None:
            _check_name("schema", self.schema)
        _check_count("cache_rows", self.cache_rows)
        if self.when_away not in get_args(WhenAway):
            raise InvalidInput(f"when_away is {self.when_away!r}", hint='"fail", "wait" or "null"')
        _check_span("time_to_live", self.time_to_live, optional=True)
        _check_span("wait_at_most", self.wait_at_most)
        _check_span("timeout", self.timeout)
        if not self.timeout:
            raise InvalidInput("timeout is zero: nothing could be asked", hint="timedelta(seconds=10)")

    @property
    def scheme(self) -> str:
        return self.url.partition("://")[0].lower()

    @property
    def path(self) -> str:
        """Of a DuckDB file."""
        return unquote(self.url.partition("://")[2])

    @property
    def address(self) -> str:
        """The url for messages: without passwords, and without parameters, which may hold one."""
        return show_address(self.url)

    def hide_secrets(self, text: str) -> str:
        """A message of a driver, without what must not be told."""
        return hide_secrets(self.url, text)

    def __repr__(self) -> str:
        return f"Database({self.address!r}, {self.table!r})"


def _check_address(url: Any) -> None:
    scheme, slashes, _ = url.partition("://") if isinstance(url, str) else ("", "", "")
    if not slashes or scheme.lower() not in _SCHEMES:
        raise InvalidInput(
            "the address of a database is not one we know",
            hint="postgresql://user@host/database or duckdb:///path/file.db",
        )
    if scheme.lower() == "duckdb":
        return
    try:
        parts = urlsplit(url)
        is_clear = "@" in parts.netloc or "@" not in parts.path + parts.query + parts.fragment
    except ValueError:
        is_clear = False
    if not is_clear:  # a password with a slash, of which a part would pass for the host, say
        raise InvalidInput(
            "the address of a database cannot be read",
            hint="write signs like / ? # @ in names and passwords as %2F %3F %23 %40",
        )


def _check_name(what: str, name: Any) -> None:
    if not isinstance(name, str) or not name or "\0" in name:
        raise InvalidInput(f"{name!r} is not the name of a {what}", hint='give text, for instance "stops"')


def _check_count(what: str, count: Any) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise InvalidInput(f"{what} is {count!r}", hint="give a whole number, zero or more")


def _check_span(name: str, value: Any, *, optional: bool = False) -> None:
    if value is None and optional:
        return
    if not isinstance(value, timedelta) or value < timedelta(0):
        raise InvalidInput(f"{name} is {value!r}", hint="a timedelta, not negative: timedelta(seconds=30)")
