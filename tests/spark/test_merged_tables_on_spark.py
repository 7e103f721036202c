"""Tables that a stream on Spark keeps at the net answer, over two runs, the last batch of the first run twice."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput
from cepheid.execution.merging.folder_table import read_merged_folder
from cepheid.execution.spark.sinks.attach import AttachedSink
from cepheid.execution.spark.sinks.kinds import open_spark_sink

sys.path.append(str(Path(__file__).parent))
from streams import FedStream

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning")]

BIDS = pa.schema({"ts": pa.timestamp("us", "UTC"), "auction": "int64", "price": "int64"})
START = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = "SELECT auction, count(*) AS n, max(price) AS top FROM bids GROUP BY auction HAVING count(*) < 9"


def make_bids(random: Random, turn: int) -> pa.Table:
    count = 12
    return pa.table(
        {
            "ts": [START + timedelta(seconds=30 * turn + number) for number in range(count)],
            "auction": [random.randrange(6) for _ in range(count)],
            "price": [random.randrange(90) for _ in range(count)],
        },
        schema=BIDS,
    )


def run_into(target: str, frame: Any, checkpoint: Path) -> None:
    sink = AttachedSink(open_spark_sink(target, "jam", checkpoint.parent), "jam", target)
    started = sink.attach(frame).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    started.awaitTermination()


def test_a_table_is_at_the_net_answer_after_each_run(spark: Any, tmp_path: Path) -> None:
    random, bids, pushed = Random(8), FedStream(spark, tmp_path / "bids", BIDS), []
    targets = {"merge:out/jam": tmp_path / "folder", "merge:duckdb://shop.db": tmp_path / "file"}
    for turn in range(4):
        pushed.append(make_bids(random, turn))
        bids.feed(pushed[-1])
        if turn % 2 == 0:
            continue
        for target, checkpoint in targets.items():
            run_into(target, cep.sql(TEXT, bids=bids.frame(), emit="changes"), checkpoint)
        commits = tmp_path / "folder" / "commits"
        if turn == 1:  # as if Spark had died before it wrote down that the batch was done
            last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
            (commits / str(last)).unlink()
            (commits / f".{last}.crc").unlink(missing_ok=True)
        whole = cep.sql(TEXT, bids=pa.concat_tables(pushed)).to_pylist()
        wanted = sorted(tuple(row.values()) for row in whole)
        assert sorted(tuple(row.values()) for row in read_merged_folder(tmp_path / "out" / "jam").to_pylist()) == wanted
        with duckdb.connect(str(tmp_path / "shop.db"), read_only=True) as connection:
            assert sorted(connection.execute("SELECT auction, n, top FROM jam").fetchall()) == wanted


def test_final_rows_are_refused_before_the_query_runs(spark: Any, tmp_path: Path) -> None:
    bids = FedStream(spark, tmp_path / "bids", BIDS)
    with pytest.raises(InvalidInput, match='"jam" do not say which they are'):
        run_into("merge:out/jam", cep.sql("SELECT auction FROM bids", bids=bids.frame()), tmp_path / "checkpoint")
