"""Tables as people have them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.schema import fit_schema, read_schema, read_table

START = datetime(2026, 1, 1)  # noqa: DTZ001 (times without a zone, as in most tables)
COLUMNS = {"ts": [START, START + timedelta(seconds=1)], "x": [1, 2], "t": ["p", "q"]}
QUERY = """SELECT * FROM s MATCH_RECOGNIZE (
  PARTITION BY t ORDER BY ts MEASURES upper(a.t) AS u, a.x AS x PATTERN (a) DEFINE a AS a.t > 'a')"""


@pytest.mark.parametrize(
    "table",
    [
        pa.table(COLUMNS),
        pa.RecordBatch.from_pydict(COLUMNS),
        pd.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS),
        COLUMNS,
        pa.table({**COLUMNS, "t": pa.array(["p", "q"], pa.string_view())}),
        pa.table({**COLUMNS, "t": pa.array(["p", "q"]).dictionary_encode()}),
    ],
    ids=["arrow", "batch", "pandas", "polars", "columns", "views", "dictionary"],
)
def test_tables_of_every_kind_give_the_same_rows(table: object) -> None:
    assert cep.sql(QUERY, s=table).to_pylist() == [{"t": "p", "u": "P", "x": 1}, {"t": "q", "u": "Q", "x": 2}]


def test_table_stands_for_its_schema() -> None:
    assert read_schema("s", pa.table(COLUMNS)) == pa.table(COLUMNS).schema
    assert read_schema("s", {"x": "int", "y": pa.string()}) == pa.schema([("x", pa.int32()), ("y", pa.string())])


def test_batches_are_cast_within_a_family_and_lose_extra_columns() -> None:
    schema = read_schema("s", {"x": "double", "t": "string"})
    batch = read_table("s", {"t": pa.array(["p"]).dictionary_encode(), "more": [1], "x": [1]})
    assert fit_schema("s", batch, schema) == pa.table({"x": [1.0], "t": ["p"]}, schema=schema)


def test_null_inside_a_dictionary_is_a_null_of_the_column() -> None:
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2]), pa.array(["a", None, "b"]))
    table = pa.table({"ts": pa.array([0, 1, 2, 3], pa.timestamp("s")), "k": keys})
    text = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES count(*) AS n
        PATTERN (a+) DEFINE a AS a.k IS NULL OR a.k = 'a')"""
    found = cep.sql(text, t=table).to_pylist()
    assert sorted(found, key=str) == [{"k": "a", "n": 2}, {"k": None, "n": 1}]
