"""Results that change, on Spark streams: changes add up to what Spark SQL says over tables, also after a restart."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CepheidError, NotSupportedYet

sys.path.append(str(Path(__file__).parent))
from streams import FedStream, read_rows, run_some_at_once

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning")]

BIDS = pa.schema({"ts": pa.timestamp("us", "UTC"), "auction": "int64", "price": "int64", "bidder": "string"})
AUCTIONS = pa.schema({"ts": pa.timestamp("us", "UTC"), "id": "int64", "category": "int32"})
START = datetime(2026, 1, 1, tzinfo=UTC)
QUERIES = {
    "groups": """SELECT date_format(ts, 'HH') AS hour, auction, count(*) AS n, sum(price) AS s, avg(price) AS m,
        count(DISTINCT bidder) AS d FROM bids WHERE upper(bidder) <> 'Z' GROUP BY date_format(ts, 'HH'), auction""",
    "best": """SELECT auction, price * 2 AS twice, r FROM (SELECT *, row_number() OVER (PARTITION BY auction
        ORDER BY price DESC, ts) AS r FROM bids) WHERE r <= 2""",
    "pairs": """SELECT category, max(top) AS most FROM (SELECT a.id, a.category, max(b.price) AS top FROM auctions AS a
        LEFT JOIN bids AS b ON a.id = b.auction GROUP BY a.id, a.category) GROUP BY category""",
    "own": "SELECT auction, squares(price * 2) AS s FROM bids GROUP BY auction HAVING squares(price) > 9",
}
OWN = {"aggregates": {"squares": cep.Aggregate(int, lambda all_, x: all_ + x * x, lambda all_: all_, type="bigint")}}

COUNTED = """(SELECT auction, count(*) AS n, window_end AS at FROM bids [RANGE 2 MINUTES SLIDE 2 MINUTES]
    GROUP BY auction)"""
RISES = f"""(SELECT auction, s, at FROM {COUNTED} MATCH_RECOGNIZE (PARTITION BY auction ORDER BY at
    MEASURES a.n + b.n AS s, b.at AS at PATTERN (a b) DEFINE b AS b.n <> a.n))"""
OVER_WINDOWS = {  # by what they emit; some with keys that do not part what they read
    "changes": {
        "of_each": f"SELECT a.id, w.n FROM auctions AS a LEFT JOIN {COUNTED} AS w ON w.auction = a.id",
        "most": f"""SELECT w.auction, w.n FROM {COUNTED} AS w
            JOIN (SELECT at, max(n) AS n FROM {COUNTED} GROUP BY at) AS m ON w.at = m.at AND w.n = m.n""",
        "last_rise": f"""SELECT auction, s FROM (SELECT *,
            row_number() OVER (PARTITION BY auction ORDER BY at DESC) AS r FROM {RISES}) WHERE r = 1""",
        "first": """SELECT auction, price FROM (SELECT *, row_number() OVER (PARTITION BY auction ORDER BY ts) AS r
            FROM bids) WHERE r = 1""",
    },
    "final": {
        "joined": f"""SELECT a.id, w.n FROM auctions AS a JOIN {COUNTED} AS w
            ON w.auction = a.id AND a.ts BETWEEN w.at - INTERVAL '2' MINUTE AND w.at""",
        "rises": f"SELECT count(*) AS c, max(s) AS top FROM {RISES} [ORDER BY at RANGE 4 MINUTES SLIDE 4 MINUTES]",
        "before": f"SELECT auction, n, lag(n) OVER (PARTITION BY auction ORDER BY at) AS before FROM {COUNTED}",
        "as_of": """SELECT b.auction, b.price, a.category FROM bids AS b
            LEFT JOIN auctions FOR SYSTEM_TIME AS OF b.ts AS a ON a.id = b.auction""",
    },
}


def make_events(random: Random, turn: int) -> tuple[pa.Table, pa.Table]:
    count, others = 20, 3
    times = [START + timedelta(seconds=30 * turn + number) for number in range(count)]  # two turns are in a minute
    bids = {
        "ts": times,
        "auction": [random.randrange(4) for _ in range(count)],
        "price": [random.randrange(90) for _ in range(count)],
        "bidder": [random.choice(["x", "y", "z", None]) for _ in range(count)],
    }
    auctions = {
        "ts": times[:others],
        "id": [random.randrange(5) for _ in range(others)],
        "category": [random.randrange(3) for _ in range(others)],
    }
    return pa.table(bids, schema=BIDS), pa.table(auctions, schema=AUCTIONS)


def count_rows(table: pa.Table) -> Counter[Any]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def test_changes_add_up_to_what_spark_says_over_tables(spark: Any, tmp_path: Path) -> None:
    random = Random(3)
    bids, auctions = FedStream(spark, tmp_path / "bids", BIDS), FedStream(spark, tmp_path / "auctions", AUCTIONS)
    pushed: dict[str, list[pa.Table]] = {"bids": [], "auctions": []}
    turn = 0
    for batches in (2, 1):  # a restart between them
        for _ in range(batches):
            for stream, name, table in zip((bids, auctions), pushed, make_events(random, turn), strict=True):
                stream.feed(table)
                pushed[name].append(table)
            turn += 1
        streams = {"bids": bids.frame(), "auctions": auctions.frame()}
        frames = [
            (cep.sql(text, emit="changes", **OWN, **{n: s for n, s in streams.items() if n in text}), tmp_path / name)
            for name, text in QUERIES.items()
        ]
        run_some_at_once(frames)
    tables = {name: spark.createDataFrame(pa.concat_tables(each)) for name, each in pushed.items()}
    taken_back = 0
    for name, text in QUERIES.items():
        changes = read_rows(spark, tmp_path / name)
        whole = cep.sql(text, **OWN, **{table: frame for table, frame in tables.items() if table in text})
        assert changes.schema.names == ["_change", "_match", "_version", *whole.columns]
        inserts = changes.filter(pa.compute.equal(changes.column("_change"), "insert")).select(whole.columns)
        retracts = changes.filter(pa.compute.equal(changes.column("_change"), "retract")).select(whole.columns)
        taken_back += len(retracts)
        assert count_rows(inserts) - count_rows(retracts) == count_rows(whole.toArrow()), name
    assert taken_back


def net_changes(table: pa.Table) -> Counter[Any]:
    """Inserts less retracts, if it tells changes; else its rows."""
    if "_change" not in table.column_names:
        return count_rows(table)
    inserts = pa.compute.equal(table.column("_change"), "insert")
    plain = table.drop_columns(["_change", "_match", "_version"])
    return count_rows(plain.filter(inserts)) - count_rows(plain.filter(pa.compute.invert(inserts)))


def test_rows_over_windows_and_patterns_are_those_of_one_process(spark: Any, tmp_path: Path) -> None:
    """Results that change were split by the keys of the windows below them, and so found only a part of their rows."""
    random, lateness = Random(5), timedelta(seconds=1)
    streams = {"bids": BIDS, "auctions": AUCTIONS}
    fed = {name: FedStream(spark, tmp_path / name, schema) for name, schema in streams.items()}
    batches = [
        dict(zip(fed, make_events(random, turn), strict=True)) for turn in (0, 4, 8, 12, 90, 180, 181)
    ]  # windows of two minutes; the last ones move time
    for batch in batches:
        for name, stream in fed.items():
            stream.feed(batch[name])
    given, expected = [], []
    for emit, queries in OVER_WINDOWS.items():
        for title, text in queries.items():
            read = {name for name in streams if name in text}
            settings: Any = {"emit": emit, "lateness": lateness}
            given.append((cep.sql(text, **{name: fed[name].frame() for name in read}, **settings), tmp_path / title))
            opened = cep.open(text, **{name: streams[name] for name in read}, **settings)
            pushed = [opened.push(**{name: batch[name] for name in read}) for batch in batches]
            expected.append(net_changes(pa.concat_tables(pushed)))
    run_some_at_once(given)
    for (_, folder), rows in zip(given, expected, strict=True):
        assert rows, folder.name
        assert net_changes(read_rows(spark, folder)) == rows, folder.name


def test_what_workers_might_compute_otherwise_is_refused(spark: Any, tmp_path: Path) -> None:
    frame = FedStream(spark, tmp_path / "bids", BIDS).frame()
    with pytest.raises(NotSupportedYet, match="inside of a result that changes"):
        cep.sql("SELECT auction, round(avg(price), 1) / 3 AS x FROM bids GROUP BY auction", emit="changes", bids=frame)
    with pytest.raises(NotSupportedYet, match='emit="changes" of a query that ends in'):
        cep.sql("SELECT auction FROM bids WHERE price > 3", emit="changes", bids=frame)
    with pytest.raises(CepheidError, match="no meaning for whole tables"):
        cep.sql("SELECT auction FROM bids", emit="changes", bids=spark.createDataFrame([], frame.schema))
