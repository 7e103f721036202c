"""Where Spark 4.0, 4.1, 4.2 and 4.3 differ: asked of what is there, not of its version number, and here only.

schemas ─▶ Arrow types     times in UTC have been asked for in two ways
Arrow types ─▶ schemas     whether times without a zone stay so has had two defaults
sources in Python          whether they may be asked for less than all
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas import types
from pyspark.sql.types import StructType

from cepheid.errors import InvalidInput, NotSupportedYet

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow
except ImportError:  # before Spark 4.2, which asks sources in Python for all there is

    class AvailableNow:
        """A source that is told when availableNow begins; here it is not."""

    def limit_rows(count: int) -> Any:  # noqa: ARG001 (nobody asks)
        return None

else:

    class AvailableNow(SupportsTriggerAvailableNow):  # type: ignore[no-redef]
        """A source that is told when availableNow begins."""

    def limit_rows(count: int) -> Any:
        """As many rows for each batch, 0: all there are."""
        return ReadMaxRows(count) if count else ReadAllAvailable()


def to_arrow_schema(schema: StructType) -> pa.Schema:
    """Times in UTC, whatever the session's zone."""
    convert: Any = types.to_arrow_schema
    if "timezone" in inspect.signature(convert).parameters:
        return convert(schema, timezone="UTC")
    return convert(schema, timestamp_utc=True)


def from_arrow_schema(schema: pa.Schema) -> StructType:
    """Times without a zone stay without one."""
    return types.from_arrow_schema(schema, prefer_timestamp_ntz=True)


def check_protobuf() -> None:
    """Refuse a protobuf that cannot read what Spark and its workers say about state, before a worker does."""
    from google.protobuf.runtime_version import VersionError

    try:
        import_module("pyspark.sql.streaming.stateful_processor_api_client")
    except VersionError as problem:
        raise InvalidInput(
            f"the protobuf that is installed does not fit this Spark: {problem}",
            hint='pip install "protobuf>=6.33.5", which fits every Spark 4, here and for the workers',
        ) from None


def check_stateful(grouped: Any) -> None:
    """Refuse a stream where Spark's client cannot keep state; grouped: what groupBy gives."""
    if not hasattr(grouped, "transformWithStateInPandas"):
        raise NotSupportedYet(
            "a stream over Spark Connect with this version of Spark",
            hint="use Spark 4.1 or newer, or a session without Connect: SparkSession.builder.master(...)",
        )
