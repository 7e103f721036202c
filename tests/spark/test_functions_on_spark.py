"""What Cepheid computes itself on Spark means what Spark SQL says: every function of the table, over edge values.

    pairs of edge values ─▶ Spark's own answer to each expression over (a, b), as a column of b
                        ─▶ one row pattern: DEFINE b AS (b.q = 0 AND <expression 0> <=> b.e0) OR (b.q = 1 AND ...
                        every pair must match for every expression

One job for each way a session may be set: zone (with a gap and an overlap of its clock) and ANSI mode.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cepheid as cep
from cepheid.errors import CepheidError, InvalidInput, NotSupportedYet
from cepheid.language.expressions.function_table import FUNCTIONS, list_names

sys.path.append(str(Path(__file__).parent))
from streams import FedStream

pytestmark = pytest.mark.spark

EDGES = """SELECT * FROM VALUES
  (0, CAST(NULL AS INT), CAST(NULL AS BIGINT), CAST(NULL AS DOUBLE), CAST(NULL AS STRING), NULL, NULL, NULL),
  (1, 0, 0L, 0.0D, '', '2026-03-08T06:59:59.999999Z', '2026-03-08', '1.50'),
  (2, 1, 1L, 1.0D, 'a', '2026-03-08T07:00:00Z', '2026-03-09', '0.00'),
  (3, -1, -1L, -1.0D, 'A_%', '2026-03-08T12:00:00Z', '1969-12-31', '-1.50'),
  (4, 2147483647, 9223372036854775807L, double('NaN'), 'ab\\\\%', '2026-11-01T05:30:00Z', '2026-11-01', '99999999.99'),
  (5, -2147483648, -9223372036854775807L - 1L, double('Infinity'), 'a%', '2026-11-01T06:30:00Z', '2026-11-02', '2'),
  (6, 7, 3037000500L, double('-Infinity'), 'é😀', '1969-12-31T23:59:59Z', '1970-01-01', '3'),
  (7, -46341, -3037000500L, -0.0D, 'ab', '2026-07-01T00:00:00Z', '2026-07-01', '10.01'),
  (8, 46341, 4294967296L, 0.1D, 'b', '2026-01-01T00:00:00Z', '2026-01-01', '-0.01'),
  (9, 100, -2L, 1e308D, ' ', '2026-03-07T19:00:00Z', '2026-03-07', '7.77')
  AS t(n, i, l, d, s, ts, dd, dec)"""
TYPED = """SELECT n, i, l, d, s, CAST(ts AS TIMESTAMP) AS ts, CAST(dd AS DATE) AS dd,
  CAST(dec AS DECIMAL(10, 2)) AS dec, CAST(CAST(ts AS TIMESTAMP) AS TIMESTAMP_NTZ) AS nt, i > 0 AS f FROM edges"""

# of two events: what stands here alone is in the table, or an operator
TWO = [
    "a.n + b.n", "a.n - b.n", "a.n * b.n", "(a.l DIV 4) + (b.l DIV 4)", "(a.l DIV 4) - (b.l DIV 4)",
    "(a.l % 3037000499) * (b.l % 3037000499)", "a.i + (b.l DIV 4)", "a.d + b.d",
    "a.d * b.i", "a.i / b.i", "a.d / b.d", "a.l % b.l", "a.d % b.d", "a.i DIV b.i", "-(a.n - b.n)",
    "a.i > b.l", "a.d >= b.d", "a.l < b.d", "a.d = b.d", "a.s < b.s", "a.s = b.s", "a.dec > b.i", "a.dec <= b.dec",
    "a.f = b.f", "a.f AND b.f", "a.f OR b.f", "NOT (a.f AND b.f)", "a.i <=> b.i", "a.d <=> b.d",
    "a.n - b.n > 0.5", "0.5 > greatest(a.l, b.l)", "a.i BETWEEN b.i AND 10", "a.i IN (b.i, 1, 7)",
    "CASE WHEN a.i > b.i THEN a.l ELSE b.i END", "if(a.d > b.d, a.d, b.i)",
    "coalesce(a.i, b.i, 5)", "nvl(a.s, b.s)", "ifnull(a.d, b.d)", "nullif(a.l, b.i)", "greatest(a.d, b.d)",
    "least(a.d, b.d)", "greatest(a.i, b.l)", "least(a.s, b.s)", "isnull(coalesce(a.i, b.i))",
    "isnotnull(coalesce(a.i, b.i))", "equal_null(a.i, b.i)", "abs(a.n - b.n)", "abs(a.d - b.d)",
    "abs(least(a.n - 5, b.n - 5))", "negative(least(a.n, b.n))", "mod(a.i, b.i)", "try_mod(a.i, b.i)",
    "try_add(a.i, b.i)", "try_subtract(a.i, b.i)", "try_multiply(a.i, b.i)", "try_divide(a.d, b.d)",
    "try_divide(a.l, b.l)", "sign(a.d - b.d)", "signum(greatest(a.i, b.i))",
    "isnan(a.d + b.d)", "sqrt(a.d + b.d)", "cbrt(a.d + b.d)", "exp(a.d - b.d)", "ln(a.d + b.d)", "log(a.d + b.d)",
    "log(2, a.d + b.d)", "log2(a.d + b.d)", "log10(a.d + b.d)", "power(a.d, b.d)", "pow(a.d, b.i)", "sin(a.d + b.i)",
    "cos(a.d + b.i)", "tan(a.d + b.i)", "asin(a.d * b.d)", "acos(a.d * b.d)", "atan(a.d + b.d)", "atan2(a.d, b.d)",
    "radians(a.d + b.d)", "degrees(a.d + b.d)",
    "a.dec + b.dec", "a.dec - b.dec", "a.dec * 1.1 - b.dec", "-(a.dec - b.dec)", "abs(a.dec - b.dec)", "a.dec - b.i",
    "a.dec - b.dec = 0.5", "coalesce(a.dec, b.dec)", "greatest(a.dec, b.i)", "if(a.dec > b.dec, a.dec, 1.125)",
    "nullif(a.dec, b.dec)", "a.dec <=> b.dec", "a.dec - b.dec > b.d", "a.dec + b.d", "a.dec BETWEEN b.dec AND b.i",
    "b.ts - a.ts", "b.dd - a.dd", "b.nt - a.nt", "b.ts > a.ts", "b.dd >= a.ts", "b.nt > a.ts", "b.nt < a.dd",
    "greatest(a.ts, b.ts) > '2026-03-08 02:30:00'", "least(a.ts, b.ts) < timestamp'2026-11-01 01:30:00'",
    "b.ts - a.ts > INTERVAL '1' DAY", "b.ts > a.ts + INTERVAL '1' DAY", "coalesce(a.ts, b.ts) = b.ts",
    # the parts about one event are Spark's
    "log(a.d) > log(b.d)", "upper(a.s) = upper(b.s)", "dayofweek(a.ts) = dayofweek(b.ts)",
    "hour(a.ts) - hour(b.ts)", "to_date(a.ts) = b.dd", "coalesce(a.n, 5) + coalesce(b.n, 7)",
    "xxhash64(a.i) > xxhash64(b.i)", "round(a.d, 1) < round(b.d, 0)",
]  # fmt: skip
# DuckDB is asked for these, which takes long
OF_TEXTS = ["concat(a.s, 'x', b.s)", "a.s || b.s", "startswith(a.s, b.s)", "endswith(a.s, b.s)", "contains(a.s, b.s)",
            "a.s LIKE concat(b.s, '%')"]  # fmt: skip
# what leaves 32 bits wraps around, not in ANSI mode
WRAPPED = ["a.i + b.i", "a.i - b.i", "a.i * b.i", "-(a.i - b.i)", "abs(a.i - b.i)", "negative(least(a.i, b.i))",
           "a.i - b.i > 0.5"]  # fmt: skip
# in ANSI mode Spark stops the query at a divisor of zero; over several events we say null
TRIED = {
    "a.i / b.i": "try_divide(a.i, b.i)", "a.d / b.d": "try_divide(a.d, b.d)",
    "a.l % b.l": "try_mod(a.l, b.l)", "a.d % b.d": "try_mod(a.d, b.d)", "mod(a.i, b.i)": "try_mod(a.i, b.i)",
    "a.i DIV b.i": "CASE WHEN b.i <> 0 THEN a.i DIV b.i END",
}  # fmt: skip
ROUNDED = tuple(name for function in FUNCTIONS if function.rounded for name in function.spark)

# of one event: Spark's, or the kernel's where they are plain
ONE = [
    "a.ts > '2026-03-08 02:30:00'", "a.ts >= timestamp'2026-11-01 01:30:00'", "a.ts = date'2026-03-08'",
    "a.dd = '2026-03-08'", "a.nt > '2026-03-08 02:30:00'", "dayofweek(a.ts) = 1",
    "date_add(a.ts, 1) > date'2026-03-08'",
    "regexp_extract(a.s, '(a)', 1) = 'a'", "split(a.s, '_')[0] = 'A'", "array(a.i, 5)[1] = 5", "a.s RLIKE '^a.$'",
    "cast(a.ts AS STRING) LIKE '%01:30%'", "log(a.d) > -1", "a.i <> 0 AND 10 / a.i > 2", "a.s = \"ab\"",
    "unix_timestamp(a.ts) % 2 = 0", "try_cast(a.s AS INT) IS NULL", "a.ts + INTERVAL '1' DAY > timestamp'2026-03-09'",
]  # fmt: skip
PLAIN = ["a.i > 0.5", "a.dec > 1.5", "a.l IS NULL", "a.d > 0", "a.s >= 'a' AND a.i > 0", "a.i IN (1, 7)", "NOT a.f"]
MEASURES = ["a.i / 2", "dayofweek(a.ts)", "log(a.d)", "cast(a.ts AS STRING)", "round(a.d, 1)", "split(a.s, '')[0]",
            "concat(a.s, 'it\\'s', \"a\\\"b'\", 'x\\\\y\\t', 'p' 'q')"]  # fmt: skip


@contextmanager
def session_set(spark: Any, zone: str, ansi: bool) -> Iterator[None]:
    wanted = {"spark.sql.session.timeZone": zone, "spark.sql.ansi.enabled": str(ansi).lower()}
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        spark.sql(EDGES).createOrReplaceTempView("edges")
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def make_pairs(spark: Any, texts: list[str], ansi: bool) -> Any:
    """Two events for each pair of edges and each expression, the second with Spark's answers."""
    answers = ", ".join(f"({TRIED.get(text, text) if ansi else text}) AS e{q}" for q, text in enumerate(texts))
    names = ", ".join(f"e{q}" for q in range(len(texts)))
    nothing = ", ".join(f"NULL AS e{q}" for q in range(len(texts)))
    return spark.sql(f"""
        WITH t AS ({TYPED}),
          joined AS (SELECT struct(a.*) AS a, struct(b.*) AS b FROM t AS a, t AS b),
          pairs AS (SELECT a.n * 100 + b.n AS p, a, b, {answers} FROM joined)
        SELECT q.id AS q, timestamp_micros(step) AS at, p, e.*, {names}
        FROM (SELECT 1 AS step, p, b AS e, {names} FROM pairs UNION ALL SELECT 0, p, a, {nothing} FROM pairs),
        range({len(texts)}) AS q""")


