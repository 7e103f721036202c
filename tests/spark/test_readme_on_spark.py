"""What the README shows of Spark is what happens, whatever the session's zone and ANSI mode."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.testing import assert_same_rows

pytestmark = pytest.mark.spark

README = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
ZONED = pa.timestamp("us", tz="UTC")


def find_block(language: str, part: str) -> str:
    (found,) = [block for kind, block in BLOCKS if kind == language and part in block]
    return found


@pytest.fixture(params=[("UTC", "true"), ("America/New_York", "true"), ("Pacific/Auckland", "false")], ids=str)
def anywhere(request: pytest.FixtureRequest, spark: Any) -> Iterator[Any]:
    session = spark.newSession()
    zone, ansi = request.param
    session.conf.set("spark.sql.session.timeZone", zone)
    session.conf.set("spark.sql.ansi.enabled", ansi)
    return session


def make_buses(names: dict[str, Any]) -> tuple[str, pa.Table]:
    """The query and the table of the ten lines; times are instants, and one more event settles the last match."""
    (text,) = re.findall(r'"""(.*?)"""', find_block("python", "up{5} jump"), re.DOTALL)
    exec(find_block("python", "up{5} jump").partition("alerts = ")[0], names)  # noqa: S102 (our own README)
    buses: pa.Table = names["buses"]
    buses = buses.set_column(0, "ts", buses.column("ts").cast(pa.timestamp("us")).cast(ZONED))
    settles = pa.table({"ts": pa.array([3_600_000_000], ZONED), "bus": [8], "delay": [0]})
    return text, pa.concat_tables([buses, settles])


def test_ten_lines_over_a_dataframe_and_a_stream(anywhere: Any, tmp_path: Path) -> None:
    names: dict[str, Any] = {"cep": cep, "spark": anywhere}
    text, buses = make_buses(names)
    expected = cep.sql(text, buses=buses)
    assert len(expected) == 1
    (tmp_path / "feed").mkdir()
    pq.write_table(buses, tmp_path / "feed" / "1.parquet")
    frame = anywhere.read.parquet(str(tmp_path / "feed"))
    assert_same_rows(cep.sql(text, buses=frame).toArrow().cast(expected.schema), expected)
    code = find_block("python", "spark.readStream")
    for folder in ("feed/", "alerts/", "checkpoint/"):
        code = code.replace(f'"{folder}"', f'"{tmp_path / folder}"')
    code = code.replace("alerts.writeStream", "running = alerts.writeStream").replace(
        ".start()", ".trigger(availableNow=True).start()"
    )
    exec(code, names | {"query": text, "schema": frame.schema}, names)  # noqa: S102 (our own README)
    names["running"].awaitTermination()
    rows = anywhere.read.parquet(str(tmp_path / "alerts")).toArrow()
    assert_same_rows(rows.cast(expected.schema), expected)


def test_the_application_file_runs(anywhere: Any, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    from cepheid.application import read_application
    from cepheid.execution.endpoints import ENDPOINTS
    from cepheid.execution.spark.application import RunOptions, start_application

    (tmp_path / "feed").mkdir()
    (tmp_path / "feed" / "1.csv").write_text(
        "ts,bus,delay\n2026-01-01 12:00:00Z,7,301\n2026-01-01 12:00:01Z,7,1\n?,7,400\n"
    )
    (tmp_path / "app.toml").write_text(find_block("toml", "[source.buses]"))
    application = read_application(tmp_path / "app.toml", ENDPOINTS)
    running = start_application(anywhere, application, RunOptions(once=True))
    try:
        while running.goes_on():
            time.sleep(0.1)
    finally:
        running.stop()
    rows = deltalake.DeltaTable(str(tmp_path / "lake" / "late")).to_pyarrow_table().to_pylist()
    assert rows == [{"bus": 7, "ts": datetime(2026, 1, 1, 12, tzinfo=UTC), "delay": 301.0}]
    letters = anywhere.read.parquet(str(tmp_path / "app.checkpoint" / "dead_letters" / "buses"))
    assert [row.record for row in letters.collect()] == ["?,7,400"]


def test_patterns_in_python_run_on_spark(anywhere: Any) -> None:
    def at(*seconds: int) -> pa.Array:
        return pa.array([1_767_225_600_000_000 + second * 1_000_000 for second in seconds], ZONED)

    streams = {
        "bids": pa.table({"ts": at(0, 1, 2, 3), "id": [1] * 4, "price": [11.0, 12.0, 13.0, 5.0]}),
        "cancels": pa.table({"ts": at(30), "id": [1], "kind": ["serious"]}),
        "asks": pa.table({"ts": at(4, 5), "id": [1, 2], "price": [12.0, 12.0]}),
    }
    names: dict[str, Any] = {"cep": cep, "is_serious": lambda table: pa.array([True] * len(table))}
    code = find_block("python", "rising = (cep.pattern").replace("cep.sql(rising", "rows = cep.sql(rising")
    exec(code, names | streams, names)  # noqa: S102 (our own README)
    expected = names["rows"]
    assert len(expected)
    frames = {name: anywhere.createDataFrame(table) for name, table in streams.items()}
    exec(code, names | frames, names)  # noqa: S102 (our own README)
    assert_same_rows(names["rows"].toArrow().cast(expected.schema), expected)
    assert names["rows"].count() == len(expected)
