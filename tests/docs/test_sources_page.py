"""What the page about sources and sinks shows is what happens."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.application import read_application
from cepheid.execution.endpoints import ENDPOINTS
from cepheid.execution.sinks.kinds import SINK_KINDS, open_sink
from cepheid.execution.sources.kinds import SOURCE_KINDS, open_source, read_whole

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "sources-and-sinks.md").read_text()
BLOCKS = dict(re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL))


def test_the_kind_of_ones_own_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.execution.sources.kinds.SOURCE_KINDS", list(SOURCE_KINDS))
    names: dict[str, Any] = {}
    exec(BLOCKS["python"], names)  # noqa: S102 (our own page)
    source = open_source("count://2500", name="numbers")
    assert [len(table) for table in source.read(1000)] == [1000, 1000, 500]
    assert read_whole(source, "numbers").column("n").to_pylist() == list(range(2500))


def test_the_merge_sink_keeps_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "MergeSink" in block)
    buses = pa.table({"ts": pa.array([0, 1, 2], pa.timestamp("s")), "bus": [1, 2, 1], "delay": [5, 6, 7]})
    names: dict[str, Any] = {"cep": cep, "timedelta": timedelta, "batches": [buses.slice(0, 2), buses.slice(2)]}
    exec(code, names)  # noqa: S102 (our own page)
    with duckdb.connect("shop.db") as connection:
        assert connection.execute("SELECT bus, stops, worst FROM worst ORDER BY bus").fetchall() == [
            (1, 2, 7),
            (2, 1, 6),
        ]
        assert connection.execute("SELECT count(*) FROM worst_retracted").fetchall() == [(0,)]


def test_the_application_is_read(tmp_path: Path) -> None:
    events = pa.table({"ts": pa.array([0], pa.timestamp("us")), "bus": [1], "delay": [400.0]})
    feed = open_sink("feeds/1.parquet", name="feed", folder=tmp_path)
    feed.write(events)
    feed.close()
    (tmp_path / "app.toml").write_text(BLOCKS["toml"])
    application = read_application(tmp_path / "app.toml", ENDPOINTS)
    assert application.sources["buses"].schema == events.schema
    assert application.queries["late"].sink == "out/late.parquet"


def test_the_page_lists_all_kinds_in_their_order() -> None:
    sources, sinks = PAGE.split("## Sinks")
    for text, kinds in ((sources, SOURCE_KINDS), (sinks, SINK_KINDS)):
        listed = re.findall(r"^\| ([\w ]+) \|", text, re.MULTILINE)[1:]
        assert listed == [kind.name for kind in kinds]