def hold_equal(text: str, q: int) -> str:
    call = re.fullmatch(r"(\w+)\([^()]*\)", text)
    if call and call[1] in ROUNDED:
        near = f"abs({text} - b.e{q}) <= 1e-13D * abs(b.e{q})"
        return f"(b.q = {q} AND ({text} <=> b.e{q} OR {near}))"
    return f"(b.q = {q} AND ({text}) <=> b.e{q})"


WAYS = [("UTC", True), ("America/New_York", False), ("Asia/Kolkata", True)]


def find_wrong(spark: Any, texts: list[str], ansi: bool) -> dict[str, list[int]]:
    """The pairs for which ours is another answer, by expression."""
    condition = " OR ".join(hold_equal(text, q) for q, text in enumerate(texts))
    found = cep.sql(
        "SELECT q, p FROM ev MATCH_RECOGNIZE (PARTITION BY q, p ORDER BY at MEASURES 1 AS one "
        f"PATTERN (a b) DEFINE b AS {condition})",
        ev=make_pairs(spark, texts, ansi),
        key_groups=2,
    ).collect()
    matched = {(row.q, row.p) for row in found}
    pairs = {100 * a + b for a in range(10) for b in range(10)}
    missed = {text: sorted(pairs - {p for q, p in matched if q == place}) for place, text in enumerate(texts)}
    return {text: wrong for text, wrong in missed.items() if wrong}


