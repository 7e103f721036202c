"""What a user gives beside a query: tables, streams, what events are looked up in, aggregates in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, get_args

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.embedded.relations import describe_sql, stays_in_duckdb
from cepheid.language.catalog import Catalog
from cepheid.lookups import Aggregate, Database, Table
from cepheid.schema import has_changes, without_changes
from cepheid.settings import KEY_GROUPS, DialectName

if TYPE_CHECKING:
    from cepheid.execution.embedded.saved_state import OnChange


def part_lookups(given: Mapping[str, Any]) -> tuple[dict[str, Table | Database], dict[str, Any]]:
    """What events are looked up in, and the rest: tables, streams or their schemas."""
    lookups = {name: value for name, value in given.items() if isinstance(value, Table | Database)}
    return lookups, {name: value for name, value in given.items() if name not in lookups}


def make_catalog(
    schemas: Mapping[str, pa.Schema],
    lookups: Mapping[str, Table | Database],
    aggregates: Mapping[str, Aggregate] | None = None,
    streams: Iterable[str] = (),
) -> Catalog:
    """What queries of the embedded host may speak of."""
    changing = frozenset(name for name, schema in schemas.items() if has_changes(name, schema))
    known = {name: without_changes(schema) for name, schema in schemas.items()}
    for name, value in lookups.items():
        known[name] = value.schema if isinstance(value, Table) else _read_database_schema(value)
    python = read_aggregates(aggregates)
    return Catalog(
        known,
        describe_sql,
        frozenset(streams),
        frozenset(lookups),
        python,
        keeps_type=stays_in_duckdb,
        changing=changing,
    )


def _read_database_schema(database: Database) -> pa.Schema:
    from cepheid.execution.lookup.database import read_database_schema  # with its kernels: few queries need it

    return read_database_schema(database)


def read_aggregates(aggregates: Mapping[str, Aggregate] | None) -> dict[str, Aggregate]:
    """Aggregates of the user by name in lower case."""
    for name, value in (aggregates or {}).items():
        if not isinstance(value, Aggregate):
            raise InvalidInput(f'the aggregate "{name}" is a {type(value).__name__}', hint="give a cep.Aggregate")
    return {name.lower(): value for name, value in (aggregates or {}).items()}


def read_lateness(lateness: timedelta | None) -> timedelta | None:
    if lateness is not None and not isinstance(lateness, timedelta):
        raise InvalidInput(f"lateness is a {type(lateness).__name__}, not a timedelta", hint="timedelta(seconds=10)")
    if lateness is not None and lateness < timedelta(0):
        raise InvalidInput(f"lateness is negative: {lateness}", hint="give zero or more")
    return lateness


def check_on_change(on_change: OnChange) -> OnChange:
    if on_change not in ("refuse", "restart"):
        raise InvalidInput(f'on_change is "{on_change}"', hint='"refuse" or "restart"')
    return on_change


def check_dialect(dialect: DialectName | None, host: DialectName) -> DialectName:
    """The dialect of a query; `host`: that of the host which runs it, if none is said."""
    if dialect is not None and dialect not in get_args(DialectName):
        raise InvalidInput(f'there is no dialect "{dialect}"', hint=f"dialects: {', '.join(get_args(DialectName))}")
    if dialect == "spark" and host != "spark":
        raise InvalidInput(
            "Spark's dialect is for Spark DataFrames",
            hint="leave dialect out: over tables and streams in this process, queries are written in Trino's SQL",
        )
    return dialect or host


def check_engines(engines: int) -> int:
    """How many engines share the key groups: no more than there are."""
    if type(engines) is not int or not 1 <= engines <= KEY_GROUPS:
        raise InvalidInput(
            f"engines is {engines!r}", hint=f"give 1 to {KEY_GROUPS}, which is how many key groups there are"
        )
    return engines
