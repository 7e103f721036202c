"""Decimals are added, compared and kept exactly: the answers of DuckDB, and of Python's Decimal, over random values."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import MatchFailure

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


# --- over random values ----------------------------------------------------------------------------------
EDGES = ["0", "0.01", "-0.01", "0.10", "0.11", "1.00", "1.10", "1.21", "99999999.99", "-99999999.99", "7"]
WIDE = ["0", "0.0000000001", "12345678901234567890.0000000001", "12345678901234567890.0000000002", "-3"]


def make_prices(seed: int, count: int = 60) -> pa.Table:
    chance = random.Random(seed)

    def some(options: list[str]) -> Decimal | None:
        return Decimal(chance.choice(options)) if chance.random() < 0.9 else None

    return pa.table(
        {
            "ts": pa.array(range(count), pa.timestamp("us")),
            "n": pa.array(range(count), pa.int64()),
            "k": pa.array([chance.choice([0, 1, 7]) for _ in range(count)], pa.int32()),
            "p": pa.array([some(EDGES) for _ in range(count)], pa.decimal128(10, 2)),
            "r": pa.array([some(["0.1", "1.1", "1.5", "-1"]) for _ in range(count)], pa.decimal128(3, 1)),
            "w": pa.array([some(WIDE) for _ in range(count)], pa.decimal128(38, 10)),
        }
    )


CONDITIONS = [
    "b.p > a.p", "b.p = a.p", "b.p <> a.p", "b.p >= a.p * 1.1", "b.p - a.p = 0.01", "b.p + a.r < 1.21", "b.p > a.k",
    "b.p < a.r", "-b.p = a.p", "b.p * a.r > 1", "b.p BETWEEN a.p AND a.p + 0.1", "b.p IN (a.p, 0.01)", "2 * b.p = a.p",
]  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_of_several_events_are_those_of_duckdb(condition: str) -> None:
    events = make_prices(1)
    pairs = "SELECT a.n AS x, b.n AS y FROM ev AS a, ev AS b WHERE {} AND " + condition + " ORDER BY 1, 2"
    order = [("x", "ascending"), ("y", "ascending")]
    next_to = cep.sql(
        f"""SELECT * FROM ev MATCH_RECOGNIZE (ORDER BY ts MEASURES a.n AS x, b.n AS y
          AFTER MATCH SKIP TO NEXT ROW PATTERN (a b) DEFINE b AS {condition})""",
        ev=events,
    )
    assert next_to.sort_by(order).equals(cep.sql(pairs.format("b.n = a.n + 1"), ev=events))
    apart = cep.sql(
        f"""SELECT a.n AS x, b.n AS y FROM PATTERN SEQ(ev a, ev b) WHERE {condition} WITHIN INTERVAL '1' SECOND
          STRATEGY skip_till_any""",
        ev=events,
    )
    assert apart.sort_by(order).equals(cep.sql(pairs.format("b.n > a.n"), ev=events))


@pytest.mark.parametrize("column", ["p", "w", "r"])
def test_decimals_are_keys(column: str) -> None:
    """Two decimals are one key where they are equal: in patterns, sequences and windows."""
    events = make_prices(2)
    first = cep.sql(
        f"""SELECT * FROM ev MATCH_RECOGNIZE (PARTITION BY {column} ORDER BY ts MEASURES a.n AS x, b.n AS y
          AFTER MATCH SKIP TO NEXT ROW PATTERN (a b))""",
        ev=events,
    )
    lagged = f"SELECT {column}, lag(n) OVER (PARTITION BY {column} ORDER BY ts) AS x, n AS y FROM ev"
    wanted = cep.sql(f"SELECT * FROM ({lagged}) WHERE x IS NOT NULL ORDER BY y", ev=events)
    assert first.sort_by("y").equals(wanted)
    grouped = cep.sql(f"SELECT {column}, count(*) AS c FROM ev [ROWS 60 SLIDE 60] GROUP BY {column}", ev=events)
    assert count(grouped) == count(cep.sql(f"SELECT {column}, count(*) AS c FROM ev GROUP BY {column}", ev=events))
    joined = cep.sql(
        f"SELECT a.n AS x, b.n AS y FROM ev [ROWS 99] AS a, ev [ROWS 99] AS b WHERE a.{column} = b.{column}", ev=events
    )
    pairs = f"SELECT a.n AS x, b.n AS y FROM ev AS a, ev AS b WHERE a.{column} = b.{column}"
    assert count(joined) == count(cep.sql(pairs, ev=events))
    found = cep.sql(
        f"""SELECT a.n AS x, b.n AS y FROM PATTERN SEQ(ev a, ev b) WHERE a.{column} = b.{column}
          WITHIN INTERVAL '1' SECOND STRATEGY skip_till_any""",
        ev=events,
    )
    assert count(found) == count(cep.sql(pairs + " AND a.n < b.n", ev=events))


def test_a_sum_beyond_38_digits_stops_the_query() -> None:
    """Arrow's own would wrap around."""
    wide = pa.array([Decimal(9 * 10**37)] * 2, pa.decimal128(38, 0))
    events = pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "w": wide})
    text = "SELECT * FROM ev MATCH_RECOGNIZE (ORDER BY ts MEASURES sum(w) AS s PATTERN (a b))"
    with pytest.raises(MatchFailure, match="does not fit 38 digits"):
        cep.sql(text, ev=events)


def count(rows: pa.Table) -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = {}
    for row in rows.to_pylist():
        found[tuple(row.values())] = found.get(tuple(row.values()), 0) + 1
    return found