@pytest.mark.parametrize(("zone", "ansi"), WAYS)
def test_functions_of_several_events_mean_what_spark_says(spark: Any, zone: str, ansi: bool) -> None:
    with session_set(spark, zone, ansi):
        assert find_wrong(spark, TWO if ansi else TWO + WRAPPED, ansi) == {}


def test_functions_of_texts_of_several_events_mean_what_spark_says(spark: Any) -> None:
    with session_set(spark, "UTC", ansi=True):
        assert find_wrong(spark, OF_TEXTS, ansi=True) == {}


@pytest.mark.parametrize(("zone", "ansi"), WAYS)
def test_conditions_and_measures_of_one_event_mean_what_spark_says(spark: Any, zone: str, ansi: bool) -> None:
    with session_set(spark, zone, ansi):
        events = spark.sql(f"SELECT t.*, q.id AS q, timestamp_micros(n) AS at FROM ({TYPED}) t, range({len(ONE)}) AS q")
        events.createOrReplaceTempView("ev")
        outputs = ", ".join(f"{text} AS m{place}" for place, text in enumerate(MEASURES))
        for texts in (ONE, PLAIN):  # the kernel tests the second itself
            condition = " OR ".join(f"(a.q = {q} AND ({text}))" for q, text in enumerate(texts))
            found = cep.sql(
                "SELECT * FROM ev MATCH_RECOGNIZE (PARTITION BY q ORDER BY at "
                f"MEASURES a.n AS n, {outputs} PATTERN (a) DEFINE a AS {condition})",
                ev=events,
                key_groups=2,
            )
            expected = spark.sql(f"SELECT q, n, {outputs} FROM ev AS a WHERE {condition}")
            assert sorted(map(str, found.collect())) == sorted(map(str, expected.collect()))


