"""What a dialect means: whole numbers, matches, functions, names; and how it is said."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import cepheid as cep
from cepheid.cli import app
from cepheid.errors import InvalidQuery
from cepheid.language.parsing.written_text import WrittenText, dialect_of

BEGIN = datetime(2026, 3, 8, 9, 0, 0)  # noqa: DTZ001 (times without a zone)
TABLE = pa.table({
    "ts": [BEGIN + timedelta(seconds=number) for number in range(6)],
    "upto": [BEGIN + timedelta(seconds=9 - number) for number in range(6)],
    "k": [1, 1, 2, 2, 1, 2],
    "v": [1, 2, 4, 7, 3, 9],
    "f": [1.5, -1.5, 2.5, 3.5, 0.5, 9.0],
    "s": ["a/b", "c", "", None, "x/y/z", "d"],
})  # fmt: skip


def run(query: str, dialect: Any, **more: Any) -> list[dict[str, Any]]:
    return cep.sql(query, s=TABLE, dialect=dialect, **more).to_pylist()  # type: ignore[no-any-return]


# --- whole numbers ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("dialect", "half", "mean", "cast"),
    [(None, 3.5, 13 / 3, 4), ("trino", 3, 13 / 3, 4), ("flink", 3, 4, 3), ("risingwave", 3, 13 / 3, 4),
     ("duckdb", 3.5, 13 / 3, 4), ("spark", 3.5, 13 / 3, 3)],
)  # fmt: skip
def test_whole_numbers_are_divided_as_the_dialect_has_it(dialect: Any, half: float, mean: float, cast: int) -> None:
    assert run("SELECT v / 2 AS x FROM s WHERE v = 7", dialect) == [{"x": half}]
    assert run("SELECT avg(v) AS x FROM s", dialect) == [{"x": mean}]
    assert run("SELECT CAST(f AS INT) AS x FROM s WHERE v = 7", dialect) == [{"x": cast}]
    assert run("SELECT f / 2 AS x FROM s WHERE v = 7", dialect) == [{"x": 1.75}]


@pytest.mark.parametrize("query", [
    "WITH t AS (SELECT v + 1 AS w, k FROM s) SELECT w / 2 AS x FROM t WHERE w = 8",
    "SELECT x FROM (SELECT total / 2 AS x FROM (SELECT k, sum(v) AS total FROM s GROUP BY k) WHERE k = 1)",
    "SELECT x FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES (a.v + b.v) / 2 AS x PATTERN (a b) DEFINE a AS a.v / 2 = 2)",
    "SELECT x FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES b.v AS x PATTERN (a b) DEFINE b AS b.v / PREV(b.v) = 1)",
    "SELECT count(*) / 2 AS x FROM s [ROWS 3 SLIDE 3] GROUP BY k",
    "SELECT a.v / b.v AS x FROM PATTERN SEQ(s a, s b) ORDER BY ts WHERE a.v / 2 = b.v / 2 AND a.k = b.k",
    "SELECT avg(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) / 2 AS x FROM s",
])  # fmt: skip
def test_division_finds_its_types_through_queries_and_patterns(query: str) -> None:
    rows = run(query, "flink", event_time={"s": "ts"})
    assert rows
    assert all(row["x"] == int(row["x"]) and not isinstance(row["x"], float) for row in rows)


HALF = "MATCH_RECOGNIZE (ORDER BY ts MEASURES a.v / 2 AS w, a.ts AS ts PATTERN (a) DEFINE a AS a.v = 7)"


@pytest.mark.parametrize("dialect", ["trino", "flink", "risingwave"])
@pytest.mark.parametrize(
    "query",
    [
        f"SELECT w / 2 AS x FROM s {HALF}",
        f"WITH r AS (SELECT w FROM s {HALF}) SELECT w / 2 AS x FROM r",
        f"WITH r AS (SELECT ts, 2 * v / 2 AS v FROM s) SELECT w / 2 AS x FROM r {HALF}",
        (f"SELECT 2 * y / 2 AS x FROM (SELECT * FROM s {HALF}) "
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES b.w / 2 AS y PATTERN (b))"),
    ],
)  # fmt: skip
def test_what_divides_a_measure_knows_that_it_was_divided(dialect: Any, query: str) -> None:
    assert run(query, dialect) == [{"x": 1}]


def test_division_by_zero_is_null() -> None:
    assert run("SELECT v / (v - 7) AS x FROM s WHERE v = 7", "flink") == [{"x": None}]


def test_large_whole_numbers_are_divided_exactly() -> None:
    table = pa.table({"v": [2**62 + 1]})
    assert cep.sql("SELECT v / 1 AS x FROM t", t=table, dialect="trino").to_pylist() == [{"x": 2**62 + 1}]


def test_a_division_of_unknown_types_is_refused() -> None:
    query = "SELECT (SELECT s.v) / 2 AS x FROM s"
    with pytest.raises(cep.CepheidError, match="which division is meant") as found:
        run(query, "trino")
    assert "CAST" in str(found.value.hint)


# --- matches ---------------------------------------------------------------------------------------------
def test_flink_goes_on_at_the_next_row_and_a_match_of_exactly_within_is_too_long() -> None:
    query = "SELECT x FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES a.v AS x PATTERN (a b c) {} DEFINE b AS true)"
    assert [row["x"] for row in run(query.format(""), None)] == [1, 7]
    assert [row["x"] for row in run(query.format(""), "flink")] == [1, 2, 4, 7]
    within = query.format("WITHIN INTERVAL '2' SECOND")
    assert [row["x"] for row in run(within, None)] == [1, 7]
    assert run(within, "flink") == []
    assert len(run(query.format("WITHIN INTERVAL '3' SECOND"), "flink")) == 4
    steps = "SELECT a.v AS x FROM PATTERN SEQ(s a NEXT s b NEXT s c) ORDER BY ts WITHIN INTERVAL '{}' SECOND"
    assert sorted(row["x"] for row in run(steps.format(2), None)) == [1, 2, 4, 7]
    assert run(steps.format(2), "flink") == []
    assert len(run(steps.format(3), "flink")) == 4
    past = query.replace("PATTERN", "AFTER MATCH SKIP PAST LAST ROW PATTERN").format("")
    assert [row["x"] for row in run(past, "flink")] == [1, 7]


def test_first_of_a_running_match_sees_in_trino_what_is_still_to_come() -> None:
    query = """SELECT m.v, m.x, m.y, m.z FROM s MATCH_RECOGNIZE (ORDER BY ts
        MEASURES RUNNING FIRST(v, 1) AS x, NEXT(FIRST(b.v)) AS y, LAST(b.v) AS z ALL ROWS PER MATCH
        PATTERN (a b c)) AS m"""
    first, second, third, *_ = [row["v"] for row in run(query, None)]
    standard, trino = ([tuple(row.values()) for row in run(query, dialect)[:3]] for dialect in (None, "trino"))
    assert standard == [(first, None, None, None), (second, second, third, second), (third, second, third, second)]
    assert trino == [(first, second, third, None), *standard[1:]]


@pytest.mark.parametrize("argument", ["v", "ts, v", "ts + INTERVAL '1' SECOND", "a.v"])
def test_match_rowtime_is_of_the_time_that_orders(argument: str) -> None:
    query = "SELECT at FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES MATCH_ROWTIME({}) AS at PATTERN (a))"
    assert run(query.format("ts"), "flink") == run(query.format(""), "flink")
    with pytest.raises(InvalidQuery, match='names first, "ts"'):
        run(query.format(argument), "flink")


def test_match_rowtime_is_the_time_of_the_last_row() -> None:
    query = (
        "SELECT at FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES MATCH_ROWTIME() AS at PATTERN (a b+) "
        "DEFINE b AS b.v > PREV(b.v) AND MATCH_ROWTIME() < TIMESTAMP '2026-03-08 09:00:03')"
    )
    assert run(query, None) == [{"at": BEGIN + timedelta(seconds=2)}]


# --- event time ------------------------------------------------------------------------------------------
def test_a_named_time_orders_windows_joins_and_sequences() -> None:
    window = "SELECT window_start, count(*) AS n FROM s [RANGE 3 SECONDS SLIDE 3 SECONDS]"
    assert [row["n"] for row in run(window, None, event_time={"s": "ts"})] == [3, 3]
    first = "SELECT v FROM s [ROWS 6 SLIDE 6] LIMIT 1"
    assert run(first, None, event_time={"s": "ts"}) == [{"v": 1}]
    assert run(first, None, event_time={"s": "upto"}) == [{"v": 9}]
    through = "SELECT window_start FROM (SELECT ts AS at, upto, v FROM s WHERE v > 0) [RANGE 9 SECONDS SLIDE 9 SECONDS]"
    opened = cep.open(through, s=TABLE.schema, event_time={"s": "ts"})
    assert len(opened.push(s=TABLE)) + len(opened.finish()) == 6


@pytest.mark.parametrize(
    ("named", "told"), [({"t": "ts"}, "no stream"), ({"s": "tss"}, 'no column "tss"'), ({"s": "s"}, "no time")]
)
def test_a_wrong_name_of_a_time_is_told(named: dict[str, str], told: str) -> None:
    with pytest.raises(cep.CepheidError, match=told):
        run("SELECT v FROM s", None, event_time=named)


NUMBERS = pa.table({"n": [1, 3, 9, 12, 13, 30], "k": [1, 1, 2, 1, 2, 1]})


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (
            "SELECT window_start AS a, window_end AS b, count(*) AS c FROM s [ORDER BY n RANGE 10 SLIDE 10]",
            [(0, 10, 3), (10, 20, 2), (30, 40, 1)],
        ),
        ("SELECT window_end AS a, count(*) AS b FROM s [ORDER BY n SESSION 3]", [(6, 2), (16, 3), (33, 1)]),
        (
            "FROM s MATCH_RECOGNIZE (ORDER BY n MEASURES a.n AS x, b.n AS y PATTERN (a b) WITHIN 3 DEFINE a AS n>0)",
            [(1, 3), (9, 12)],
        ),
        ("SELECT a.n AS x, b.n AS y FROM PATTERN SEQ(s a, s b) ORDER BY n WHERE a.k = b.k WITHIN 4", [(1, 3), (9, 13)]),
    ],
)
def test_event_time_may_be_a_whole_number(query: str, rows: list[tuple[int, ...]]) -> None:
    assert [tuple(row.values()) for row in cep.sql(query, s=NUMBERS).to_pylist()] == rows
    opened = cep.open(query, s=NUMBERS.schema)
    pushed = [opened.push(s=NUMBERS.slice(number, 1)) for number in range(len(NUMBERS))]
    found = pa.concat_tables([*pushed, opened.finish()]).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == rows


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT count(*) FROM s [ORDER BY ts RANGE 10]", "no unit of time"),
        ("SELECT count(*) FROM s [ORDER BY v RANGE 10 SECONDS]", "needs event time"),
        ("SELECT count(*) FROM s [ORDER BY v RANGE 10 SLIDE 5] OUTPUT EVERY 5 SECONDS", "OUTPUT EVERY needs time"),
        ("SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts PATTERN (a) WITHIN 5 DEFINE a AS true)", "has no unit"),
    ],
)
def test_numbers_and_times_are_not_mixed(query: str, told: str) -> None:
    with pytest.raises(cep.CepheidError, match=told) as found:
        run(query, None)
    assert found.value.hint


# --- functions and names ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("dialect", "query", "told"),
    [
        ("flink", "SELECT COLLECT(v) AS x FROM s", "COLLECT"),
        ("flink", "SELECT DATE_FORMAT(ts, 'QQ') AS x FROM s", '"QQ" in a format'),
        ("flink", "SELECT DATE_FORMAT(ts, s) AS x FROM s", "no literal"),
        ("flink", "SELECT SPLIT_INDEX(s, '/', v) AS x FROM s", "SPLIT_INDEX"),
        ("flink", "SELECT SPLIT_INDEX(s, '/') AS x FROM s", "3 arguments"),
        ("flink", "SELECT TO_TIMESTAMP_LTZ(v, 6) AS x FROM s", "this precision"),
        ("risingwave", "SELECT to_char(ts, 'Month') AS x FROM s", '"Month" in a format'),
        ("risingwave", "SELECT regexp_replace(s, 'a', 'b') AS x FROM s", "the first match only"),
        ("risingwave", "SELECT regexp_match(s, s) AS x FROM s", "literal pattern"),
        ("duckdb", "SELECT regexp_replace(s, 'a', 'b') AS x FROM s", "the first match only"),
        ("spark", "SELECT hash(v) AS x FROM s", "hash in this process"),
        ("spark", "SELECT time_bucket(INTERVAL '1' HOUR, ts) AS x FROM s", "time_bucket in this process"),
        ("trino", "SELECT format('%d', v) AS x FROM s", "Trino's format"),
        ("trino", "SELECT json_value(s, 'strict $.a') AS x FROM s", "this JSON_VALUE"),
        ("trino", "SELECT regexp_replace(s, 'a', s) AS x FROM s", "this regexp_replace"),
        ("trino", "SELECT regexp_replace(s, 'a', '${name}') AS x FROM s", "in regexp_replace"),
        ("risingwave", "SELECT s SIMILAR TO '[a_]+' AS x FROM s", "SIMILAR TO with this pattern"),
        ("risingwave", "SELECT substr(s, v, 2) AS x FROM s", "no number"),
        ("risingwave", "SELECT E'a\\x41' AS x FROM s", "in a text"),
        ("risingwave", "SELECT s LIKE 'a\\' AS x FROM s", "ends in an escape"),
        ("spark", "SELECT from_unixtime(v) AS x FROM s", "from_unixtime in this process"),
        ("trino", "SELECT split_part(s, '/', v) AS x FROM s", "split_part"),
    ],
)
def test_what_has_no_exact_counterpart_is_refused(dialect: Any, query: str, told: str) -> None:
    with pytest.raises(cep.CepheidError, match=told) as found:
        run(query, dialect)
    assert found.value.hint


def test_nulls_have_their_place_in_the_order() -> None:
    query = "SELECT s FROM s ORDER BY s LIMIT 1"
    assert run(query, None) == [{"s": ""}]
    assert run(query, "flink") == [{"s": None}]
    assert run(query, "spark") == [{"s": None}]
    assert run("SELECT s FROM s ORDER BY s DESC LIMIT 1", "risingwave") == [{"s": None}]


def test_two_outputs_of_one_name_get_numbers_in_flink() -> None:
    query = "SELECT a.v, b.v, a.v AS v0 FROM s a JOIN s b ON a.ts = b.ts"
    assert list(run(query, "flink")[0]) == ["v", "v0", "v00"]


WINDOW = "TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND))"


@pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning")
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (f"SELECT FIRST_VALUE(s), LAST_VALUE(t) FROM {WINDOW} GROUP BY window_start, window_end", [("a/b", "z")]),
        (f"SELECT LAST_VALUE(t) FILTER (WHERE t < 'z') FROM {WINDOW} GROUP BY window_start, window_end", [("y",)]),
        ("SELECT FIRST_VALUE(t) || LAST_VALUE(t) FROM s", [("yz",)]),
        ("SELECT k, LAST_VALUE(t) FROM s GROUP BY k ORDER BY k", [(1, None), (2, "z")]),
        ("SELECT LAST_VALUE(t) OVER (ORDER BY ts) FROM s", [(None,), (None,), ("y",), ("z",), ("z",), ("z",)]),
        ("SELECT FIRST_VALUE(t) OVER (ORDER BY ts ROWS 1 PRECEDING) FROM s",
         [(None,), (None,), ("y",), ("y",), ("z",), (None,)]),
    ],
)  # fmt: skip
def test_the_ends_of_groups_and_frames_are_not_null_in_flink(query: str, rows: list[tuple[object, ...]]) -> None:
    table = TABLE.append_column("t", pa.array([None, None, "y", "z", None, None], pa.string()))
    assert [tuple(row.values()) for row in cep.sql(query, s=table, dialect="flink").to_pylist()] == rows
    opened = cep.open(query, s=table.schema, dialect="flink", event_time={"s": "ts"}, emit="changes")
    there: list[tuple[object, ...]] = []
    for told in (*(opened.push(s=table.slice(row, 1)) for row in range(6)), opened.finish()):
        for change, _, _, *row in (tuple(each.values()) for each in told.to_pylist()):
            there.append(tuple(row)) if change == "insert" else there.remove(tuple(row))
    assert sorted(there, key=str) == sorted(rows, key=str)


def test_arguments_of_window_functions_may_have_quoted_names() -> None:
    arguments = (
        "DATA => TABLE s, TIMECOL => DESCRIPTOR(ts), `SIZE` => INTERVAL '4' SECOND, `OFFSET` => INTERVAL '1' SECOND"
    )
    query = f"SELECT v, window_start FROM TABLE(TUMBLE({arguments})) WHERE v > 3 ORDER BY v"
    starts = {row["v"]: (row["window_start"] - BEGIN).total_seconds() for row in run(query, "flink")}
    assert starts == {4: 1, 7: 1, 9: 5}


def test_a_text_keeps_its_dialect() -> None:
    text = WrittenText("SELECT 1", "flink")
    assert dialect_of(pickle.loads(pickle.dumps(text))) == "flink"
    assert text != WrittenText("SELECT 1", "trino")
    assert text == WrittenText("SELECT 1", "flink")


# --- how it is said --------------------------------------------------------------------------------------
def test_sessions_and_explain_take_a_dialect() -> None:
    with cep.Session(event_time={"s": "ts"}) as session:
        session.source("s", TABLE.schema)
        session.deploy("half", "SELECT v / 2 AS x FROM s WHERE v = 7", dialect="flink")
        assert session.push(s=TABLE)["half"].to_pylist() == [{"x": 3}]
        session.alter("half", "SELECT v / 2 AS x FROM s WHERE v = 7", dialect="duckdb")
        assert session.push(s=TABLE)["half"].to_pylist() == [{"x": 3.5}]
    told = cep.explain("SELECT v / 2 AS x FROM s", s=TABLE.schema, dialect="flink", event_time={"s": "ts"})
    assert "_INT_DIV" in told.upper()


def test_the_command_line_takes_a_dialect(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("v\n7\n")
    given = ["--table", f"s={tmp_path / 's.csv'}", "--json"]
    found = CliRunner().invoke(app, ["sql", "SELECT v / 2 AS x FROM s", *given, "--dialect", "flink"])
    assert found.stdout.strip() == '{"x": 3}', found.output
    found = CliRunner().invoke(app, ["sql", "SELECT v / 2 AS x FROM s", *given, "--dialect", "oracle"])
    assert found.exit_code == 2
    assert 'no dialect "oracle"' in found.stderr


def test_an_application_names_its_dialects_and_times(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("v,a,b\n7,2026-03-08 09:00:00,2026-03-08 08:00:00\n")
    (tmp_path / "app.toml").write_text(
        'dialect = "flink"\n[source.s]\npath = "s.csv"\ntime = "a"\n'
        '[query.cut]\nsql = "SELECT v / 2 AS x FROM s"\n'
        '[query.exact]\nsql = "SELECT v / 2 AS x FROM s"\ndialect = "duckdb"\n'
        '[query.ends]\nsql = "SELECT window_end AS x, count(*) AS n FROM s [RANGE 1 HOUR SLIDE 1 HOUR]"\n'
    )
    found = CliRunner().invoke(app, ["run", str(tmp_path / "app.toml"), "--json"])
    assert found.exit_code == 0, found.output
    assert '{"x": 3}' in found.stdout
    assert '{"x": 3.5}' in found.stdout
    assert "2026-03-08T10:00:00" in found.stdout.replace(" 10", "T10")


# --- names in WITH ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("dialect", ["trino", "flink", "risingwave"])
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("WITH s AS (SELECT ts, v / 2 AS v FROM s) SELECT v / 2 AS h FROM s WHERE v > 1", [(1,), (1,), (2,)]),
        ("WITH u AS (SELECT * FROM s), s AS (SELECT v / 2 AS v FROM u) SELECT v / 2 AS h FROM s WHERE v > 3", [(2,)]),
        (("WITH s AS (SELECT ts, v / 2 AS v FROM s) SELECT sum(v / 2) AS h FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), "
         "INTERVAL '10' SECOND)) GROUP BY window_start, window_end"), [(4,)]),
        (("WITH s AS (SELECT ts, v / 2 AS v FROM s) SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES a.v / 2 AS h "
         "PATTERN (a) DEFINE a AS a.v > 3)"), [(2,)]),
        (("WITH s AS (SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES a.v / 2 AS w PATTERN (a) "
         "DEFINE a AS a.v > 7)) SELECT w / 3 AS h FROM s"), [(1,)]),
        (("WITH s AS (SELECT *, PROCTIME() AS p FROM s) SELECT count(*) AS h FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(p), "
         "INTERVAL '10' SECOND)) GROUP BY window_start, window_end"), [(6,)]),
    ],
)  # fmt: skip
def test_a_part_of_with_may_have_the_name_of_the_table_that_it_reads(
    dialect: Any, query: str, rows: list[tuple[int, ...]]
) -> None:
    clock = cep.ManualClock(datetime(2026, 3, 8, tzinfo=UTC))
    given = {"dialect": dialect, "event_time": {"s": "ts"}, "clock": clock}
    assert [tuple(row.values()) for row in cep.sql(query, s=TABLE, **given).to_pylist()] == rows
    opened = cep.open(query, s=TABLE.schema, **given)
    told = pa.concat_tables([opened.push(s=TABLE.slice(0, 4)), opened.push(s=TABLE.slice(4)), opened.finish()])
    assert [tuple(row.values()) for row in told.to_pylist()] == rows
