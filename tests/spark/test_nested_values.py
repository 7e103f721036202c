"""Fields of structs, arrays and decimals on Spark, whole tables and streams: the answers of Spark's own functions."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.streams import FedStream

import cepheid as cep

pytestmark = pytest.mark.spark

CENTS = pa.decimal128(10, 2)
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("device", pa.struct([("id", pa.string()), ("zone", pa.decimal128(24, 4))])),
        ("reading", pa.struct([("value", pa.int32()), ("price", CENTS)])),
        ("tags", pa.list_(pa.string())),
        ("local", pa.timestamp("us")),
    ]
)
# what holds of an event and the one before it: once as DEFINE says it, once as LAG does
CONDITIONS = {
    "b.reading.value > PREV(b.reading.value)": "reading.value > p.reading.value",
    "b.reading.price > PREV(b.reading.price) * 1.1": "reading.price > p.reading.price * 1.1",
    "b.reading.price - a.reading.price = 0.01": "reading.price - p.reading.price = 0.01",
    "b.reading.price + 0.1 <= a.reading.price + a.reading.value":
        "reading.price + 0.1 <= p.reading.price + p.reading.value",
    "abs(b.reading.price - a.reading.price) < 0.02": "abs(reading.price - p.reading.price) < 0.02",
    "coalesce(b.reading.price, a.reading.price, 7) = 7": "coalesce(reading.price, p.reading.price, 7) = 7",
    "b.tags[0] = a.tags[0]": "tags[0] = p.tags[0]",
    "b.reading.price IN (a.reading.price, 0.5)": "reading.price IN (p.reading.price, 0.5)",
    "b.local > a.local AND b.local < '2026-01-01 00:03:00'": "local > p.local AND local < '2026-01-01 00:03:00'",
    "MAX(reading.price) > 1.5 AND SUM(reading.price) < 2.5": "greatest(reading.price, p.reading.price) > 1.5 AND "
    "coalesce(reading.price, 0) + coalesce(p.reading.price, 0) < 2.5",
}  # fmt: skip


def make_events(count: int = 300) -> pa.Table:
    chance = random.Random(7)

    def some(value: Any) -> Any:
        return value if chance.random() < 0.9 else None

    rows = []
    for number in range(count):
        moment = 1_767_225_600_000_000 + 1_000_000 * number
        price = some(Decimal(chance.choice([-3, 0, 1, 2, 50, 51, 100, 110, 111, 157, 200])).scaleb(-2))
        rows.append(
            {
                "ts": moment,
                "device": some(
                    {"id": some(chance.choice("xy")), "zone": some(Decimal(chance.randrange(2)).scaleb(-4))}
                ),
                "reading": some({"value": some(chance.randrange(4)), "price": price}),
                "tags": some([some(chance.choice("st"))]),
                "local": moment,
            }
        )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def repeat(events: pa.Table) -> pa.Table:
    """The events once for each condition, whose number is in q."""
    times = [events.append_column("q", pa.array([q] * len(events), pa.int32())) for q in range(len(CONDITIONS))]
    return pa.concat_tables(times).sort_by("ts")


def write_pattern() -> str:
    """Each event that fits, with the one before it of the same device."""
    condition = " OR ".join(f"(b.q = {q} AND ({text}))" for q, text in enumerate(CONDITIONS))
    return f"""SELECT q, id, zone, n, since, total, whole, first_tags FROM events MATCH_RECOGNIZE (
      PARTITION BY q, device.id, device.zone ORDER BY ts
      MEASURES b.ts AS n, a.ts AS since, SUM(reading.price) AS total, LAST(b.reading) AS whole, a.tags AS first_tags
      AFTER MATCH SKIP TO NEXT ROW PATTERN (a b) DEFINE b AS {condition})"""


def expect(spark: Any, events: pa.Table) -> Counter[str]:
    """What Spark's LAG says."""
    spark.createDataFrame(events).createOrReplaceTempView("nested_events")
    condition = " OR ".join(f"(q = {q} AND ({text}))" for q, text in enumerate(CONDITIONS.values()))
    parts = "array_compact(array(reading.price, p.reading.price))"
    total = f"aggregate({parts}, CAST(0 AS DECIMAL(20, 2)), (s, x) -> CAST(s + x AS DECIMAL(20, 2)))"
    rows = spark.sql(f"""SELECT q, device.id, device.zone, ts AS n, p.ts AS since,
      CASE WHEN size({parts}) > 0 THEN {total} END AS total, reading AS whole, p.tags AS first_tags
      FROM (SELECT *, lag(struct(ts, reading, tags, local)) OVER (
        PARTITION BY q, device.id, device.zone ORDER BY ts) AS p FROM nested_events)
      WHERE p IS NOT NULL AND ({condition})""")
    return Counter(map(str, rows.collect()))


