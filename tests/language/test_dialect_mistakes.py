"""Mistakes in queries that are written as in another system: the code, the place, the next step."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

SCHEMA = pa.schema([("ts", pa.timestamp("us")), ("v", pa.int64()), ("s", pa.string()), ("f", pa.float64())])
CALL = "write TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
ARGUMENTS = "too few, or too many"
CASES: list[tuple[str, str, str, str, str]] = [
    # Flink: windows
    ("flink", "SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(tss), INTERVAL '1' HOUR))", "unknown-column", "tss",
     'did you mean "ts"?'),
    ("flink", "SELECT * FROM TABLE(TUMBLE(TABLE tt, DESCRIPTOR(ts), INTERVAL '1' HOUR))", "unknown-stream", "tt",
     'did you mean "t"?'),
    ("flink", "SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts)))", "syntax",
     "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts)))", CALL),
    ("flink", "SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1'))", "syntax", ")",
     "INTERVAL '10' SECOND"),
    ("flink", "SELECT * FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '9' SECOND, INTERVAL '1' SECOND))",
     "invalid-window", "INTERVAL '9' SECOND", "swap the two"),
    ("flink", "SELECT * FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '9' SECOND, INTERVAL '3' SECOND))",
     "invalid-window", "INTERVAL '3' SECOND", "the step comes first"),
    ("flink", "SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '0' SECOND))", "invalid-window",
     "INTERVAL '0' SECOND", "INTERVAL '10' SECOND"),
    ("flink", "SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), SIZ => INTERVAL '1' HOUR))", "syntax", "SIZ", CALL),
    ("flink", "SELECT count(*) AS n FROM t GROUP BY TUMBLE(ts)", "not-supported-yet", "TUMBLE(ts",
     "GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)"),
    ("flink", "SELECT TUMBLE_END(ts, INTERVAL '5' HOUR) AS e FROM t GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)",
     "invalid-query", "TUMBLE_END(ts, INTERVAL '5'", "write the same arguments in both"),
    ("flink", "SELECT count(*) AS n FROM t GROUP BY TUMBLE(ts, INTERVAL '1' MONTH)", "syntax", "'1'",
     "count in days or weeks"),
    ("flink", "SELECT count(*) AS n FROM t GROUP BY TUMBLE(v, INTERVAL '1' HOUR)", "invalid-order",
     "TUMBLE(v, INTERVAL '1'", "order by a timestamp"),
    # Flink: functions
    ("flink", "SELECT UNIX_TIMESTAMP() AS x FROM t", "not-supported-yet", "UNIX_TIMESTAMP", "CAST(s AS TIMESTAMP)"),
    ("flink", "SELECT CURRENT_WATERMARK() AS x FROM t", "not-supported-yet", "CURRENT_WATERMARK", "no watermark"),
    ("flink", "SELECT SPLIT_INDEX(s, s, 1) AS x FROM t", "not-supported-yet", "SPLIT_INDEX",
     "SPLIT_INDEX(url, '/', 3)"),
    ("flink", "SELECT DATE_FORMAT(ts) AS x FROM t", "invalid-query", "ts", "as Flink has it"),
    ("flink", "SELECT DATE_FORMAT(ts, 'YYYY-MM') AS x FROM t", "not-supported-yet", "'YYYY-MM'", "there are yyyy"),
    ("flink", "SELECT TIMESTAMPADD(ts, 1, HOUR) AS x FROM t", "invalid-query", "ts", "Known: MICROSECOND"),
    ("flink", "SELECT TIMESTAMPDIFF(HUOR, ts, ts) AS x FROM t", "invalid-query", "HUOR", 'did you mean "HOUR"?'),
    ("flink", "SELECT FLOOR(ts TO FORTNIGHT) AS x FROM t", "invalid-query", "FLOOR", "Known: MICROSECOND"),
    ("flink", "SELECT CEIL(ts TO HOUR) AS x FROM t", "not-supported-yet", "ts", "FLOOR(ts TO HOUR)"),
    ("flink", "SELECT COLLECT(v) AS x FROM t", "not-supported-yet", "v", "ARRAY_AGG"),
    ("flink", "SELECT TO_TIMESTAMP_LTZ('2026', 3) AS x FROM t", "not-supported-yet", "'2026'", "TO_TIMESTAMP(s"),
    ("flink", "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES MATCH_PROCTIME() AS p PATTERN (a))",
     "not-supported-yet", "MATCH_PROCTIME", "MATCH_ROWTIME()"),
    # Spark
    ("spark", "SELECT date_format(ts) AS x FROM t", "invalid-query", "date_format", ARGUMENTS),
    ("spark", "SELECT date_format(ts, 'Q') AS x FROM t", "not-supported-yet", "'Q'", "there are yyyy"),
    ("spark", "SELECT from_json(s, 'a INT') AS x FROM t", "not-supported-yet", "s", "give Spark DataFrames"),
    ("spark", "SELECT count(*) AS n FROM t GROUP BY window(ts)", "not-supported-yet", "window(ts",
     "window(ts, '10 minutes')"),
    ("spark", "SELECT count(*) AS n FROM t GROUP BY window(ts, '10 minuts')", "syntax", "'10 minuts'",
     'did you mean "minutes"?'),
    ("spark", "SELECT count(*) AS n FROM t GROUP BY window(ts, 600)", "not-supported-yet", "600",
     "INTERVAL '10' SECOND"),
    ("spark", "SELECT count(*) AS n FROM t GROUP BY window(ts, '-5 minutes')", "invalid-window",
     "window(ts, '-5 minutes'", "INTERVAL '10' SECOND"),
    ("spark", "SELECT count(*) AS n FROM t GROUP BY session_window(ts, '5 minutes'), window(ts, '1 minute')",
     "not-supported-yet", "window(ts, '1 minute'", "group by one window"),
    ("spark", "SELECT ts AT TIME ZONE 'UTC' AS x FROM t, u", "invalid-query", "ts", "say which one"),
    # RisingWave
    ("risingwave", "SELECT `v` FROM t", "syntax", "`", 'quoted as "name"'),
    ("risingwave", "SELECT to_char(ts) AS x FROM t", "not-supported-yet", "ts", "to_char(ts, 'YYYY-MM-DD"),
    ("risingwave", "SELECT regexp_match(s) AS x FROM t", "not-supported-yet", "s", "regexp_match(s, '(a)(b)')"),
    ("risingwave", "SELECT v FROM TUMBLE(t, ts)", "syntax", "TUMBLE(t, ts)", CALL),
    ("risingwave", "SELECT v FROM TUMBLE(t, ts, '10 minutes'::text)", "syntax", "text", CALL),
    ("risingwave", "SELECT date_part(s, ts) AS x FROM t", "not-supported-yet", "s", "date_part('hour', ts)"),
    ("risingwave", "SELECT date_part('hour') AS x FROM t", "not-supported-yet", "'hour'", "date_part('hour', ts)"),
    # Trino
    ("trino", "SELECT split_part(s, '/') AS x FROM t", "invalid-query", "split_part", ARGUMENTS),
    ("trino", "SELECT date_diff('hour', ts) AS x FROM t", "invalid-query", "date_diff", ARGUMENTS),
    ("trino", "SELECT date_diff('hours2', ts, ts) AS x FROM t", "invalid-query", "'hours2'", "Known: MICROSECOND"),
    ("trino", "SELECT millisecond() AS x FROM t", "invalid-query", "millisecond", ARGUMENTS),
    ("trino", "SELECT e(1) AS x FROM t", "invalid-query", "e", ARGUMENTS),
    ("trino", "SELECT json_value(s) AS x FROM t", "syntax", ")", "json_extract_scalar"),
    ("trino", "SELECT format('%d', v) AS x FROM t", "not-supported-yet", "'%d'", "lpad"),
    ("trino", "SELECT v FROM t FOR TIMESTAMP AS OF TIMESTAMP '2026-01-01'", "not-supported-yet", "'2026-01-01'",
     "FOR SYSTEM_TIME AS OF a.ts"),
    # DuckDB
    ("duckdb", "SELECT `v` FROM t", "syntax", "`", 'quoted as "name"'),
    ("duckdb", "SELECT greatest() AS x FROM t", "invalid-query", "greatest", ARGUMENTS),
    ("duckdb", "SELECT dayofweek() AS x FROM t", "invalid-query", "dayofweek", ARGUMENTS),
    ("duckdb", "SELECT regexp_replace(s, 'a', 'b') AS x FROM t", "not-supported-yet", "s", "which replaces all"),
    ("duckdb", "SELECT v FROM 'file.parquet'", "unknown-stream", "'file.parquet'", "Known: t, u"),
    ("duckdb", "SUMMARIZE t", "syntax", "SUMMARIZE", "write SELECT"),
    ("duckdb", "SELECT t.v FROM t ASOF JOIN u ON t.v = u.v", "invalid-query", "u ON t.v = u.v", "a.ts >= b.ts"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "query", "code", "place", "hint"), CASES, ids=[case[1][:100] for case in CASES])
def test_mistake_is_told_with_code_place_and_next_step(
    dialect: Any, query: str, code: str, place: str, hint: str
) -> None:
    with pytest.raises(cep.CepheidError) as caught:
        cep.open(query, dialect=dialect, t=SCHEMA, u=SCHEMA)
    problem = caught.value
    assert problem.code == code, str(problem)
    assert problem.span is not None
    assert query[problem.span.start : problem.span.end] == place, str(problem)
    assert hint in (problem.hint or ""), str(problem)
