"""Parquet files as workers read them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.compiler import compile_query
from cepheid.execution.spark import direct_ingest
from cepheid.execution.spark.direct_ingest import chain_below, mean_the_same, read_parquet
from cepheid.hosts import SPARK_STREAMS
from cepheid.session_inputs import make_catalog

WANTED = pa.schema([("Id", pa.int64()), ("ts", pa.timestamp("us", tz="UTC")), ("absent", pa.string())])


@pytest.mark.parametrize("most_rows", [1, 4, 100])
def test_columns_are_found_by_name_and_read_in_parts(
    most_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_ingest, "MOST_ROWS", most_rows)
    stored = pa.table(
        {"x": range(10), "TS": pa.array(range(10), pa.timestamp("us")), "id": pa.array(range(10), pa.int32())}
    )
    path = tmp_path / "a file.parquet"
    pq.write_table(stored, path, row_group_size=3)
    parts = list(read_parquet(path.as_uri(), WANTED))
    assert len(parts) == {1: 4, 4: 2, 100: 1}[most_rows]
    whole = pa.concat_tables(parts)
    assert whole.schema.equals(WANTED)
    assert whole.column("Id").to_pylist() == list(range(10))
    assert whole.column("absent").null_count == 10


def test_empty_file_gives_nothing(tmp_path: Path) -> None:
    pq.write_table(WANTED.empty_table(), tmp_path / "empty.parquet")
    assert sum(map(len, read_parquet(str(tmp_path / "empty.parquet"), WANTED))) == 0


@pytest.mark.parametrize(
    ("condition", "direct"),
    [
        ("v > 3", True),
        ("v BETWEEN 1 AND 3 AND NOT id IN (1, 2)", True),
        ("v > CAST(3.5 AS double)", True),
        ("v > CAST(3.5 AS int)", False),
        ("CAST(v AS int) > 3", False),
    ],
)
def test_what_duckdb_and_spark_do_not_mean_alike_is_left_to_spark(condition: str, direct: bool) -> None:
    schema = pa.schema([("id", pa.int32()), ("ts", pa.timestamp("us", tz="UTC")), ("v", pa.float64())])
    text = f"""SELECT * FROM (SELECT * FROM ev WHERE {condition})
        MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES a.v AS v PATTERN (a b) WITHIN INTERVAL '10' SECOND)"""
    placed = compile_query(text, make_catalog({"ev": schema}, {}, streams=["ev"]), SPARK_STREAMS).placed
    (vertex,) = placed.at_engines()
    (layout,) = placed.graph.inputs(vertex)
    chain = chain_below(placed.graph, layout)
    assert chain is not None
    assert mean_the_same(chain[1], schema) == direct
