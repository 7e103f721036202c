"""What a user gives beside a query: tables, streams, what events are looked up in, aggregates in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, get_args

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.changelogs.kinds import find_changelog
from cepheid.execution.embedded.relations import describe_sql, stays_in_duckdb
from cepheid.execution.user_functions import register_functions
from cepheid.language.catalog import Catalog, Validity
from cepheid.language.dialects.named_times import mark_event_times
from cepheid.language.parsing.written_text import plan_dialect
from cepheid.lookups import Aggregate, Database, Table
from cepheid.schema import has_changes, without_changes
from cepheid.settings import KEY_GROUPS, ChangelogName, DialectName, EmitName, WrittenDialect
from cepheid.user_functions import Function, make_list_functions, read_functions

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
    validity: Mapping[str, Validity] | None = None,
    updating: bool = False,
    functions: Mapping[str, Function] | None = None,
    event_time: Mapping[str, str] | None = None,
) -> Catalog:
    """What queries of the embedded host may speak of; validity: of tables that are not looked up."""
    changing = frozenset(name for name, schema in schemas.items() if has_changes(name, schema))
    known = mark_event_times({name: without_changes(schema) for name, schema in schemas.items()}, event_time)
    for name, value in lookups.items():
        known[name] = value.schema if isinstance(value, Table) else _read_database_schema(value)
    python = read_aggregates(aggregates)
    own = read_functions(functions, python)
    register_functions(own | make_list_functions(python))
    return Catalog(
        known,
        describe_sql,
        frozenset(streams),
        frozenset(lookups),
        python,
        keeps_type=stays_in_duckdb,
        changing=changing,
        validity={**find_validity(lookups), **(validity or {})},
        updating=updating,
        functions=own,
    )


def find_validity(given: Mapping[str, Any]) -> dict[str, Validity]:
    """Of tables, the columns that say from when and until when rows are valid."""
    tables = {name: value for name, value in given.items() if isinstance(value, Table)}
    return {name: table.validity for name, table in tables.items() if table.validity is not None}


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


def check_dialect(dialect: WrittenDialect | None, host: DialectName) -> DialectName:
    """The dialect of a plan for queries in this one; `host`: that of the host which runs it, if none is said."""
    if dialect is not None and dialect not in get_args(WrittenDialect):
        names = ", ".join(get_args(WrittenDialect))
        raise InvalidInput(f'there is no dialect "{dialect}"', hint=f"dialects: {names}")
    return plan_dialect(dialect, host)


def check_emit(emit: EmitName) -> EmitName:
    if emit not in get_args(EmitName):
        raise InvalidInput(f"emit is {emit!r}", hint=f"give one of {', '.join(get_args(EmitName))}")
    return emit


def check_changelog(changelog: object, emit: EmitName) -> ChangelogName:
    """The form that changes are told in; a word where there are none would be of no effect."""
    form = find_changelog(changelog)
    if emit != "changes":
        hint = 'emit="changes" gives changes, or disorder=cep.Disorder(emit="changes")'
        raise InvalidInput(f'changelog is "{form.name}", and emit is "{emit}"', hint=hint)
    return form.name


def check_engines(engines: int) -> int:
    """How many engines share the key groups: no more than there are."""
    if type(engines) is not int or not 1 <= engines <= KEY_GROUPS:
        raise InvalidInput(
            f"engines is {engines!r}", hint=f"give 1 to {KEY_GROUPS}, which is how many key groups there are"
        )
    return engines