def test_every_function_of_the_table_is_tried() -> None:
    told = " ".join(TWO + OF_TEXTS).lower()
    assert [name for name in list_names("spark") if f"{name}(" not in told and name != "iff"] == []


REFUSED = {
    "xxhash64(b.i, a.i) > 0": (NotSupportedYet, "XXHASH64 over several events"),
    "round(b.d - a.d, 1) = 2": (NotSupportedYet, "ROUND over several events"),
    "hash(b.s, a.s) = 1": (NotSupportedYet, "HASH over several events"),
    "b.dec * a.dec > 1": (CepheidError, "decimal"),
    "b.s = a.i": (CepheidError, "string and int32"),
    "b.ts > now()": (NotSupportedYet, "NOW() in a condition"),
    "explode(b.arr) = 1": (CepheidError, "generator"),
    "no_such_function(b.i) = 1": (CepheidError, "no_such_function"),
    "date_diff(b.ts, a.ts) > 1": (NotSupportedYet, "DATE_DIFF over several events"),
}


def test_what_is_not_proved_equal_is_refused_before_anything_runs(spark: Any) -> None:
    with session_set(spark, "America/New_York", ansi=True):
        frame = spark.sql(f"SELECT *, array(i) AS arr, timestamp_micros(n) AS at FROM ({TYPED})")
        for condition, (kind, told) in REFUSED.items():
            pattern = f"ORDER BY at MEASURES 1 AS one PATTERN (a b) DEFINE b AS {condition}"
            query = f"SELECT * FROM ev MATCH_RECOGNIZE ({pattern})"
            with pytest.raises(kind) as refused:
                cep.sql(query, ev=frame)
            assert told.lower() in str(refused.value).lower(), condition
            assert "-->" in str(refused.value), condition
            assert refused.value.hint, condition
        with pytest.raises(InvalidInput, match="times are in UTC"):
            cep.sql("SELECT n FROM ev", ev=frame, dialect="trino")
    with session_set(spark, "UTC", ansi=True), pytest.raises(NotSupportedYet, match="Trino's dialect on Spark"):
        cep.sql("SELECT day_of_week(ts) AS d FROM ev", ev=spark.sql(TYPED), dialect="trino")


