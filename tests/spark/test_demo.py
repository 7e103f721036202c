"""The demo finds in a smaller city what a plain computation finds there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parent.parent / "demo"))
from gathering_oracle import find_gatherings, find_jumps

from cepheid.demo.bus_feed import generate_feed, write_feed
from cepheid.demo.play_day import Day, as_tables, play_feed

pytestmark = pytest.mark.spark


def test_demo_finds_what_the_oracle_finds(spark: Any, tmp_path: Path) -> None:
    feed = generate_feed(seed=7, buses=300, lines=20)
    write_feed(feed, tmp_path / "feed", files=4)
    day = Day(feed)
    told: list[str] = []
    play_feed(spark, tmp_path, day, lambda what, _: told.append(what))
    gatherings, breakdowns = as_tables(day)
    wanted = find_jumps(feed)
    assert sorted(zip(*(breakdowns.column(name).to_pylist() for name in ("bus", "ts")), strict=True)) == sorted(
        zip(*(wanted.column(name).to_pylist() for name in ("bus", "ts")), strict=True)
    )
    assert len(wanted) > 10
    expected = find_gatherings(feed)
    assert 3 <= len(gatherings) <= len(expected), "cells of 7 m find no more than circles of 10 m"
    assert all(_is_known(row, expected) for row in gatherings.to_pylist())
    assert day.events == 2 * len(feed)
    assert told.count("gathering") == len(gatherings)


def _is_known(row: dict[str, Any], expected: pa.Table) -> bool:
    places = zip(expected.column("x").to_pylist(), expected.column("y").to_pylist(), strict=True)
    return any(abs(row["x"] - x) < 30 and abs(row["y"] - y) < 30 for x, y in places)
