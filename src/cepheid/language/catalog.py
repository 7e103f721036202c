"""What is known besides the text of a query: streams, tables, types, functions of the user."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.language.expressions.host_types import Describe, SparkRules
from cepheid.processing_time import find_schema
from cepheid.settings import DialectName
from cepheid.user_functions import Function

Validity = tuple[str, str | None]  # columns: from when, until when


@dataclass(frozen=True, slots=True)
class Catalog:
    """What is known besides the text: `describe` asks the host for types of SQL; streams: inputs that go on for ever,
    not whole tables; lookups: tables that events are looked up in one by one, in memory or in a database; python:
    aggregates of the user, by name in lower case; keeps_type: does a column of this type come out of the host as it
    went in, if that is known; remembered: types that the host told before (host_types.py); changing: streams whose rows
    come and go, which they tell in columns that are not in `schemas`; spark: queries are written in Spark's SQL,
    and what it means there; portable: queries in Trino's SQL run on Spark; validity: of tables, the columns that say
    from when and until when a row is valid; updating: may a query over streams be kept up to date where its rows are
    never settled?  functions: of the user, by name in lower case."""

    schemas: Mapping[str, pa.Schema]
    describe: Describe
    streams: frozenset[str] = frozenset()
    lookups: frozenset[str] = frozenset()
    python: Mapping[str, PythonAggregate] = field(default_factory=dict)
    keeps_type: Callable[[pa.DataType], bool] | None = None
    remembered: dict[Hashable, pa.DataType] = field(default_factory=dict, compare=False)
    changing: frozenset[str] = frozenset()
    spark: SparkRules | None = None
    portable: bool = False
    validity: Mapping[str, Validity] = field(default_factory=dict)
    updating: bool = False
    functions: Mapping[str, Function] = field(default_factory=dict)

    def find_schema(self, stream: str) -> pa.Schema:
        """The columns of a stream, which may be one with stamps; Spark's times have a zone."""
        return find_schema(self.schemas, stream, None if self.spark is None and not self.portable else "UTC")

    @property
    def dialect(self) -> DialectName:
        return "trino" if self.spark is None else "spark"
