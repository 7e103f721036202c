"""The same words mean other things in other systems: each line is what that system gives for one row."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

SUNDAY = datetime(2026, 3, 8, 9, 5, 7, 123456)  # noqa: DTZ001 (times without a zone)
TABLE = pa.table({
    "ts": [SUNDAY],
    "d": [SUNDAY.date()],
    "i": pa.array([7], pa.int32()),
    "f": [2.5],
    "m": pa.array([Decimal("2.50")], pa.decimal128(10, 2)),
    "s": ["aXbXc"],
    "z": ["a_b%c\\d"],
    "n": pa.array([None], pa.int32()),
    "b": [True],
    "a": [[4, 5, 6]],
})  # fmt: skip
LINES: list[tuple[str | None, str, Any]] = [
    # patterns of LIKE
    ("trino", r"z LIKE 'a\_b%'", False), ("flink", r"z LIKE 'a\_b%'", False), ("duckdb", r"z LIKE 'a\_b%'", False),
    ("spark", r"z LIKE 'a\\_b%'", True), ("risingwave", r"z LIKE 'a\_b%'", True),
    ("spark", r"z NOT LIKE 'a\\%b%'", True), ("risingwave", r"z LIKE '%' || s", False),
    ("risingwave", r"z ILIKE 'A\_B%'", True), ("risingwave", "z LIKE 'a$_b$%%' ESCAPE '$'", True),
    ("flink", "s SIMILAR TO 'aX(b|c)%'", True), ("flink", "s SIMILAR TO 'a.*'", False),
    ("risingwave", "s NOT SIMILAR TO 'a%'", False), ("duckdb", "s SIMILAR TO 'a.*'", True),
    # places in texts
    ("trino", "substr(s, 0, 2)", ""), ("trino", "substr(s, -9)", ""), ("trino", "substr(s, i - 7)", ""),
    ("trino", "substr(s, -2)", "Xc"), ("flink", "SUBSTRING(s, 0, 2)", "aX"), ("flink", "SUBSTRING(s, i - 7, 2)", "aX"),
    ("spark", "substring(s, 0, 2)", "aX"), ("spark", "substr(s, -3, 2)", "bX"), ("duckdb", "substr(s, 0, 2)", "a"),
    ("risingwave", "substr(s, -1, 3)", "a"), ("risingwave", "substr(s, 0, 2)", "a"),
    ("risingwave", "substr(s, -1)", "aXbXc"), ("risingwave", "substring(s from 2 for 2)", "Xb"),
    ("risingwave", "left(s, -1)", "aXbX"), ("duckdb", "right(s, -1)", "XbXc"), ("duckdb", "left(s, 2)", "aX"),
    (None, "left(s, i - 9)", "aXb"), (None, "right(s, i - 9)", "bXc"), ("spark", "left(s, i - 9)", ""),
    # texts of a length
    ("trino", "CAST(s AS VARCHAR(2))", "aX"), ("flink", "CAST(s AS CHAR(7)) || '.'", "aXbXc  ."),
    ("risingwave", "s::varchar(2)", "aX"), ("spark", "CAST(s AS VARCHAR(2))", "aXbXc"),
    ("duckdb", "CAST(s AS VARCHAR(2))", "aXbXc"),
    # escapes in texts
    ("trino", r"'a\nb'", r"a\nb"), ("flink", r"'a\nb'", r"a\nb"), ("spark", r"'a\nb'", "a\nb"),
    ("risingwave", r"E'a\nb\\''c'", "a\nb\\'c"), ("duckdb", r"E'a\tb'", "a\tb"),
    # lists
    ("trino", "slice(a, 2, 2)", [5, 6]), ("trino", "slice(a, -2, 1)", [5]), ("trino", "slice(a, -9, 2)", []),
    ("trino", "slice(a, 3, 9)", [6]), ("duckdb", "list_slice(a, 2, 2)", [5]),
    ("trino", "array_position(a, 9)", 0), ("trino", "array_position(a, 6)", 3), ("trino", "array_position(a, n)", None),
    ("trino", "array_distinct(ARRAY[3, 1, NULL, 3, NULL])", [3, 1, None]),
    ("trino", "contains(ARRAY[1, NULL], 2)", None), ("trino", "contains(ARRAY[1, NULL], 1)", True),
    ("trino", "contains(a, 9)", False), ("trino", "contains(a, n)", None),
    ("trino", "array_max(ARRAY[1, NULL])", None), ("trino", "array_max(a)", 6), ("trino", "array_min(a)", 4),
    ("trino", "repeat('ab', 2)", ["ab", "ab"]), ("spark", "repeat('ab', 2)", "abab"),
    ("duckdb", "repeat('ab', 2)", "abab"),
    ("trino", "split(s, 'X', 2)", ["a", "bXc"]), ("trino", "split(s, 'X', 9)", ["a", "b", "c"]),
    ("trino", "split(s, 'X')", ["a", "b", "c"]), ("trino", "to_base(255, 16)", "ff"),
    # groups in what replaces a match
    ("trino", r"regexp_replace('k=7', '(\w)=(\d)', '$2-$1')", "7-k"),
    ("flink", r"REGEXP_REPLACE('k=7', '(\w)=(\d)', '$2\$')", "7$"),
    ("spark", r"regexp_replace('k=7', '(\\w)=(\\d)', '$2')", "7"),
    ("risingwave", r"regexp_replace('k=7', '(\w)=(\d)', '\2', 'g')", "7"),
    ("spark", r"regexp_extract('k=7', 'k=(\\d)')", "7"), ("spark", "regexp_extract('none', 'k=(.)', 1)", ""),
    # what sqlglot would say otherwise than DuckDB
    (None, "dayofweek(ts)", 0), (None, "xor(i, 2)", 5), ("duckdb", "range(2, i, 2)", [2, 4, 6]),
    ("duckdb", "round(jaro_winkler_similarity('Martha', 'marhta', 0.9), 2)", 0.0),
    ("duckdb", "epoch_ms(ts)", 1772960707123), ("duckdb", "list_has_any(a, [6, 7])", True),
    ("duckdb", "array_has_all(a, [4, 7])", False), ("duckdb", "list_reverse_sort(a)", [6, 5, 4]),
    # arrays and times of Spark
    ("spark", "coalesce(array_contains(array(1, n), 2), true)", True), ("spark", "array_contains(a, 9)", False),
    ("spark", "concat(a, array(7), a)", [4, 5, 6, 7, 4, 5, 6]), ("spark", "coalesce(concat(s, n), '?')", "?"),
    ("spark", "transform(a, x -> x + 1)", [5, 6, 7]),
    ("spark", "timestamp_seconds(1.25)", datetime(1970, 1, 1, 0, 0, 1, 250000)),  # noqa: DTZ001
    # days and seconds
    ("trino", "extract(DOW FROM ts)", 7), ("trino", "extract(DAY_OF_WEEK FROM d)", 7),
    ("flink", "EXTRACT(DOW FROM ts)", 1),
    ("spark", "extract(DAYOFWEEK FROM ts)", 1), ("spark", "dayofweek(ts)", 1), ("spark", "weekday(ts)", 6),
    ("risingwave", "extract(dow from ts)", 0), ("duckdb", "extract(dow FROM ts)", 0),
    ("spark", "extract(SECOND FROM ts)", Decimal("7.123456")), ("spark", "second(ts)", 7),
    ("risingwave", "extract(second from ts)", Decimal("7.123456")),
    ("risingwave", "extract(millisecond from ts)", Decimal("7123.456")),
    ("risingwave", "extract(year from ts) / 2", 1013.0), ("risingwave", "date_part('hour', ts) / 2", 4.5),
    ("trino", "millisecond(ts)", 123), ("duckdb", "millisecond(ts)", 7123),
    ("flink", "EXTRACT(EPOCH FROM ts)", 1772960707),
    ("trino", "extract(YOW FROM DATE '2027-01-01')", 2026),
    # dates stay dates
    ("trino", "d + INTERVAL '1' DAY", date(2026, 3, 9)), ("flink", "TIMESTAMPADD(DAY, 1, d)", date(2026, 3, 9)),
    ("trino", "date_add('month', 1, DATE '2026-01-31')", date(2026, 2, 28)),
    ("spark", "date_add(d, 1)", date(2026, 3, 9)),
    ("trino", "date_trunc('month', d)", date(2026, 3, 1)), ("spark", "d - INTERVAL 1 MONTH", date(2026, 2, 8)),
    ("risingwave", "d + INTERVAL '1 day'", datetime(2026, 3, 9)),  # noqa: DTZ001
    ("flink", "TIMESTAMPADD(HOUR, i, ts)", datetime(2026, 3, 8, 16, 5, 7, 123456)),  # noqa: DTZ001
    # casts
    ("trino", "CAST(f AS INTEGER)", 3), ("flink", "CAST(f AS INT)", 2), ("spark", "CAST(f AS INT)", 2),
    ("risingwave", "f::int", 2), ("duckdb", "f::INT", 2), ("trino", "CAST(m AS INTEGER)", 3),
    ("flink", "CAST(m AS INT)", 2),
    ("flink", "CAST('2.7' AS INT)", 2), ("spark", "CAST('2.7' AS INT)", None),
    ("trino", "TRY_CAST('2.7' AS INTEGER)", None),
    ("trino", "CAST('-7' AS INTEGER)", -7), ("risingwave", "' 7 '::int", 7),
    ("flink", "CAST(b AS STRING)", "TRUE"), ("trino", "CAST(b AS VARCHAR)", "true"),
    # doubles as texts
    ("trino", "CAST(f AS VARCHAR)", "2.5E0"), ("flink", "CAST(f AS STRING)", "2.5"),
    ("spark", "CAST(f AS STRING)", "2.5"),
    ("risingwave", "(f * 2)::varchar", "5"), ("duckdb", "(f * 2)::VARCHAR", "5.0"),
    ("spark", "CAST(f * 4e6 AS STRING)", "1.0E7"), ("flink", "CAST(f * -4.9382716e7 AS STRING)", "-1.2345679E8"),
    ("spark", "CAST(f / 2.5e4 AS STRING)", "1.0E-4"), ("spark", "CAST(f * 5e19 AS STRING)", "1.25E20"),
    ("trino", "CAST(f * 0 AS VARCHAR)", "0.0E0"), ("trino", "CAST(-f / 1e9 AS VARCHAR)", "-2.5E-9"),
    ("spark", "CAST(f * 0 AS STRING)", "0.0"), ("flink", "CAST(m AS STRING)", "2.50"),
    # quotients of decimals
    ("trino", "m / 3", Decimal("0.83")), ("trino", "1.0 / 3", Decimal("0.3")),
    ("spark", "1 / 3.0", Decimal("0.333333")),
    ("spark", "m / 3", Decimal("0.833333")), ("duckdb", "m / 4", 0.625), ("flink", "m / f", 1.0),
    # numbers
    ("spark", "floor(f)", 2), ("spark", "sign(i)", 1.0), ("spark", "pmod(-7, 3)", 2), ("spark", "ln(i - 7)", None),
    ("spark", "log(1)", 0.0), ("spark", "a[0]", 4), ("trino", "a[1]", 4), ("flink", "a[1]", 4),
    ("risingwave", "a[1]", 4),
    ("duckdb", "a[1]", 4), ("risingwave", "to_hex(255)", "ff"), ("spark", "contains(s, 'X')", True),
    # JSON
    ("trino", """json_value('{"a": "1"}', 'lax $.a')""", "1"), ("flink", """JSON_VALUE('{"a": "1"}', '$.a')""", "1"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "written", "value"), LINES, ids=[f"{each[0]}: {each[1]}" for each in LINES])
def test_meaning_in_the_dialect(dialect: Any, written: str, value: Any) -> None:
    """Over tables and over streams."""
    query, named = f"SELECT {written} AS x FROM t", {"t": "ts"}
    (row,) = cep.sql(query, t=TABLE, dialect=dialect, event_time=named).to_pylist()
    assert row["x"] == value
    assert isinstance(row["x"], type(value)) or isinstance(value, int)
    opened = cep.open(query, t=TABLE.schema, dialect=dialect, event_time=named)
    assert pa.concat_tables([opened.push(t=TABLE), opened.finish()]).to_pylist() == [row]


@pytest.mark.parametrize(("dialect", "written"), [("trino", "CAST(v AS INTEGER)"), ("risingwave", "v::int")])
def test_a_text_that_is_no_whole_number_is_not_rounded(dialect: Any, written: str) -> None:
    with pytest.raises(cep.CepheidError):
        cep.sql(f"SELECT {written} AS x FROM t", t=pa.table({"v": ["2.7"]}), dialect=dialect)


def test_the_meaning_holds_in_patterns_too() -> None:
    table = pa.table({"ts": [SUNDAY, SUNDAY.replace(second=8)], "s": ["a_c", "abc"], "v": [7, 2]})
    query = (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES a.v / b.v AS q, substr(a.s, 0, 2) AS h "
        r"PATTERN (a b) DEFINE a AS a.s LIKE 'a\_%', b AS extract(dow from b.ts) = 0 AND b.s NOT LIKE 'a\_%')"
    )
    assert cep.sql(query, t=table, dialect="risingwave").to_pylist() == [{"q": 3, "h": "a"}]


@pytest.mark.parametrize("dialect", ["trino", "flink"])
def test_the_number_of_a_match_is_divided_as_a_whole_number(dialect: Any) -> None:
    query = (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY n MEASURES MATCH_NUMBER() / 2 AS half, "
        "sum(MATCH_NUMBER() / 2) AS total AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (a) DEFINE a AS (MATCH_NUMBER() + 1) / 2 >= 1)"
    )
    rows = cep.sql(query, t=pa.table({"n": [1, 2, 3]}), dialect=dialect).to_pylist()
    assert [(row["half"], row["total"]) for row in rows] == [(0, 0), (1, 1), (1, 1)]


ROWS = pa.table({
    "k": [1, 1, 1, 1],
    "v": [None, 4, 1, None],
    "at": [3, 1, 2, 4],
    "s": ["b", None, "a", "c"],
    "m": pa.array([Decimal("0.10"), None, Decimal("0.25"), None], pa.decimal128(9, 2)),
    "b": pa.array([None, None, None, None], pa.bool_()),
})  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "call", "value"),
    [
        (None, "last(v ORDER BY at)", None), (None, "last(s ORDER BY at)", "c"),
        (None, "first(s ORDER BY s DESC)", "c"), (None, "count_if(b)", 0), (None, "median(m)", 0.175),
        (None, "quantile_cont(m, 0.5)", 0.175), (None, "percentile_cont(0.5) WITHIN GROUP (ORDER BY m)", 0.175),
        (None, "max_by(s, v)", None), (None, "min_by(v, at)", 4), ("spark", "max_by(s, v)", None),
        ("duckdb", "max_by(s, v)", "a"), ("duckdb", "max_by(s, at) FILTER (WHERE at < 4)", "b"),
        (None, "listagg(s) WITHIN GROUP (ORDER BY at)", "abc"), (None, "string_agg(s)", "b,a,c"),
        ("trino", "listagg(s)", "bac"), ("flink", "LISTAGG(s)", "b,a,c"), ("duckdb", "listagg(s)", "b,a,c"),
        (None, "percentile_cont(0.5) WITHIN GROUP (ORDER BY v)", 2.5), (None, "quantile(at, 0.5)", 2),
        (None, "percentile_disc(0.25) WITHIN GROUP (ORDER BY at DESC)", 4),
        ("trino", "percentile_cont(0.5) WITHIN GROUP (ORDER BY v)", 2.5),
        ("risingwave", "percentile_cont(0.25) WITHIN GROUP (ORDER BY at)", 1.75), ("duckdb", "max(at, 2)", [4, 3]),
        ("duckdb", "last(s)", "c"), ("duckdb", "quantile(at, 0.9)", 4),
        ("spark", "last(s)", "c"), ("spark", "coalesce(last(v), 0)", 0), ("spark", "last(v, true)", 1),
        ("spark", "first(v, true)", 4), ("spark", "first(s, false)", "b"),
        ("spark", "listagg(s) WITHIN GROUP (ORDER BY at)", "abc"), ("spark", "string_agg(s, '-')", "b-a-c"),
    ],
)  # fmt: skip
def test_aggregates_of_whole_tables_mean_what_they_say(dialect: Any, call: str, value: Any) -> None:
    query = f"SELECT {call} AS x FROM t GROUP BY k"
    assert cep.sql(query, t=ROWS, dialect=dialect).to_pylist() == [{"x": value}]


@pytest.mark.parametrize(
    ("dialect", "call", "value"),
    [
        (None, "avg(a.m)", 0.175), (None, "median(a.m)", 0.175), (None, "max_by(a.s, a.v)", None),
        ("duckdb", "max_by(a.s, a.v)", "a"), (None, "count_if(a.b)", 0), (None, "string_agg(a.s)", "a,b,c"),
        ("trino", "listagg(a.s)", "abc"), ("flink", "LISTAGG(a.s)", "a,b,c"),
    ],
)  # fmt: skip
def test_aggregates_of_the_rows_of_a_match_mean_the_same(dialect: Any, call: str, value: Any) -> None:
    clause = f"ORDER BY at MEASURES {call} AS x AFTER MATCH SKIP PAST LAST ROW PATTERN (a+) DEFINE a AS a.at > 0"
    assert cep.sql(f"SELECT x FROM t MATCH_RECOGNIZE ({clause})", t=ROWS, dialect=dialect).to_pylist() == [{"x": value}]


@pytest.mark.parametrize("dialect", [None, "trino", "spark", "risingwave", "duckdb"])
def test_the_second_argument_of_last_is_an_offset_in_patterns(dialect: Any) -> None:
    query = (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(a.at, 1) AS x PATTERN (a+) DEFINE a AS a.at > 0)"
    )
    assert cep.sql(query, t=ROWS, dialect=dialect).to_pylist() == [{"x": 3}]


def test_an_index_in_transform_of_spark_is_refused() -> None:
    with pytest.raises(cep.CepheidError, match="transform"):
        cep.sql("SELECT transform(a, (x, i) -> x + i) AS x FROM t", t=TABLE, dialect="spark")
