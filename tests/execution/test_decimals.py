"""Decimals are added, compared and kept exactly: the answers of DuckDB, and of Python's Decimal, over random values."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

import cepheid as cep

PRICES = [Decimal("1.10"), Decimal("1.22"), None, Decimal("-3.05")]
EVENTS = pa.table(
    {
        "ts": pa.array(range(len(PRICES)), pa.timestamp("us")),
        "price": pa.array(PRICES, pa.decimal128(10, 2)),
        "units": pa.array([5, 7, None, 1], pa.decimal128(6, 0)),
    }
)


def test_aggregates_over_a_stream_put_the_point_back() -> None:
    text = "SELECT sum(price) OVER (ORDER BY ts) AS s, max(price) OVER (ORDER BY ts) AS m FROM ev"
    query = cep.open(text, ev=EVENTS.schema)
    rows = pa.concat_tables([query.push(ev=EVENTS), query.finish()])
    assert rows.schema.types == [pa.decimal128(20, 2), pa.decimal128(10, 2)]
    assert rows["s"].to_pylist() == [Decimal("1.10"), Decimal("2.32"), Decimal("2.32"), Decimal("-0.73")]
    assert rows["m"].to_pylist() == [Decimal("1.10"), *[Decimal("1.22")] * 3]


def test_aggregates_of_decimals_in_windows_have_room_for_sums_and_keep_the_type_of_values() -> None:
    text = "SELECT sum(price) AS s, min(price) AS m, sum(units) AS u, last(units) AS l FROM ev [ROWS 4 SLIDE 4]"
    rows = cep.sql(text, ev=EVENTS)
    assert rows.schema.types == [pa.decimal128(20, 2), pa.decimal128(10, 2), pa.decimal128(16, 0), pa.decimal128(6, 0)]
    assert rows.to_pylist() == [{"s": Decimal("-0.73"), "m": Decimal("-3.05"), "u": Decimal(13), "l": Decimal(1)}]
