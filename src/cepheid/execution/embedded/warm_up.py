"""Compile the kernels of the short way, or load them from Numba's cache, before time matters: two events for each."""

from __future__ import annotations

import pyarrow as pa

from cepheid.compiler import compile_query
from cepheid.execution.embedded.continuous import ContinuousQuery
from cepheid.execution.embedded.relations import describe_sql, stays_in_duckdb
from cepheid.language.catalog import Catalog
from cepheid.settings import Settings

SCHEMA = pa.schema([("id", pa.int32()), ("x", pa.float64()), ("ts", pa.timestamp("us"))])
SEQUENCE = "SELECT a.id FROM PATTERN SEQ(s a, {stream} b) WHERE a.id = b.id AND b.x > a.x WITHIN INTERVAL '1' SECOND"
ROW_PATTERN = """SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES LAST(b.x) AS x PATTERN (a b)
    WITHIN INTERVAL '1' SECOND DEFINE b AS b.x > a.x)"""
QUERIES = (
    f"{SEQUENCE.format(stream='s')} STRATEGY skip_till_any",
    SEQUENCE.format(stream="s"),
    SEQUENCE.format(stream="t"),
    ROW_PATTERN,
    *(f"SELECT id, {name}(x) AS f FROM s [ROWS 2] GROUP BY id" for name in ("avg", "max", "stddev", "median")),
    "SELECT a.id, b.x FROM s [ROWS 2] AS a, t [ROWS 2] AS b WHERE a.id = b.id",
)


def compile_lanes() -> None:
    catalog = Catalog({"s": SCHEMA, "t": SCHEMA}, describe_sql, frozenset("st"), keeps_type=stays_in_duckdb)
    columns = [pa.array([1, 1], pa.int32()), pa.array([1.0, 2.0]), pa.array([1, 2], pa.timestamp("us"))]
    events = pa.Table.from_arrays(columns, schema=SCHEMA)
    later = events.set_column(2, "ts", pa.array([4, 5], pa.timestamp("us")))
    for text in QUERIES:
        query = ContinuousQuery(compile_query(text, catalog).placed, {"s": SCHEMA, "t": SCHEMA}, Settings())
        query.push(s=events)
        query.push(t=events)
        query.feed("s").push((1, 3.0, 3))
        query.push(s=later, t=later)
        query.finish()