def test_an_event_that_is_not_there_reads_as_nulls(spark: Any) -> None:
    with session_set(spark, "UTC", ansi=True):
        frame = spark.sql(f"SELECT *, timestamp_micros(n) AS at FROM ({TYPED}) WHERE n > 0")
        conditions = [
            "coalesce(PREV(b.i), 7) = 7", "concat_ws('-', PREV(b.s), 'x') = 'x'", "coalesce(PREV(b.dec), 5.5) > 5",
            "PREV(b.i) IS NULL", "PREV(upper(b.s)) IS NULL", "nvl2(PREV(b.d), false, true)",
        ]  # fmt: skip
        condition = " AND ".join(f"({text})" for text in conditions)
        pattern = f"ORDER BY at MEASURES b.n AS n PATTERN (b) DEFINE b AS {condition}"
        found = cep.sql(f"SELECT n FROM ev MATCH_RECOGNIZE ({pattern})", ev=frame).collect()
        assert [row.n for row in found] == [1]  # the first, before which there is none


@pytest.mark.essential
def test_doubled_quotes_are_what_the_session_takes_them_for_or_refused(spark: Any) -> None:
    frame = spark.sql("SELECT 1 AS n, timestamp_micros(1) AS at")
    query = """SELECT * FROM ev MATCH_RECOGNIZE (ORDER BY at MEASURES 'it''s' AS t, "a""b'" AS u PATTERN (a))"""
    said = spark.sql("""SELECT 'it''s' AS t, "a""b'" AS u""").collect()
    if said[0].t == "its":
        with pytest.raises(NotSupportedYet, match="two texts in a row"):
            cep.sql(query, ev=frame)
    else:
        assert cep.sql(query, ev=frame).select("t", "u").collect() == said


def test_whole_numbers_that_leave_their_type_stop_the_query(spark: Any) -> None:
    with session_set(spark, "UTC", ansi=True):
        frame = spark.sql(f"SELECT *, timestamp_micros(n) AS at FROM ({TYPED}) WHERE n > 0").coalesce(1)
        query = (
            "SELECT * FROM ev MATCH_RECOGNIZE (ORDER BY at MEASURES 1 AS one PATTERN (a b) DEFINE b AS b.i - a.i > 0)"
        )
        with pytest.raises(Exception, match="left the range"):
            cep.sql(query, ev=frame, key_groups=1).collect()


