"""The bus feed has the size and rhythm of Table I, and the situations the demo promises to find."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.demo.bus_feed import generate_feed, write_feed
from cepheid.demo.city_picture import draw_city

sys.path.append(str(Path(__file__).parent))  # the oracle lies beside this file
from gathering_oracle import find_crowds, find_gatherings, find_jumps


@pytest.fixture(scope="module")
def day() -> pa.Table:
    return generate_feed()


@pytest.fixture(scope="module")
def small_day() -> pa.Table:
    return generate_feed(seed=3, buses=240, lines=18)


def test_day_has_the_buses_and_lines_of_table_one(day: pa.Table) -> None:
    assert set(day.column("bus").unique().to_pylist()) == set(range(1, 912))
    assert set(day.column("line").unique().to_pylist()) == set(range(1, 68))
    assert 2_000_000 < day.num_rows < 3_000_000


def test_columns_have_the_promised_types(small_day: pa.Table) -> None:
    assert {field.name: str(field.type) for field in small_day.schema} == {
        "ts": "timestamp[us, tz=UTC]",
        "bus": "int32",
        "line": "int32",
        "direction": "int8",
        "x": "double",
        "y": "double",
        "delay": "double",
    }


def test_service_runs_from_six_till_three(day: pa.Table) -> None:
    ts = day.column("ts")
    assert datetime(2013, 1, 15, 6, tzinfo=UTC) <= ts[0].as_py() < datetime(2013, 1, 15, 6, 1, tzinfo=UTC)
    assert datetime(2013, 1, 16, 2, 59, tzinfo=UTC) < ts[-1].as_py() < datetime(2013, 1, 16, 3, tzinfo=UTC)


def test_reports_come_in_time_order(day: pa.Table) -> None:
    assert (np.diff(day.column("ts").cast(pa.int64()).to_numpy()) >= 0).all()


def test_bus_reports_each_twenty_seconds_on_one_line(day: pa.Table) -> None:
    ts = day.column("ts").cast(pa.int64()).to_numpy()
    bus, line = day.column("bus").to_numpy(), day.column("line").to_numpy()
    order = np.lexsort((ts, bus))
    is_same_bus = np.diff(bus[order]) == 0
    assert (np.diff(ts[order])[is_same_bus] == 20_000_000).all()
    assert (np.diff(line[order])[is_same_bus] == 0).all()


def test_buses_keep_to_the_plan_and_to_the_speed_of_the_street(small_day: pa.Table) -> None:
    ts, bus, x, y = (small_day.column(name).to_numpy() for name in ("ts", "bus", "x", "y"))
    assert (x.min() >= 0) & (x.max() <= 12_000) & (y.min() >= 0) & (y.max() <= 10_000)
    order = np.lexsort((ts, bus))
    gone_m = np.hypot(np.diff(x[order]), np.diff(y[order]))[np.diff(bus[order]) == 0]
    assert gone_m.max() < 20 * 30 / 3.6 + 25  # 30 km/h, and noise of the position at both ends


def test_same_seed_gives_the_same_day_and_another_seed_another(small_day: pa.Table) -> None:
    assert generate_feed(seed=3, buses=240, lines=18).equals(small_day)
    assert not generate_feed(seed=4, buses=240, lines=18).equals(small_day)


@pytest.mark.parametrize("which", ["day", "small_day"])
def test_jams_give_six_gatherings_and_nothing_near_the_border(which: str, request: pytest.FixtureRequest) -> None:
    feed: pa.Table = request.getfixturevalue(which)
    gatherings = find_gatherings(feed)
    assert gatherings.num_rows == 6
    assert gatherings.column("buses").to_numpy().min() >= 14
    sites = np.array([(row["x"], row["y"]) for row in gatherings.to_pylist()])
    elsewhere = [buses for _, x, y, buses in find_crowds(feed) if np.hypot(*(sites - (x, y)).T).min() > 100]
    assert max(elsewhere) <= 8


def test_breakdowns_are_found_and_mere_jumps_are_not(day: pa.Table) -> None:
    assert 20 <= find_jumps(day).num_rows <= 60
    assert find_jumps(day, rising=0).num_rows >= find_jumps(day).num_rows + 40


def test_files_hold_the_day_in_order(small_day: pa.Table, tmp_path: Path) -> None:
    write_feed(small_day, tmp_path / "feed", files=12)
    paths = sorted((tmp_path / "feed").iterdir())
    modified = [path.stat().st_mtime for path in paths]
    assert len(paths) == 12
    assert (np.diff(modified) > 0).all()
    assert pa.concat_tables([pq.read_table(path) for path in paths]).equals(small_day)


def test_picture_is_drawn_at_its_size(small_day: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "city.png"
    draw_city(small_day, find_gatherings(small_day), find_jumps(small_day), path)
    header = path.read_bytes()[:24]
    assert header[:4] == b"\x89PNG"
    assert (int.from_bytes(header[16:20], "big"), int.from_bytes(header[20:24], "big")) == (1600, 1200)


def test_picture_of_a_day_without_alerts_is_drawn(small_day: pa.Table, tmp_path: Path) -> None:
    none_found = find_gatherings(small_day).slice(0, 0), find_jumps(small_day).slice(0, 0)
    draw_city(small_day.slice(0, 50_000), *none_found, tmp_path / "quiet.png")
    assert (tmp_path / "quiet.png").exists()
