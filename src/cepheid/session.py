"""What a user calls: sql, open, explain.  Which host runs a query follows from what it is given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.compiler import Compilation, check_bounded, compile_query, explain_compilation, placed_at_order
from cepheid.errors import InvalidInput, RejectedEventsWarning
from cepheid.schema import read_schema, read_table
from cepheid.settings import Settings

if TYPE_CHECKING:
    from cepheid.execution.embedded.continuous import ContinuousQuery
    from cepheid.language.pattern_builder import Pattern


def sql(
    query: str | Pattern,
    /,
    *,
    lateness: timedelta | None = None,
    strict: bool = False,
    key_groups: int | None = None,
    **tables: Any,
) -> Any:
    """The rows of a query over tables; the query is SQL text, or a pattern built with `cep.pattern`.

    Arrow, pandas or Polars tables in (or none): an Arrow table out.  Spark DataFrames in: a Spark DataFrame out,
    streaming if one of them is; then `lateness` says how late events may come, unless the DataFrame has a
    watermark of its own.
    """
    settings = _settings(lateness, strict, key_groups)
    if _on_spark(tables):
        from cepheid.execution.spark.host import run_on_spark

        return run_on_spark(query, tables, settings)
    if lateness is not None:
        raise InvalidInput("lateness has no meaning for whole tables", hint="give a streaming DataFrame, or cep.open")
    from cepheid.execution.embedded.batch import run_batch

    read = {name: read_table(name, value) for name, value in tables.items()}
    compilation = _compile_embedded(query, {name: table.schema for name, table in read.items()})
    rows, counts = run_batch(compilation.placed, read)
    if counts.rejected:
        message = f"{counts.rejected} events have null or NaN where ORDER BY needs a value, and were rejected"
        warnings.warn(message, RejectedEventsWarning, stacklevel=2)
    return rows


def open(  # noqa: A001 (the name is part of the contract: cep.open)
    query: str | Pattern,
    /,
    *,
    lateness: timedelta | None = None,
    strict: bool = False,
    snapshot: bytes | None = None,
    **schemas: Any,
) -> ContinuousQuery:
    """A continuous query in this process: push(**batches), finish(), snapshot()."""
    from cepheid.execution.embedded.continuous import ContinuousQuery

    settings = _settings(lateness, strict, None)
    read = {name: read_schema(name, value) for name, value in schemas.items()}
    compilation = _compile_embedded(query, read)
    with placed_at_order(compilation):
        opened = ContinuousQuery(compilation, read, settings, snapshot)
    check_bounded(compilation, strict)
    return opened


def explain(query: str | Pattern, /, step: str = "rewritten", format: str = "text", **inputs: Any) -> str:  # noqa: A002 (as in open)
    """What becomes of a query: step parsed, bound, rewritten or placed; as text, mermaid or json."""
    if _on_spark(inputs):
        from cepheid.execution.spark.host import compile_on_spark

        return explain_compilation(compile_on_spark(query, inputs), step, format)
    read = {name: read_schema(name, value) for name, value in inputs.items()}
    return explain_compilation(_compile_embedded(query, read), step, format)


def late_events(spark: Any, checkpoint: str) -> Any:
    """The events that a streaming query on Spark set apart as late, from its checkpoint, as a DataFrame."""
    from cepheid.execution.spark.late_stream import read_late_events

    return read_late_events(spark, checkpoint)


def count_rejected(frame: Any) -> int:
    """Events of a batch on Spark with null or NaN where ORDER BY needs a value; known once `frame` was computed."""
    from cepheid.execution.spark.rejections import count_rejected as count

    return count(frame)


def _settings(lateness: timedelta | None, strict: bool, key_groups: int | None) -> Settings:
    if lateness is not None and not isinstance(lateness, timedelta):
        raise InvalidInput(f"lateness is a {type(lateness).__name__}, not a timedelta", hint="timedelta(seconds=10)")
    if lateness is not None and lateness < timedelta(0):
        raise InvalidInput(f"lateness is negative: {lateness}", hint="give zero or more")
    if key_groups is not None and key_groups < 1:
        raise InvalidInput(f"key_groups is {key_groups}", hint="give 1 or more; 64 suits most")
    chosen = Settings(strict=strict, lateness=lateness)
    return chosen if key_groups is None else replace(chosen, key_groups=key_groups)


def _compile_embedded(query: str | Pattern, schemas: Mapping[str, pa.Schema]) -> Compilation:
    from cepheid.execution.embedded.relations import describe_sql

    return compile_query(query, schemas, describe_sql)


def _on_spark(inputs: Mapping[str, Any]) -> bool:
    """Are the inputs Spark DataFrames?  Asked of their class, so that pyspark need not be there."""
    spark = [name for name, value in inputs.items() if type(value).__module__.startswith("pyspark.")]
    if spark and len(spark) != len(inputs):
        other = next(name for name in inputs if name not in spark)
        raise InvalidInput(
            f'"{spark[0]}" is a Spark DataFrame and "{other}" is not', hint="use spark.createDataFrame for both"
        )
    return bool(spark)