def test_functions_of_ones_own(spark: Any, tmp_path: Path) -> None:
    """Of one event by Spark, of several by workers, in both dialects and on a stream: as in this process."""

    def twice(x: pa.Array) -> pa.Array:
        return pc.multiply(x, 2)

    def near(x: pa.Array, y: pa.Array) -> pa.Array:
        return pc.less(pc.abs(pc.subtract(x, y)), 2)

    functions = {
        "twice": cep.Function(twice, takes=["bigint"], gives="bigint"),
        "near": cep.Function(near, takes=["bigint", "bigint"], gives="boolean"),
    }
    text = """SELECT v, twice(w) AS w FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES a.v AS v, twice(b.v) AS w
        PATTERN (a b) DEFINE a AS twice(a.v) > 2, b AS near(b.v, a.v)) WHERE twice(v) < 18"""
    times = pa.array([second * 1_000_000 for second in range(7)], pa.timestamp("us", "UTC"))
    events = pa.table({"v": pa.array([1, 2, 3, None, 9, 8, 100]), "ts": times})
    expected = [{"v": 2, "w": 12}]
    assert cep.sql(text, t=events, functions=functions).to_pylist() == expected
    frame = spark.createDataFrame(events)
    for dialect in ("spark", "trino"):
        assert cep.sql(text, t=frame, functions=functions, dialect=dialect).toArrow().to_pylist() == expected
    stream = FedStream(spark, tmp_path, events.schema)
    stream.feed(events)
    stream.run(text, "t", functions=functions, lateness=timedelta(0))
    assert stream.rows().to_pylist() == expected


OF_FLINK = (
    "LOWER(t)", "UPPER(t)", "REGEXP_EXTRACT(t, '([A-Z]+)/(\\d*)', 2)", "REGEXP(t, '^[a-z]')", "HOUR(ts)", "MINUTE(ts)",
    "SECOND(ts)", "SPLIT_INDEX(t, '/', 0)", "SPLIT_INDEX(t, '/', 1)", "SPLIT_INDEX(t, '//', 1)",
    "SPLIT_INDEX(t, 47, 2)", "TIMESTAMPDIFF(HOUR, ts, u)", "TIMESTAMPDIFF(MONTH, ts, u)", "TIMESTAMPDIFF(DAY, u, ts)",
    "DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm:ss')", "DATE_FORMAT(ts, 'HH.mm')", "7 / 2",
)  # fmt: skip


def test_functions_of_flink_give_what_they_give_in_this_process(spark: Any) -> None:
    texts = ["Ab/12", "xyz", "", None, "/", "a//b//c", "ÄÖ/7/x", "A/"]
    times = [datetime(2026, 1, 31, 23, 59, 1 + number) for number in range(len(texts))]  # noqa: DTZ001
    later = [time + timedelta(days=28 * number, seconds=-number) for number, time in enumerate(times)]
    events = pa.table({"ts": pa.array(times, pa.timestamp("us")), "u": pa.array(later, pa.timestamp("us")), "t": texts})
    query = f"SELECT {', '.join(f'{written} AS c{at}' for at, written in enumerate(OF_FLINK))} FROM s"
    found = cep.sql(query, dialect="flink", s=spark.createDataFrame(events).coalesce(1)).toArrow()
    expected = cep.sql(query, dialect="flink", s=events)
    for at, written in enumerate(OF_FLINK):
        assert found.column(at).to_pylist() == expected.column(at).to_pylist(), written


def test_what_flink_means_otherwise_is_refused(spark: Any) -> None:
    frame = spark.createDataFrame(pa.table({"ts": pa.array([0], pa.timestamp("us")), "t": ["x"]}))
    for written in ("DATE_FORMAT(ts, 'EEE')", "DATE_FORMAT(ts, '''at'' HH')", "FROM_UNIXTIME(5)", "TO_DATE(t, 'yyyy')"):
        with pytest.raises(NotSupportedYet, match="in Flink's dialect on Spark"):
            cep.sql(f"SELECT {written} AS x FROM s", dialect="flink", s=frame)
