"""Windows that Spark computes itself, over whole tables: GROUP BY the start of the window.

The start is a number, since grouping by what Spark's window() gives takes twice as long; times without a zone have no
such number that is the same in every session, so they do go through window().

The answers are those of our engines: integers are added exactly, in two halves of 32 bits whose sums cannot leave 64
bits, and a sum that does not fit is an error; a time that is null is rejected and counted.
"""

from __future__ import annotations

from decimal import Decimal

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, TimestampType

from cepheid.errors import MatchFailure
from cepheid.execution.spark.rejections import watch_rejections
from cepheid.execution.spark.schemas import quote_name
from cepheid.graph.operators import HostWindow
from cepheid.graph.operators.window_aggregate import WindowCell
from cepheid.kernel.window import WindowedAggregate

HALF = 2**32


def run_native_window(node: HostWindow, frame: DataFrame, observations: list[Observation]) -> DataFrame:
    """The cells of a window; `observations` get who counts the events that are rejected."""
    time_type = frame.schema["_time"].dataType
    by_number = isinstance(time_type, TimestampType)
    if by_number:
        observation = Observation()
        micros = F.unix_micros("_time")
        start = micros - F.pmod(micros, F.lit(node.window.slide))
    else:
        frame, observation = watch_rejections(frame, 1)
        start = F.window(F.col("_time").cast("timestamp_ntz"), f"{node.window.slide} microseconds").start
    observations.append(observation)
    columns = [F.col(quote_name(name)) for name in node.read_columns() if name != "_time"]
    aggregates = [_summarise(aggregate, frame).alias(f"_s{place}") for place, aggregate in enumerate(node.aggregates)]
    grouped = frame.select(start.alias("_start"), *columns).groupBy("_start", *node.group_columns())
    answered = grouped.agg(F.count(F.lit(1)).alias("_rows"), *aggregates)
    if by_number:
        answered = _set_rejected_apart(answered, observation)
    return answered.select(*(_write_cell(cell, node, time_type).alias(cell.name) for cell in node.cells))


def _set_rejected_apart(answered: DataFrame, observation: Observation) -> DataFrame:
    """Events without a time are windows of their own: they are counted here, and not where all events go by."""
    lost = F.col("_start").isNull()
    rejected = F.sum(F.when(lost, F.col("_rows")).otherwise(0)).alias("rejected")
    return answered.observe(observation, rejected).where(~lost)


def _write_cell(cell: WindowCell, node: HostWindow, time_type: DataType) -> Column:
    match cell.kind:
        case "aggregate":
            return F.col(f"_s{cell.number}")
        case "start":
            return _write_time(0, time_type)
        case "end" | "moment":
            return _write_time(node.window.size or 0, time_type)
    assert cell.column is not None, f"{cell.kind} reads a column"
    return F.col(quote_name(cell.column))


def _write_time(after: int, time_type: DataType) -> Column:
    """So many microseconds after the start.  By numbers, where Spark would add days of the session's zone, which may
    have 23 hours."""
    if isinstance(time_type, TimestampType):
        return F.timestamp_micros(F.col("_start") + F.lit(after))
    return (F.col("_start") + F.make_dt_interval(secs=F.lit(Decimal(after) / 1_000_000))).cast(time_type)


def _summarise(aggregate: WindowedAggregate, frame: DataFrame) -> Column:
    if aggregate.column is None:
        return F.count(F.lit(1))
    column = F.col(quote_name(aggregate.column))
    match aggregate.function:
        case "sum" if aggregate.column_kind == "int":
            return _sum_integers(column, isinstance(frame.schema[aggregate.column].dataType, LongType))
        case "avg" if aggregate.column_kind == "int":
            return _average_integers(column)
        case "count":
            return F.count(column)
        case "count_distinct":
            return F.count_distinct(column)
        case "sum" | "avg" | "min" | "max" | "stddev_samp" | "stddev_pop" | "var_samp" | "var_pop":
            compute = getattr(F, aggregate.function)
            return compute(column)
    raise AssertionError(f"{aggregate.function} is not left to Spark")


def _sum_integers(column: Column, is_long: bool) -> Column:
    if not is_long:
        return F.sum(column)  # 2**32 values of 32 bits fit
    high, low = _sum_halves(column)
    carried = high + F.shiftright(low, 32)
    failure = MatchFailure("a sum of integers left the range of 64 bits", hint="cast the column to DOUBLE")
    return F.when(carried.between(-(2**31), 2**31 - 1), carried * HALF + low.bitwiseAND(HALF - 1)).when(
        carried.isNotNull(), F.raise_error(F.lit(str(failure))).cast("long")
    )


def _average_integers(column: Column) -> Column:
    high, low = _sum_halves(column)
    return (high.cast("double") * HALF + low.cast("double")) / F.count(column)


def _sum_halves(column: Column) -> tuple[Column, Column]:
    whole = column.cast("long")
    return F.sum(F.shiftright(whole, 32)), F.sum(whole.bitwiseAND(HALF - 1))
