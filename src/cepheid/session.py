"""What a user calls: sql, open, explain.  Which host runs a query follows from what it is given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from cepheid.collector import collecting_later
from cepheid.compiler import Query, check_bounded, compile_query, explain_compilation, placed_at_order
from cepheid.errors import InvalidInput, RejectedEventsWarning, RowsAtTheEndWarning
from cepheid.execution.changelogs.kinds import read_changelog, read_changelog_schema
from cepheid.idle_streams import IdleAfter, read_idle_after
from cepheid.language.parsing.written_text import write_in
from cepheid.lateness import Disorder, check_disorder
from cepheid.lookups import Aggregate, Database, Table
from cepheid.processing_time import Clock, check_clock
from cepheid.schema import read_schema, read_table
from cepheid.session_inputs import (
    check_changelog,
    check_dialect,
    check_emit,
    check_engines,
    check_on_change,
    find_validity,
    make_catalog,
    part_lookups,
    read_aggregates,
    read_lateness,
)
from cepheid.settings import ChangelogName, EmitName, Settings, WrittenDialect, check_key_groups
from cepheid.user_functions import Function, read_functions

if TYPE_CHECKING:
    from cepheid.disorder.lateness_report import LatenessReport
    from cepheid.execution.embedded.continuous import ContinuousQuery
    from cepheid.execution.shares.shared_query import SharedQuery


def sql(
    query: Query | Mapping[str, Query],
    /,
    *,
    lateness: timedelta | None = None,
    strict: bool = False,
    key_groups: int | None = None,
    engines: int | None = None,
    aggregates: Mapping[str, Aggregate] | None = None,
    dialect: WrittenDialect | None = None,
    event_time: Mapping[str, str] | None = None,
    emit: EmitName | None = None,
    changelog: ChangelogName | None = None,
    disorder: Disorder | None = None,
    idle_after: IdleAfter | None = None,
    clock: Clock | None = None,
    functions: Mapping[str, Function] | None = None,
    **tables: Any,
) -> Any:
    """The rows of a query over tables; the query is SQL text, or a pattern built with `cep.pattern`.  Several
    queries, by name, give their rows by name.

    Arrow, pandas or Polars tables in (or none): an Arrow table out.  Spark DataFrames in: a Spark DataFrame out,
    streaming if one of them is; then `lateness` says how late events may come, unless the DataFrame has a
    watermark of its own.  `aggregates`: functions in Python that windows may use, by name.  `engines`: over tables in
    this process, how many work at a time, each on some of the keys; the rows do not depend on it.  None: as many as
    there are cores, if the tables are large enough for it to pay.  `dialect`: whose SQL the query is written in:
    "trino", "flink", "spark", "risingwave" or "duckdb" (docs/reference/dialects.md).  None: over DataFrames Spark's,
    where functions, literals and times mean what they mean in Spark SQL; else a superset of Trino's.  `event_time`:
    by stream, the column that is the time of its events, where there are several timestamps: {"bids": "date_time"}.
    `emit`: over streams, "changes" tells each row when it comes and when it goes, as `cep.open` does.  `changelog`,
    `disorder`, `idle_after`: of streams, as for `cep.open`.  `clock`: what PROCTIME() means over tables, whose events
    are all there at one moment; None: the system's.  `functions`: scalar functions in Python over Arrow columns, by
    name.
    """
    query = write_in(query, dialect)
    settings = _settings(lateness, strict, key_groups, read_idle_after(idle_after, tables), emit, disorder)
    if changelog is not None:
        settings = replace(settings, changelog=check_changelog(changelog, settings.emit))
    if engines is not None:
        check_engines(engines)
    if _on_spark(tables):
        from cepheid.execution.spark.host import read_inputs, run_on_spark

        python = read_aggregates(aggregates)
        own = read_functions(functions, python)
        given_frames = read_inputs(tables, python, check_dialect(dialect, "spark"), own)
        return run_on_spark(query, replace(given_frames, event_time=event_time or {}), settings)
    check_dialect(dialect, "trino")
    if disorder is not None:
        raise InvalidInput("disorder has no meaning for whole tables", hint="give a streaming DataFrame, or cep.open")
    if emit == "changes":
        raise InvalidInput('emit="changes" has no meaning for whole tables', hint="use cep.open, and push them")
    if lateness is not None:
        raise InvalidInput("lateness has no meaning for whole tables", hint="give a streaming DataFrame, or cep.open")
    if idle_after is not None:
        raise InvalidInput("idle_after has no meaning for whole tables", hint="give a streaming DataFrame, or cep.open")
    from cepheid.execution.embedded.batch_host import run_batch

    whole = {name: value.data if isinstance(value, Table) else value for name, value in tables.items()}
    lookups, others = part_lookups(whole)
    given = {name: read_changelog(name, read_table(name, value)) for name, value in others.items()}
    schemas = {name: table.schema for name, table in given.items()}
    catalog = make_catalog(
        schemas,
        lookups,
        aggregates,
        validity=find_validity(tables),
        functions=functions,
        event_time=event_time,
    )
    read = {name: _net_changes(name, table) if name in catalog.changing else table for name, table in given.items()}
    results, counts = run_batch(
        compile_query(query, catalog).placed,
        read,
        lookups=lookups,
        engines=engines,
        clock=None if clock is None else check_clock(clock),
    )
    if counts.rejected:
        message = f"{counts.rejected} events have null or NaN where ORDER BY needs a value, and were rejected"
        warnings.warn(message, RejectedEventsWarning, stacklevel=2)
    if counts.unanswered:
        message = f"{counts.unanswered} events found nothing because a database was away (when_away='null')"
        warnings.warn(message, RejectedEventsWarning, stacklevel=2)
    return results if isinstance(query, Mapping) else results["query"]


def open(  # noqa: A001 (the name is part of the contract: cep.open)
    query: Query | Mapping[str, Query],
    /,
    *,
    lateness: timedelta | None = None,
    strict: bool = False,
    snapshot: bytes | None = None,
    on_change: Literal["refuse", "restart"] = "refuse",
    aggregates: Mapping[str, Aggregate] | None = None,
    dialect: WrittenDialect | None = None,
    event_time: Mapping[str, str] | None = None,
    emit: EmitName | None = None,
    changelog: ChangelogName | None = None,
    disorder: Disorder | None = None,
    idle_after: IdleAfter | None = None,
    clock: Clock | None = None,
    functions: Mapping[str, Function] | None = None,
    engines: int | None = None,
    **schemas: Any,
) -> ContinuousQuery | SharedQuery:
    """A continuous query in this process, or several by name: push(**batches), finish(), snapshot().

    Streams are given by their schemas; a `cep.Table` or a `cep.Database` is what events are looked up in.  A snapshot
    may be of other queries as well, or of fewer: `restored` says what became of each.  One that has changed since is
    refused, or, with `on_change="restart"`, begins empty.  `emit`: "final" gives rows that can no longer change, those
    that may always change at `finish()`; "changes" gives every row when it comes and when it goes, told by `_change`,
    `_match` and `_version` in front of it.  changelog: in whose words changes are told: "cepheid", "flink", "spark" or
    "debezium" (docs/reference/changes.md).  disorder: how long events are held back, how late they may be and what
    comes out (`cep.Disorder`), instead of `lateness` and `emit`.  idle_after: a stream that says nothing while the
    others come so far in event time is not waited for until it speaks again: "30 s" or a timedelta, of all streams or
    by name.  clock: what PROCTIME() says; None: the system's.  functions: scalar functions in Python, by name
    (`cep.Function`).  engines: so many processes run it, each for its share of the work (docs/reference/engines.md);
    None: it runs in this one.
    """
    stamping = None if clock is None else check_clock(clock)
    check_on_change(on_change)
    check_dialect(dialect, "trino")
    query = write_in(query, dialect)
    lookups, others = part_lookups(schemas)
    settings = _settings(lateness, strict, None, read_idle_after(idle_after, others), emit, disorder)
    if changelog is not None:
        settings = replace(settings, changelog=check_changelog(changelog, settings.emit))
    written = {name: read_schema(name, value) for name, value in others.items()}
    read = {name: read_changelog_schema(schema) for name, schema in written.items()}
    with collecting_later():
        catalog = make_catalog(
            read, lookups, aggregates, streams=read, updating=True, functions=functions, event_time=event_time
        )
        compilation = compile_query(query, catalog)
        with placed_at_order(compilation):
            given = (compilation.placed, written, settings, snapshot, isinstance(query, Mapping), lookups, on_change)
            opened: ContinuousQuery | SharedQuery
            if engines is None:
                from cepheid.execution.embedded.continuous import ContinuousQuery

                opened = ContinuousQuery(*given, stamping)
            else:
                from cepheid.execution.shares.shared_query import SharedQuery

                opened = SharedQuery(*given, check_engines(engines))
    check_bounded(compilation, strict, () if settings.is_bounded else catalog.changing, opened.explain_kept_rows())
    for waiting in opened.explain_waiting_rows():
        warnings.warn(waiting, RowsAtTheEndWarning, stacklevel=2)
    return opened


def explain(
    query: Query | Mapping[str, Query],
    /,
    step: str = "rewritten",
    format: str = "text",  # noqa: A002 (as in open)
    aggregates: Mapping[str, Aggregate] | None = None,
    dialect: WrittenDialect | None = None,
    event_time: Mapping[str, str] | None = None,
    functions: Mapping[str, Function] | None = None,
    idle_after: IdleAfter | None = None,
    disorder: Disorder | None = None,
    **inputs: Any,
) -> str:
    """What becomes of a query: step parsed, bound, rewritten or placed; as text, mermaid or json.  Schemas stand for
    streams, as in `open`, tables for themselves, as in `sql`.  disorder: to see what becomes of late events."""
    query = write_in(query, dialect)
    idle = read_idle_after(idle_after, part_lookups(inputs)[1])
    late = None if disorder is None else check_disorder(disorder).choose(Settings())
    may_be_idle = idle if isinstance(idle, Mapping) else () if idle is None else inputs
    if _on_spark(inputs):
        from cepheid.execution.spark.host import compile_on_spark, read_inputs

        python = read_aggregates(aggregates)
        own = read_functions(functions, python)
        given = read_inputs(inputs, python, check_dialect(dialect, "spark"), own)
        compilation = compile_on_spark(query, replace(given, event_time=event_time or {}))
        return explain_compilation(compilation, step, format, may_be_idle, late)
    check_dialect(dialect, "trino")
    lookups, others = part_lookups(inputs)
    read = {name: read_changelog_schema(read_schema(name, value)) for name, value in others.items()}
    streams = [name for name, value in others.items() if isinstance(value, Mapping | pa.Schema)]
    catalog = make_catalog(
        read,
        lookups,
        aggregates,
        streams=streams,
        updating=bool(streams),
        functions=functions,
        event_time=event_time,
    )
    return explain_compilation(compile_query(query, catalog), step, format, may_be_idle, late)


def late_events(spark: Any, checkpoint: str) -> Any:
    """The events that a streaming query on Spark set apart as late, from its checkpoint, as a DataFrame."""
    from cepheid.execution.spark.late_stream import read_late_events

    return read_late_events(spark, checkpoint)


def report_lateness(query: Any) -> LatenessReport | None:
    """How late the events of a streaming query on Spark are, how long they wait, what corrections there are, as of its
    last batches; None without `cep.Disorder`, and before the first one has ended."""
    from cepheid.execution.spark.measurements import report_lateness as report

    return report(query)


def count_rejected(frame: Any) -> int:
    """Events of a batch on Spark with null or NaN where ORDER BY needs a value; known once `frame` was computed."""
    from cepheid.execution.spark.rejections import count_rejected as count

    return count(frame)


def _settings(
    lateness: timedelta | None,
    strict: bool,
    key_groups: int | None,
    idle_after: timedelta | Mapping[str, timedelta] | None,
    emit: EmitName | None,
    disorder: Disorder | None,
) -> Settings:
    chosen = Settings(strict=strict, idle_after=idle_after)
    if disorder is not None:
        chosen = check_disorder(disorder, lateness, emit).choose(chosen)
    else:
        chosen = replace(chosen, lateness=read_lateness(lateness), emit=check_emit(emit or "final"))
    return chosen if key_groups is None else replace(chosen, key_groups=check_key_groups(key_groups))


def _net_changes(name: str, table: pa.Table) -> pa.Table:
    """Of a table whose rows come and go, what is left in the end."""
    from cepheid.execution.changing.ledger import net_table

    return net_table(name, table)


def _on_spark(inputs: Mapping[str, Any]) -> bool:
    """Are the inputs Spark DataFrames?  Asked of their class, so that pyspark need not be there."""
    spark = [name for name, value in inputs.items() if type(value).__module__.startswith("pyspark.")]
    on_pandas = [name for name in spark if type(inputs[name]).__module__.startswith("pyspark.pandas.")]
    if on_pandas:
        raise InvalidInput(
            f'"{on_pandas[0]}" is a pandas-on-Spark {type(inputs[on_pandas[0]]).__name__}',
            hint="give its Spark DataFrame: .to_spark(), or .to_spark(index_col=...) if the index is needed",
        )
    others = [name for name, value in inputs.items() if name not in spark and not isinstance(value, Table | Database)]
    if spark and others:
        other = others[0]
        raise InvalidInput(
            f'"{spark[0]}" is a Spark DataFrame and "{other}" is not', hint="use spark.createDataFrame for both"
        )
    return bool(spark)
