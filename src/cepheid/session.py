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
from cepheid.errors import InvalidInput, RejectedEventsWarning
from cepheid.lookups import Aggregate, Database, Table
from cepheid.schema import read_schema, read_table
from cepheid.session_inputs import (
    check_dialect,
    check_engines,
    check_on_change,
    make_catalog,
    part_lookups,
    read_aggregates,
    read_lateness,
)
from cepheid.settings import DialectName, Settings, check_key_groups

if TYPE_CHECKING:
    from cepheid.execution.embedded.continuous import ContinuousQuery


def sql(
    query: Query | Mapping[str, Query],
    /,
    *,
    lateness: timedelta | None = None,
    strict: bool = False,
    key_groups: int | None = None,
    engines: int | None = None,
    aggregates: Mapping[str, Aggregate] | None = None,
    dialect: DialectName | None = None,
    **tables: Any,
) -> Any:
    """The rows of a query over tables; the query is SQL text, or a pattern built with `cep.pattern`.  Several
    queries, by name, give their rows by name.

    Arrow, pandas or Polars tables in (or none): an Arrow table out.  Spark DataFrames in: a Spark DataFrame out,
    streaming if one of them is; then `lateness` says how late events may come, unless the DataFrame has a
    watermark of its own.  `aggregates`: functions in Python that windows may use, by name.  `engines`: over tables in
    this process, how many work at a time, each on some of the keys; the rows do not depend on it.  None: as many as
    there are cores, if the tables are large enough for it to pay.  `dialect`: whose SQL the query is written in; over
    DataFrames "spark", where functions, literals and times mean what they mean in Spark SQL, or "trino", for queries
    that run on either host; else "trino".
    """
    settings = _settings(lateness, strict, key_groups)
    if engines is not None:
        check_engines(engines)
    if _on_spark(tables):
        from cepheid.execution.spark.host import read_inputs, run_on_spark

        return run_on_spark(
            query, read_inputs(tables, read_aggregates(aggregates), check_dialect(dialect, "spark")), settings
        )
    check_dialect(dialect, "trino")
    if lateness is not None:
        raise InvalidInput("lateness has no meaning for whole tables", hint="give a streaming DataFrame, or cep.open")
    from cepheid.execution.embedded.batch_host import run_batch

    whole = {name: value.data if isinstance(value, Table) else value for name, value in tables.items()}
    lookups, others = part_lookups(whole)
    given = {name: read_table(name, value) for name, value in others.items()}
    catalog = make_catalog({name: table.schema for name, table in given.items()}, lookups, aggregates)
    read = {name: _net_changes(name, table) if name in catalog.changing else table for name, table in given.items()}
    results, counts = run_batch(compile_query(query, catalog).placed, read, lookups=lookups, engines=engines)
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
    dialect: DialectName | None = None,
    **schemas: Any,
) -> ContinuousQuery:
    """A continuous query in this process, or several by name: push(**batches), finish(), snapshot().

    Streams are given by their schemas; a `cep.Table` or a `cep.Database` is what events are looked up in.  A snapshot
    may be of other queries as well, or of fewer: `restored` says what became of each.  One that has changed since is
    refused, or, with `on_change="restart"`, begins empty.
    """
    check_on_change(on_change)
    check_dialect(dialect, "trino")
    settings = _settings(lateness, strict, None)
    lookups, others = part_lookups(schemas)
    read = {name: read_schema(name, value) for name, value in others.items()}
    with collecting_later():
        from cepheid.execution.embedded.continuous import ContinuousQuery

        catalog = make_catalog(read, lookups, aggregates, streams=read)
        compilation = compile_query(query, catalog)
        with placed_at_order(compilation):
            opened = ContinuousQuery(
                compilation.placed, read, settings, snapshot, isinstance(query, Mapping), lookups, on_change
            )
    check_bounded(compilation, strict, catalog.changing if lateness is None else ())
    return opened


def explain(
    query: Query | Mapping[str, Query],
    /,
    step: str = "rewritten",
    format: str = "text",  # noqa: A002 (as in open)
    aggregates: Mapping[str, Aggregate] | None = None,
    dialect: DialectName | None = None,
    **inputs: Any,
) -> str:
    """What becomes of a query: step parsed, bound, rewritten or placed; as text, mermaid or json."""
    if _on_spark(inputs):
        from cepheid.execution.spark.host import compile_on_spark, read_inputs

        given = read_inputs(inputs, read_aggregates(aggregates), check_dialect(dialect, "spark"))
        return explain_compilation(compile_on_spark(query, given), step, format)
    check_dialect(dialect, "trino")
    lookups, others = part_lookups(inputs)
    read = {name: read_schema(name, value) for name, value in others.items()}
    return explain_compilation(compile_query(query, make_catalog(read, lookups, aggregates)), step, format)


def late_events(spark: Any, checkpoint: str) -> Any:
    """The events that a streaming query on Spark set apart as late, from its checkpoint, as a DataFrame."""
    from cepheid.execution.spark.late_stream import read_late_events

    return read_late_events(spark, checkpoint)


def count_rejected(frame: Any) -> int:
    """Events of a batch on Spark with null or NaN where ORDER BY needs a value; known once `frame` was computed."""
    from cepheid.execution.spark.rejections import count_rejected as count

    return count(frame)


def _settings(lateness: timedelta | None, strict: bool, key_groups: int | None) -> Settings:
    lateness = read_lateness(lateness)
    chosen = Settings(strict=strict, lateness=lateness)
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
