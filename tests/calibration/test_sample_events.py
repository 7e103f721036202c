"""Events made up for a schema, and files of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.calibration.feed import Feed
from cepheid.calibration.file_source import FilePool
from cepheid.calibration.sample_events import StreamShape, sample_events, sample_feed
from cepheid.errors import InvalidInput
from cepheid.schema import TYPE_NAMES


def test_every_type_that_a_schema_can_name_has_values() -> None:
    schema = pa.schema([(name, kind) for name, kind in TYPE_NAMES.items()])
    table = sample_events(StreamShape(schema), 200)
    assert table.schema == schema
    assert all(column.null_count == 0 for column in table.columns)


def test_time_goes_on_steadily_at_the_rate() -> None:
    shape = StreamShape(pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("born", pa.timestamp("us"))]), 50.0)
    table = sample_events(shape, 101)
    times = table.column("ts").cast("int64").to_numpy()
    assert set(np.diff(times)) == {20_000}
    assert not np.all(np.diff(table.column("born").cast("int64").to_numpy()) > 0)


def test_keys_say_how_many_values_there_are_for_all_or_by_column() -> None:
    schema = pa.schema([("id", pa.int32()), ("name", pa.string()), ("small", pa.int8())])
    table = sample_events(StreamShape(schema, keys=7), 1000)
    assert [len(table.column(name).unique()) for name in schema.names] == [7, 7, 7]
    table = sample_events(StreamShape(schema, keys={"name": 3, "small": 10_000}), 5000)
    assert [len(table.column(name).unique()) for name in ("name", "small")] == [3, 127]


def test_the_same_seed_gives_the_same_events() -> None:
    shape = StreamShape(pa.schema([("id", pa.int64()), ("x", pa.float64())]))
    assert sample_events(shape, 50, seed=3) == sample_events(shape, 50, seed=3)
    assert sample_events(shape, 50, seed=3) != sample_events(shape, 50, seed=4)


def test_streams_have_events_by_their_rates() -> None:
    schema = pa.schema([("id", pa.int64())])
    feed = sample_feed({"slow": StreamShape(schema, 100.0), "fast": StreamShape(schema, 300.0)}, 4000)
    assert {name: len(table) for name, table in feed.tables.items()} == {"slow": 1000, "fast": 3000}


def test_a_type_without_values_asks_for_real_events() -> None:
    with pytest.raises(InvalidInput, match="no way to make up values") as problem:
        sample_events(StreamShape(pa.schema([("list", pa.list_(pa.int32()))])), 5)
    assert "--data" in str(problem.value)


def test_files_of_a_pool_hold_the_feed_in_order_and_are_written_once(tmp_path: Path) -> None:
    shape = StreamShape(pa.schema([("ts", pa.timestamp("us")), ("id", pa.int64())]))
    feed = Feed({"s": sample_events(shape, 1050)})
    pool = FilePool(feed, tmp_path / "pool", 100)
    assert pool.parts == 10
    pool.write(4)
    pool.write(10)
    (tmp_path / "in" / "s").mkdir(parents=True)
    for part in range(10):
        pool.link(part, tmp_path / "in")
    files = sorted((tmp_path / "in" / "s").iterdir())
    read = pa.concat_tables(pq.read_table(file) for file in files)
    assert read.column("id") == feed.tables["s"].column("id").slice(0, 1000)
    assert read.schema.field("ts").type.tz == "UTC"
    changed = [file.stat().st_mtime for file in files]
    assert changed == sorted(set(changed))
