"""APP.toml, checked value by value; a mistake is told with the line it stands in.

profile = "profile.toml"               # what `cepheid calibrate` wrote; left out: costs by kind of operator

[source.buses]
schema = { ts = "timestamp", bus = "int", delay = "double" }      # or path = "feed.parquet"
path = "feeds/*.parquet"               # Parquet, CSV, JSON lines, Arrow (execution/sources)
rate_per_s = 1000.0                    # or arrivals = { kind = "diurnal", rate_per_s = 50.0 }
keys = 911                             # how many different keys the events have, or { bus = 911, line = 67 }
lateness = "10 seconds"                # on Spark: how late events may come; time = "ts": by which column
idle_after = "30 seconds"              # how long it may be silent before other streams no longer wait for it
dead_letters = "bad/"                  # on Spark: records that do not fit; left out: in the checkpoint
options = { sep = ";" }                # on Spark: of its reader

[table.stops]                          # what events are looked up in
path = "stops.parquet"

[query.late]
sql = "SELECT ..."                     # or file = "late.sql"
dialect = "flink"                      # whose SQL it is written in; in front of all tables: of all queries
selectivity = 0.01                     # rows out for each event in
sink = "out/late.parquet"              # where rows go: a file, or "stdout:jsonl" (execution/sinks); not simulated

[cluster]
engines = 4
host = "spark"                         # or embedded
master = "local[4]"                    # on Spark: its cluster
trigger_s = 1.0

[disorder]                             # what becomes of late events, instead of lateness
wait = "2 seconds"                     # or "growing", "recall"; with recall = 0.999, max_wait = "2 seconds"
bound = "10 minutes"                   # how late an event may be that still counts
emit = "changes"                       # or final

[run]
checkpoint = "checkpoint/"             # on Spark: what the next run goes on from; left out: beside this file

[spark]                                # settings of its session
"spark.sql.session.timeZone" = "UTC"

[simulation]
duration_s = 300.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import timedelta
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast, get_args

import pyarrow as pa

from cepheid.application.application import Application, ApplicationQuery, ApplicationSource, Cluster
from cepheid.application.endpoints import Endpoints
from cepheid.cost.profile import HostName
from cepheid.errors import InvalidInput, UnknownKind, suggest_name
from cepheid.language.parsing.written_text import write_in
from cepheid.lateness import Disorder
from cepheid.schema import read_schema
from cepheid.settings import WrittenDialect
from cepheid.spans import read_span
from cepheid.toml_files.reading import parse_table, places_in, read_text
from cepheid.toml_files.table import Table

PARTS = ("profile", "dialect", "source", "table", "query", "cluster", "disorder", "simulation", "run", "spark")
TABLE_KEYS = ("schema", "path")
SOURCE_KEYS = (
    *TABLE_KEYS,
    "rate_per_s",
    "arrivals",
    "keys",
    "time",
    "lateness",
    "dead_letters",
    "options",
    "idle_after",
)
DISORDER_KEYS = tuple(field.name for field in fields(Disorder))
QUERY_KEYS = ("sql", "file", "selectivity", "sink", "dialect")
CLUSTER_KEYS = ("engines", "pes", "mips", "host", "trigger_s", "price_per_hour", "master")
ABOVE_ZERO = ("mips", "duration_s", "tick_s")
NUMBERS = (*ABOVE_ZERO, "trigger_s", "price_per_hour", "network_delay_s")
WHOLES = ("engines", "pes", "iterations", "cloudlet_pes")
CHOICES = {"host": get_args(HostName), "fidelity": ("cepsim", "corrected"), "placements": ("vm", "query")}
STRATEGIES = ("scheduler", "allocation")  # any: users register theirs
NAMES = (*STRATEGIES, "master")
SIMULATION_KEYS = ("duration_s", "tick_s", "network_delay_s", "iterations", "cloudlet_pes", "fidelity", "placements")


def read_application(path: Path, endpoints: Endpoints) -> Application:
    """endpoints: what knows sources and sinks; execution has them (execution/endpoints.py)."""
    text = read_text(path, "application", hint=f"paths start from {Path.cwd()}")
    with places_in(text, path):
        return _read_application(parse_table(text, "the application", PARTS), path, endpoints)


def _read_application(top: Table, path: Path, endpoints: Endpoints) -> Application:
    folder = path.parent
    cluster = Cluster(**_read_values(top.table("cluster", "[cluster]", CLUSTER_KEYS)))
    sources = {
        name: _read_source(name, table, folder, endpoints, cluster.host)
        for name, table in top.named_tables("source", "source", SOURCE_KEYS)
    }
    if not sources:
        raise top.mistake("has no source", hint="[source.NAME] with a schema or a path")
    dialect = _read_dialect(top)
    queries = {
        name: _read_query(name, table, path, dialect) for name, table in top.named_tables("query", "query", QUERY_KEYS)
    }
    if not queries:
        raise top.mistake("has no query", hint="[query.NAME] with sql or a file")
    _check_sinks(top, folder, endpoints, cluster.host)
    tables = {
        name: _read_schema(name, table, folder, endpoints, cluster.host)
        for name, table in top.named_tables("table", "table", TABLE_KEYS)
    }
    for name in tables:
        if name in sources:
            raise top.mistake(f'has "{name}" as a source and a table', "table", name, hint="rename one of the two")
    return Application(
        path=path,
        sources=sources,
        queries=queries,
        tables=tables,
        table_paths={
            name: table.text("path")
            for name, table in top.named_tables("table", "table", TABLE_KEYS)
            if table.has("path")
        },
        profile=folder / top.text("profile") if top.has("profile") else None,
        cluster=cluster,
        simulation=_read_values(top.table("simulation", "[simulation]", (*SIMULATION_KEYS, *STRATEGIES))),
        checkpoint=_read_checkpoint(top),
        spark=_read_settings(top.table("spark", "[spark]")),
        disorder=_read_disorder(top, sources) if top.has("disorder") else None,
    )


def _read_disorder(top: Table, sources: Mapping[str, ApplicationSource]) -> Disorder:
    table = top.table("disorder", "[disorder]", DISORDER_KEYS)
    for name, source in sources.items():
        if source.lateness:
            hint = "leave lateness out, and give bound here"
            raise table.mistake(f'stands beside the lateness of source "{name}"', hint=hint)
    given: dict[str, Any] = {
        name: table.text(name) for name in ("wait", "bound", "emit", "max_wait") if table.has(name)
    }
    if table.has("recall"):
        given["recall"] = table.number("recall")
    if table.has("speculation"):
        is_word = isinstance(table.fields["speculation"], str)
        given["speculation"] = table.text("speculation") if is_word else table.number("speculation", zero=True)
    try:
        return Disorder(**given)
    except InvalidInput as problem:
        raise table.mistake(f"cannot be: {problem.message}", hint=problem.hint or 'bound = "10 minutes"') from None


def _read_source(name: str, table: Table, folder: Path, endpoints: Endpoints, host: HostName) -> ApplicationSource:
    schema = _read_schema(name, table, folder, endpoints, host)
    if table.has("rate_per_s") and table.has("arrivals"):
        raise table.mistake("has both a rate and arrivals", "arrivals", hint="leave one out")
    arrivals = table.table("arrivals", f"what arrives at {table.title}", hint='{ kind = "diurnal", rate_per_s = 50.0 }')
    return ApplicationSource(
        name=name,
        schema=schema,
        arrivals={"rate_per_s": table.number("rate_per_s", zero=True)} if table.has("rate_per_s") else arrivals.fields,
        keys=_read_keys(table, schema) if table.has("keys") else None,
        path=table.text("path") if table.has("path") else None,
        is_declared=table.has("schema"),
        time=_read_time(table, schema) if table.has("time") else None,
        lateness=_read_span(table, "lateness", "10 seconds", may_be_zero=True)
        if table.has("lateness")
        else timedelta(0),
        dead_letters=table.text("dead_letters") if table.has("dead_letters") else None,
        options=_read_settings(table.table("options", f"the options of {table.title}")),
        idle_after=_read_span(table, "idle_after", "30 seconds") if table.has("idle_after") else None,
    )


def _read_time(table: Table, schema: pa.Schema) -> str:
    column = table.text("time")
    if schema.names and column not in schema.names:
        raise table.mistake(f'has no column "{column}"', "time", hint=suggest_name(column, schema.names))
    return column


def _read_span(table: Table, key: str, example: str, may_be_zero: bool = False) -> timedelta:
    hint = f'write {key} = "{example}"'
    try:
        return read_span(table.text(key), key, hint, may_be_zero)
    except InvalidInput as problem:
        raise table.mistake(f"cannot be read: {problem.message}", key, hint=hint) from None


def _read_settings(table: Table) -> dict[str, str]:
    """Names and values as Spark takes them: "maxFilesPerTrigger" = 1 and header = true are texts to it."""
    settings = {}
    for key, value in _flatten(table.fields):
        if not isinstance(value, str | int | float):
            raise table.mistake(f'has a list for "{key}"', hint="settings of Spark are texts, numbers, true or false")
        settings[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return settings


def _flatten(fields: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """spark.sql.shuffle.partitions = 2 without quotes is a table in a table in a table to TOML."""
    for key, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _read_checkpoint(top: Table) -> str | None:
    run = top.table("run", "[run]", ("checkpoint",))
    return run.text("checkpoint") if run.has("checkpoint") else None


def _read_keys(table: Table, schema: pa.Schema) -> float | Mapping[str, float]:
    if not isinstance(table.value("keys", hint="write keys = { bus = 100 }"), dict):
        return table.number("keys")
    columns = table.table("keys", f"the table of keys of {table.title}")
    for column in columns.fields:
        if column not in schema.names:
            raise table.mistake(f'has no column "{column}"', "keys", column, hint=suggest_name(column, schema.names))
    return {column: columns.number(column) for column in columns.fields}


def _read_schema(name: str, table: Table, folder: Path, endpoints: Endpoints, host: HostName) -> pa.Schema:
    if table.has("schema"):
        columns = table.table("schema", f"the schema of {table.title}")
        try:
            return read_schema(name, columns.fields)
        except InvalidInput as problem:
            problem.where = columns.where
            raise
    if not table.has("path"):
        hint = 'schema = { ts = "timestamp", id = "int" }, or path = "feed.parquet"'
        raise table.mistake("has no schema", hint=hint)
    path = table.text("path")
    try:
        return endpoints.read_source_schema(path, name, folder, host)
    except UnknownKind as problem:
        problem.where = (*table.where, "path")
        raise
    except InvalidInput as problem:
        hint = problem.hint or "its path is relative to the application's file"
        raise table.mistake(f'is in "{path}", which cannot be read: {problem.message}', "path", hint=hint) from None


def _read_dialect(table: Table) -> WrittenDialect | None:
    if not table.has("dialect"):
        return None
    return cast(WrittenDialect, table.choice("dialect", get_args(WrittenDialect)))


def _read_query(name: str, table: Table, path: Path, dialect: WrittenDialect | None) -> ApplicationQuery:
    if re.fullmatch(r"[\w-]+", name) is None:
        raise table.mistake("cannot be called so", hint="letters, digits, _ and -")
    if table.has("sql") == table.has("file"):
        raise table.mistake("needs either sql or a file", hint='sql = "SELECT ..."')
    if table.has("sql"):
        text, origin = table.text("sql"), f"{path}, query {name}"
    else:
        origin = str(path.parent / table.text("file"))
        try:
            text = Path(origin).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            hint = "paths are relative to the application's file"
            told = f'is in "{table.text("file")}", which cannot be read: {problem}'
            raise table.mistake(told, "file", hint=hint) from None
    selectivity = table.number("selectivity", zero=True) if table.has("selectivity") else None
    sink = table.text("sink") if table.has("sink") else None
    text = write_in(text, _read_dialect(table) or dialect)
    return ApplicationQuery(name=name, text=text, selectivity=selectivity, origin=origin, sink=sink)


def _check_sinks(top: Table, folder: Path, endpoints: Endpoints, host: HostName) -> None:
    """Each of a known kind, and no file written twice, or read as well."""
    taken = {
        (folder / table.text("path")).resolve(): table.title
        for key, known in (("source", SOURCE_KEYS), ("table", TABLE_KEYS))
        for _, table in top.named_tables(key, key, known)
        if table.has("path")
    }
    for name, table in top.named_tables("query", "query", QUERY_KEYS):
        if not table.has("sink"):
            continue
        try:
            target = endpoints.find_sink_target(table.text("sink"), name, folder, host)
        except UnknownKind as problem:
            problem.where = (*table.where, "sink")
            raise
        if target is None:
            continue
        target = target.resolve()
        for path, other in taken.items():
            if path == target or path in target.parents or fnmatch(str(target), str(path)):
                told = f'writes to "{table.text("sink")}", which belongs to {other}'
                raise table.mistake(told, "sink", hint="give each a file of its own, outside of what is read")
        taken[target] = table.title


def _read_values(table: Table) -> dict[str, Any]:
    """Only what is given."""
    given: dict[str, Any] = {}
    for key in table.fields:
        if key in NUMBERS:
            given[key] = table.number(key, zero=key not in ABOVE_ZERO)
        elif key in WHOLES:
            given[key] = table.whole(key)
        elif key in CHOICES:
            given[key] = table.choice(key, CHOICES[key])
        elif key in NAMES:
            given[key] = table.text(key)
    return given
