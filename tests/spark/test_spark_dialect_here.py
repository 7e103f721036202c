"""dialect="spark" in this process says what Spark itself says, row by row, over edge values; and queries in other
dialects give over DataFrames what they give here, or are refused."""

from __future__ import annotations

import math
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

sys.path.append(str(Path(__file__).parents[1] / "language"))
import test_dialect_meaning as meaning

pytestmark = pytest.mark.spark
ROWS = """SELECT n, CAST(ts AS TIMESTAMP_NTZ) AS ts, CAST(d AS DATE) AS d, i, l, f, s, CAST(m AS DECIMAL(10, 2)) AS m,
  b, a FROM VALUES
  (1, '2026-03-08 09:05:07.123456', '2026-03-08', 7, 5000000000L, 2.5D, 'aXbXc', '2.50', true, array(4, 5, 6)),
  (2, '1969-12-31 23:59:59.999999', '1969-12-31', -7, -1L, -2.5D, 'a_b%c', '-0.01', false, array(1)),
  (3, '2024-02-29 00:00:00', '2024-02-29', 0, 0L, 0.0D, '', '0.00', true, CAST(array() AS ARRAY<INT>)),
  (4, NULL, NULL, CAST(NULL AS INT), NULL, NULL, NULL, NULL, NULL, NULL),
  (5, '2026-12-31 12:30:45.5', '2026-12-31', 2147483647, 1L, 1.25e17D, ' é ', '99999999.99', false, array(9, 8)),
  (6, '2027-01-01 00:00:00.000001', '2027-01-01', 3, 2L, 1.5e-7D, 'k=7', '0.33', true, array(0, 2))
  AS t(n, ts, d, i, l, f, s, m, b, a)"""
WRITTEN = r"""
i / 2
i div 2
i % 3
pmod(i, 3)
m / 3
m / i
i / 3.0
floor(f)
ceil(i)
sign(i)
round(m)
round(m, 1)
ln(i)
log2(i)
log10(i)
sqrt(abs(i))
nvl(i, -1)
nvl2(i, 'x', 'y')
isnull(s)
isnotnull(s)
greatest(i, 3)
least(i, l)
if(b, i, 0)
CAST(f / 1e17D AS INT)
CAST(m AS INT)
CAST(f AS STRING)
CAST(m AS STRING)
CAST(b AS STRING)
CAST(i AS STRING)
CAST(d AS STRING)
TRY_CAST(s AS INT)
s LIKE 'a\\_b%'
s LIKE 'a_b%'
s RLIKE 'X.'
substring(s, 0, 2)
substring(s, -2)
substr(s, 2, 2)
left(s, 2)
right(s, 2)
lpad(s, 4, '*')
rpad(s, 4, '*')
ltrim(s)
trim(s)
length(s)
upper(s)
reverse(s)
repeat(s, 2)
instr(s, 'X')
locate('X', s)
contains(s, 'X')
startswith(s, 'a')
concat(s, '!')
concat_ws('-', s, 'x')
s || '!'
replace(s, 'X', '-')
translate(s, 'aX', 'b')
split_part(s, 'X', 2)
regexp_extract(s, '(.)=(.)')
regexp_extract(s, '(.)=(.)', 2)
regexp_replace(s, '(.)=(.)', '$2$1')
ascii(s)
dayofweek(d)
weekday(d)
dayofmonth(d)
dayofyear(d)
weekofyear(d)
year(d)
quarter(ts)
hour(ts)
second(ts)
extract(DOW FROM ts)
extract(DAYOFWEEK_ISO FROM ts)
extract(SECOND FROM ts)
extract(WEEK FROM d)
extract(YEAROFWEEK FROM d)
date_part('minute', ts)
date_add(d, 1)
date_sub(d, 1)
datediff(d, DATE '2026-01-01')
d + INTERVAL 1 MONTH
ts + INTERVAL '1:30' HOUR TO MINUTE
last_day(d)
date_format(ts, 'yyyy-MM-dd HH:mm:ss.SSS')
date_format(ts, 'EEE d MMM hh a')
date_trunc('week', ts)
timestampdiff(HOUR, TIMESTAMP_NTZ '2026-01-01 00:00:00', ts)
a[0]
array_size(a)
array_max(a)
array_contains(a, 5)
array(i, 2)[1]
CASE WHEN i > 2 THEN 'x' ELSE 'y' END
i <=> 7
"""
LINES = [line for line in WRITTEN.strip().splitlines() if line]


def plain(value: Any) -> Any:
    """Without what both may choose: zones, and the digit in which libraries differ."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else float(f"{value:.13g}")
    return float(value) if isinstance(value, Decimal) else value


def test_expressions_are_spark_s_own(spark: Any) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        frame = spark.sql(ROWS)
        frame.createOrReplaceTempView("t_here")
        outputs = ", ".join(f"{written} AS x{number}" for number, written in enumerate(LINES))
        theirs = [row.asDict() for row in spark.sql(f"SELECT n, {outputs} FROM t_here ORDER BY n").collect()]
        rows = [row.asDict() for row in frame.orderBy("n").collect()]
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    schema = pa.schema([
        ("n", pa.int32()), ("ts", pa.timestamp("us")), ("d", pa.date32()), ("i", pa.int32()), ("l", pa.int64()),
        ("f", pa.float64()), ("s", pa.string()), ("m", pa.decimal128(10, 2)), ("b", pa.bool_()),
        ("a", pa.list_(pa.int32())),
    ])  # fmt: skip
    table = pa.Table.from_pylist(rows, schema=schema)
    wrong = []
    for number, written in enumerate(LINES):
        query = f"SELECT n, {written} AS x FROM t ORDER BY n"
        ours = cep.sql(query, t=table, dialect="spark", event_time={"t": "ts"}).column("x").to_pylist()
        wanted = [row[f"x{number}"] for row in theirs]
        if list(map(plain, ours)) != list(map(plain, wanted)):
            wrong.append((written, ours, wanted))
    assert wrong == []


FRAME = r"""SELECT TIMESTAMP_NTZ'2026-03-08 09:05:07.123456' AS ts, DATE'2026-03-08' AS d, 7 AS i, 2.5D AS f,
  CAST(2.5 AS DECIMAL(10, 2)) AS m, 'aXbXc' AS s, 'a_b%c\\d' AS z, CAST(NULL AS INT) AS n,
  true AS b, array(4L, 5L, 6L) AS a"""


def test_other_dialects_mean_the_same_over_dataframes_or_are_refused(spark: Any) -> None:
    frame = spark.sql(FRAME)
    found, wrong = 0, []
    others = [line for line in meaning.LINES if line[0] not in (None, "spark")]  # without one, DataFrames have Spark's
    for dialect, written, value in others:
        query = f"SELECT {written} AS x FROM t"
        try:
            rows = cep.sql(query, t=frame, dialect=dialect, event_time={"t": "ts"})  # type: ignore[arg-type]
        except cep.CepheidError:
            continue
        found += 1
        (row,) = rows.collect()
        if row["x"] != value:
            wrong.append((dialect, written, row["x"], value))
    assert wrong == []
    assert found > 10


def test_a_pattern_of_like_from_a_column_is_refused_over_dataframes(spark: Any) -> None:
    with pytest.raises(cep.CepheidError, match="no literal") as caught:
        cep.sql("SELECT z LIKE s AS x FROM t", t=spark.sql(FRAME), dialect="flink")
    assert "ESCAPE" in str(caught.value.hint)
