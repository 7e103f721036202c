"""What users give as the sink of a query of a session on Spark, as a sink that gets batches."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.sinks.sink import is_sink
from cepheid.execution.spark.sinks.batch_files import BatchFiles
from cepheid.execution.spark.sinks.function import FunctionSink
from cepheid.execution.spark.sinks.kinds import open_spark_sink, show_spark_sink
from cepheid.execution.spark.sinks.sink import BatchSink, FileSink


def open_given_sink(given: Any, query: str) -> tuple[BatchSink, str]:
    """The sink, and what it is called in messages."""
    if isinstance(given, str | Path):
        opened = open_spark_sink(str(given), query, Path.cwd())
        return BatchFiles(opened) if isinstance(opened, FileSink) else opened, show_spark_sink(str(given))
    if isinstance(given, list):
        return FunctionSink(lambda table, _: given.append(table)), "a list"
    if callable(given):
        return FunctionSink(_with_number(given)), "a function"
    if is_sink(given):
        return FunctionSink(lambda table, _: given.write(table)), type(given).__name__
    raise InvalidInput(
        f'query "{query}" has no sink' if given is None else f'the sink of query "{query}" is a {type(given).__name__}',
        hint='say where its rows go: sink="out/", "delta:PATH", "console", a function of an Arrow table, a list',
    )


def _with_number(function: Callable[..., Any]) -> Callable[[pa.Table, int], Any]:
    """Functions that take a table only are given no number."""
    try:
        inspect.signature(function).bind(None, 0)
    except TypeError:
        return lambda table, _: function(table)
    except ValueError:  # built in: nobody knows
        return lambda table, _: function(table)
    return function
