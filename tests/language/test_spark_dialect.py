"""Spark's dialect as text: functions are kept as they are written, since Spark itself says what they mean."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sqlglot import exp

from cepheid.errors import NotSupportedYet, SyntaxProblem
from cepheid.language.expressions.worker_sql import type_in_worker
from cepheid.language.parsing.doubled_quotes import check_doubled_quotes
from cepheid.language.parsing.parser import parse_query
from cepheid.language.relations.sql_values import read_value, write_sql

KEPT = {
    "log(x)": "LOG(x)",
    "dayofweek(ts)": "DAYOFWEEK(ts)",
    "date_add(ts, 1)": "DATE_ADD(ts, 1)",
    "regexp_extract(s, '(a)(\\\\d)', 2)": "REGEXP_EXTRACT(s, '(a)(\\\\d)', 2)",
    "arr[0]": "arr[0]",
    "split(s, ',')[0]": "SPLIT(s, ',')[0]",
    "array(1, 2)[1]": "ARRAY(1, 2)[1]",
    "map('a', 1)['a']": "MAP('a', 1)['a']",
    "x / y": "x / y",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY x DESC)": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x DESC)",
    "max(x, 2)": "MAX(x, 2)",
    "any(x > 1)": "ANY(x > 1)",
    "x = any(arr)": "x = ANY(arr)",
    "s LIKE ANY ('a', 'b')": "s LIKE ANY ('a', 'b')",
    "x DIV 2": "x DIV 2",
    '"text"': "'text'",
    "'it''s'": "'it\\'s'",
    "'a' 'b'": "CONCAT('a', 'b')",
    "s RLIKE 'a\\\\d'": "s RLIKE 'a\\\\d'",
    "TIMESTAMP '2026-01-01'": "CAST('2026-01-01' AS TIMESTAMP)",
    "CAST(x AS TIMESTAMP_NTZ)": "CAST(x AS TIMESTAMP_NTZ)",
    "1L": "CAST(1 AS BIGINT)",
    "INTERVAL 5 MINUTES": "INTERVAL '5' MINUTES",
    "filter(arr, v -> v > 1)": "FILTER(arr, v -> v > 1)",
    "listagg(s)": "LISTAGG(s)",
    "FIRST(x, 1)": "FIRST(x, 1)",
    "array_agg(x)": "COLLECT_LIST(x)",
    "substring(s FROM 2)": "SUBSTRING(s, 2)",
}


@pytest.mark.parametrize("written", KEPT)
def test_spark_is_told_what_is_written(written: str) -> None:
    parsed = parse_query(f"SELECT {written}", "spark")
    (output,) = parsed.relation.expressions
    told = write_sql(read_value(output), "spark", "spark")
    assert told.replace("`", "") == KEPT[written]


def test_patterns_are_read_in_spark_dialect() -> None:
    parsed = parse_query(
        "SELECT * FROM ev MATCH_RECOGNIZE (PARTITION BY `my key` ORDER BY ts MEASURES LAST(b.x, 1) AS m "
        'PATTERN (a b+ c?) DEFINE b AS b.s = "it\'s" AND log(b.x) > 1L) AS m',
        "spark",
    )
    (clause,) = parsed.clauses
    (definition,) = clause.definitions  # type: ignore[union-attr]
    assert definition.condition.find(exp.Anonymous).name == "log"


def test_what_spark_lacks_is_refused() -> None:
    with pytest.raises(SyntaxProblem, match="no AT TIME ZONE"):
        parse_query("SELECT ts AT TIME ZONE 'UTC' FROM ev", "spark")
    with pytest.raises(SyntaxProblem, match="never closed"):
        parse_query("SELECT 'it\\'s FROM ev", "spark")


SCHEMA = pa.schema([
    ("ts", pa.timestamp("us", "UTC")), ("i", pa.int32()), ("l", pa.int64()), ("d", pa.float64()), ("f", pa.float32()),
    ("s", pa.string()),
])  # fmt: skip
IN_WORKERS = {
    "i > 5": True, "i BETWEEN 1 AND l": True, "s = 'x'": True, "s IN ('x', 'y')": True, "d * 2.5 > i": True,
    "CAST(i AS DOUBLE) > d": True, "ts + INTERVAL '3' SECOND > ts": True, "l + 1 > 2": True,
    "NOT (i > 1 OR s IS NULL)": True,
    "CASE WHEN i > 1 THEN l ELSE l END = 3": True,
    "ts > '2026-01-01'": False, "ts + INTERVAL '3' DAY > ts": False, "upper(s) = 'X'": False, "s LIKE 'x'": False,
    "CAST(d AS INT) > 2": False, "f > 1.5": False, "d / 2 > 1": False, "s = i": False, "i > 0.5": False,
    "log(d) > 1": False,
}  # fmt: skip


@pytest.mark.parametrize("written", IN_WORKERS)
def test_workers_compute_only_what_is_the_same(written: str) -> None:
    (output,) = parse_query(f"SELECT {written}", "spark").relation.expressions
    found = type_in_worker(read_value(output), SCHEMA, ansi=True)
    assert (found is not None) == IN_WORKERS[written]


@pytest.mark.parametrize(
    ("text", "doubled"),
    [
        ("SELECT 'it''s' AS x", "'it''s'"),
        ('SELECT "a""b"', '"a""b"'),
        ("SELECT ''''", "''''"),
        ("SELECT '' || 'a' 'b' || \"a\" || \"\"", None),
        ("SELECT 'it\\'s' -- it''s", None),
        ("SELECT r'a\\' || `a``b` /* '' '' */", None),
    ],
)
def test_doubled_quotes_are_taken_where_the_session_takes_them(text: str, doubled: str | None) -> None:
    check_doubled_quotes(text, lambda: True)
    if doubled is None:
        check_doubled_quotes(text, lambda: False)
        return
    with pytest.raises(NotSupportedYet, match="two texts in a row") as found:
        check_doubled_quotes(text, lambda: False)
    span = found.value.span
    assert span is not None
    assert text[span.start : span.end] == doubled