def test_conditions_keys_and_measures_of_nested_values_mean_what_spark_says(spark: Any, tmp_path: Path) -> None:
    events = repeat(make_events())
    wanted = expect(spark, events)
    assert all(any(row.startswith(f"Row(q={number},") for row in wanted) for number in range(len(CONDITIONS)))
    rows = cep.sql(write_pattern(), events=spark.createDataFrame(events), key_groups=2)
    assert rows.schema["total"].dataType.simpleString() == "decimal(20,2)"
    assert Counter(map(str, rows.collect())) == wanted
    stream = FedStream(spark, tmp_path, events.schema)
    for begin in (0, 1500):
        stream.feed(events.slice(begin, 1500))
    stream.run(write_pattern(), lateness=timedelta(0))
    streamed = Counter(map(str, spark.read.parquet(str(tmp_path / "out")).collect()))
    unsettled = len(CONDITIONS)  # the last moment may still get events
    assert streamed in (wanted, expect(spark, events.slice(0, len(events) - unsettled)))


def test_windows_group_by_fields_and_decimals_and_add_them_as_spark_does(spark: Any) -> None:
    frame = spark.createDataFrame(make_events())
    frame.createOrReplaceTempView("nested_events")
    found = cep.sql(
        """SELECT device.id, reading.price AS price, device.zone AS zone, sum(reading.price) AS s,
          avg(reading.price) AS a, min(reading.price) AS m, count(*) AS c
          FROM ev [ORDER BY ts RANGE 1 MINUTE SLIDE 1 MINUTE]
          GROUP BY device.id, reading.price, device.zone""",
        ev=frame,
    )
    wanted = spark.sql(
        """SELECT device.id, reading.price AS price, device.zone AS zone, sum(reading.price) AS s,
          avg(reading.price) AS a, min(reading.price) AS m, count(*) AS c FROM nested_events
          GROUP BY window(ts, '1 minute'), device.id, reading.price, device.zone"""
    )
    assert found.dtypes == wanted.dtypes
    assert Counter(map(str, found.collect())) == Counter(map(str, wanted.collect()))


def test_means_of_decimals_are_rounded_once_as_spark_does(spark: Any) -> None:
    """Windows of one to twelve events, and a pattern over all of them, against Spark's own avg."""
    frame = spark.createDataFrame(make_means())
    frame.createOrReplaceTempView("nested_means")
    columns = ["p", "q", "w"]
    outputs = ", ".join(f"avg({column}) AS {column}" for column in columns)
    few = f"avg(p) FILTER (WHERE p > 0) AS f, {outputs.rpartition(', ')[0]}"  # windows have no decimals of 24 digits
    found = cep.sql(f"SELECT k, {few} FROM ev [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY k", ev=frame)
    wanted = spark.sql(f"SELECT k, {few} FROM nested_means GROUP BY k")
    assert found.dtypes == wanted.dtypes
    assert Counter(map(str, found.collect())) == Counter(map(str, wanted.collect()))
    found = cep.sql(
        f"SELECT * FROM ev MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {outputs} PATTERN (^ a+ $))", ev=frame
    )
    wanted = spark.sql(f"SELECT k, {outputs} FROM nested_means GROUP BY k")
    assert found.dtypes == wanted.dtypes
    assert Counter(map(str, found.collect())) == Counter(map(str, wanted.collect()))


def make_means() -> pa.Table:
    chance = random.Random(3)
    rows = []
    for key in range(200):
        for _ in range(1 + key % 12):
            row: dict[str, Any] = {"ts": len(rows), "k": key}
            for column, digits, scale in (("p", 10, 2), ("q", 18, 14), ("w", 24, 6)):
                value = chance.choice([None, 0, 1, -1, 5, chance.randrange(-(10**digits) + 1, 10**digits)])
                row[column] = None if value is None else Decimal(f"{value}E-{scale}")
            rows.append(row)
    types = {"p": pa.decimal128(10, 2), "q": pa.decimal128(18, 14), "w": pa.decimal128(24, 6)}
    schema = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("k", pa.int32()), *types.items()])
    return pa.Table.from_pylist(rows, schema=schema)
