"""A script of SQL runs like an application: tables that are read are sources, those that are written are sinks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cepheid.application.read_script import read_script
from cepheid.cli import app
from cepheid.cli.run import open_session
from cepheid.errors import CepheidError
from cepheid.execution.endpoints import ENDPOINTS

BIDS = """{"auction": 1, "price": 10, "ts": "2026-03-08 08:00:01", "closes": "2026-03-08 09:00:00"}
{"auction": 2, "price": 30, "ts": "2026-03-08 08:00:04", "closes": "2026-03-08 09:00:00"}
{"auction": 1, "price": 25, "ts": "2026-03-08 08:00:03", "closes": "2026-03-08 09:00:00"}
{"auction": 1, "price": 40, "ts": "2026-03-08 08:00:12", "closes": "2026-03-08 09:00:00"}
{"auction": 2, "price": 45, "ts": "2026-03-08 08:00:14", "closes": "2026-03-08 09:00:00"}
"""
SCRIPT = """
-- what comes in
CREATE TEMPORARY TABLE bid (
  auction BIGINT,
  price INT,
  ts TIMESTAMP(3),
  closes TIMESTAMP(3) NOT NULL,
  WATERMARK FOR ts AS ts - INTERVAL '2' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'bids.jsonl', 'format' = 'json');

CREATE TABLE busy (id BIGINT, bids INT, ends TIMESTAMP(3)) WITH ('path' = 'busy.jsonl');
CREATE TABLE dear (auction BIGINT, price INT) WITH ('path' = 'dear.jsonl');

CREATE TEMPORARY VIEW half AS SELECT auction, price / 2 AS price, ts FROM bid;
CREATE VIEW high AS SELECT auction, price FROM half WHERE price >= 15;

EXECUTE STATEMENT SET BEGIN
  INSERT INTO busy
  SELECT auction, count(*), window_end
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end;
  INSERT INTO dear SELECT * FROM high;
END;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bids.jsonl").write_text(BIDS)
    return tmp_path


def read_lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_script_runs_from_its_tables_to_its_tables(folder: Path) -> None:
    (folder / "job.sql").write_text(SCRIPT)
    found = CliRunner().invoke(app, ["run", str(folder / "job.sql"), "--dialect", "flink", "--json"])
    assert found.exit_code == 0, found.output
    busy = sorted((row["id"], row["bids"], row["ends"]) for row in read_lines(folder / "busy.jsonl"))
    first, second = "2026-03-08T08:00:10", "2026-03-08T08:00:20"
    assert [(auction, bids, str(ends)[:19].replace(" ", "T")) for auction, bids, ends in busy] == [
        (1, 1, second),
        (1, 2, first),
        (2, 1, first),
        (2, 1, second),
    ]
    # whole numbers are divided as Flink does it
    assert sorted(map(str, read_lines(folder / "dear.jsonl"))) == sorted(
        map(str, [{"auction": 1, "price": 20}, {"auction": 2, "price": 15}, {"auction": 2, "price": 22}])
    )
    counted = json.loads(found.stdout.splitlines()[-1])
    assert (counted["rows of busy"], counted["rows of dear"], counted["late"]) == (4, 3, 0)


def test_a_query_alone_is_shown_and_the_script_names_its_dialect(folder: Path) -> None:
    (folder / "job.sql").write_text(
        "SET 'dialect' = 'risingwave';\n"
        "CREATE SOURCE bid WITH (path = 'bids.jsonl');\n"
        "SELECT auction, price::bigint / 4 AS quarter FROM bid WHERE price > 30;"
    )
    found = CliRunner().invoke(app, ["run", str(folder / "job.sql"), "--json"])
    assert found.exit_code == 0, found.output
    assert [json.loads(line) for line in found.stdout.splitlines()[:-1]] == [
        {"auction": 1, "quarter": 10},
        {"auction": 2, "quarter": 11},
    ]


def test_watermarks_name_the_time_of_events_and_how_late_they_come(folder: Path) -> None:
    (folder / "job.sql").write_text(SCRIPT)
    read = read_script(folder / "job.sql", ENDPOINTS, "flink")
    source = read.sources["bid"]
    assert (source.time, source.lateness.total_seconds()) == ("ts", 2.0)
    assert {name: query.sink for name, query in read.queries.items()} == {"busy": "busy.jsonl", "dear": "dear.jsonl"}


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("DROP TABLE t;", '"DROP" in a script'),
        ("CREATE TABLE t (a BIGINT) WITH ('path' = 'x.csv');", "has no query"),
        ("CREATE TABLE t (a BLOB2) WITH ('path' = 'x.csv'); SELECT * FROM t;", "the type BLOB2"),
        ("CREATE TABLE t (a BIGINT METADATA) WITH ('path' = 'x.csv'); SELECT * FROM t;", "of METADATA"),
        (
            "CREATE TABLE t (s STRING, a AS TO_TIMESTAMP(s), WATERMARK FOR a AS a) WITH ('path' = 'x.csv'); SELECT 1;",
            'the time "a", which is computed',
        ),
        ("CREATE TABLE t (a BIGINT) PARTITIONED BY (a) WITH ('path' = 'x.csv'); SELECT 1;", "PARTITIONED BY"),
        ("CREATE TABLE t (a BIGINT) WITH ('paht' = 'x.csv'); SELECT * FROM t;", 'the option "paht"'),
        ("CREATE TABLE t (a BIGINT) WITH ('connector' = 'jdbc'); SELECT * FROM t;", 'the connector "jdbc"'),
        ("CREATE TABLE t (a BIGINT); SELECT * FROM t;", "does not say where its rows are"),
        ("INSERT INTO t SELECT 1;", 'there is no table "t"'),
        ("SET 'parallelism.default' = '4'; SELECT 1;", 'the setting "parallelism.default"'),
        ("SET 'dialect' = 'oracle'; SELECT 1;", 'there is no dialect "oracle"'),
        ("CREATE VIEW v AS SELECT * FROM v; SELECT * FROM v;", "reads itself"),
        ("CREATE TABLE t (a BIGINT", 'expected ")"'),
        ("CREATE TABLE t (a INT, b INT) WITH ('path' = 'x.csv'); INSERT INTO t (b) SELECT 1;", "these columns behind"),
        ("CREATE FUNCTION f AS 'com.f';", "CREATE FUNCTION"),
    ],
)
def test_what_a_script_cannot_have_is_told_with_a_hint(folder: Path, script: str, told: str) -> None:
    (folder / "job.sql").write_text(script)
    with pytest.raises(CepheidError, match=told.replace("(", r"\(").replace(")", r"\)")) as found:
        read_script(folder / "job.sql", ENDPOINTS)
    assert found.value.hint


VIEWS = "CREATE VIEW v AS SELECT {} FROM bid -- all of them\n;\nCREATE VIEW w AS\n  SELECT * FROM v;\n"


@pytest.mark.parametrize(
    ("script", "code", "line", "marked"),
    [
        (VIEWS.format("*") + "SELECT auctoin FROM w;", "unknown-column", 6, "auctoin"),
        (VIEWS.format("auctoin") + "SELECT * FROM w;", "unknown-column", 2, "auctoin"),
        (VIEWS.format("*") + "WITH x AS (SELECT 1 AS a)\nSELECT price + FROM w;", "syntax", 7, "FROM"),
        (VIEWS.format("*") + "\n\nSELECT * FROM w MATCH_RECOGNIZE (PATTERN (a,b) DEFINE a AS true);", "syntax", 8, ","),
        ("\nSELECT upper(price, 1) AS x\nFROM bid;", "syntax", 3, ")"),
        ("SELEC * FROM bid;", "syntax", 2, "SELEC"),
        ("SET 'dialect' = 'flink';\nSELECT * FROM bid;\nSET 'dialect' = 'duckdb';", "not-supported-yet", 4, "SET"),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'jdbc', 'url' = 'x');\nSELECT * FROM t;", "not-supported-yet", 2,
         "CREATE TABLE t"),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'kafka');\nSELECT * FROM t;", "invalid-query", 2,
         "CREATE TABLE t"),
        ("INSERT bid SELECT * FROM bid;", "syntax", 2, "bid"),
        ("INSERT INTO bid;", "syntax", 2, "bid"),
        ("CREATE TABLE t (a) WITH ('path' = 'x.csv');\nSELECT * FROM t;", "syntax", 2, "a"),
        ("CREATE TABLE t (a INT) WITH ('path');\nSELECT * FROM t;", "syntax", 2, "'path'"),
        ("CREATE TABLE t (a TIMESTAMP, WATERMARK FOR a AS b) WITH ('path' = 'x.csv');\nSELECT * FROM t;",
         "not-supported-yet", 2, "WATERMARK FOR a AS b"),
        ("CREATE TABLE t (a TIMESTAMP, WATERMARK FOR a AS a - INTERVAL '5' SECNOD) WITH ('path' = 'x.csv');\nSELECT 1;",
         "syntax", 2, "WATERMARK"),
        ("CREATE TABLE t (a INT) WITH ('path' = 'x.csv', 'format' = 'avro');\nSELECT * FROM t;", "not-supported-yet", 2,
         "CREATE TABLE t"),
        ("CREATE VIEW v SELECT * FROM bid;", "syntax", 2, "SELECT"),
        ("CREATE SINK s FROM bid;", "not-supported-yet", 2, "CREATE SINK"),
        ("SELECT 'never closed FROM bid;", "syntax", None, ""),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place_in_the_script(
    folder: Path, script: str, code: str, line: int | None, marked: str
) -> None:
    text = f"CREATE TABLE bid WITH ('path' = 'bids.jsonl');\n{script}"
    (folder / "job.sql").write_text(text)
    with pytest.raises(CepheidError) as found:
        open_session(read_script(folder / "job.sql", ENDPOINTS), as_json=True)
    problem = found.value
    assert problem.code == code, str(problem)
    assert problem.hint
    assert problem.span is not None
    if line is not None:
        assert f"--> {folder / 'job.sql'}:{line}:" in str(problem)
        assert text[problem.span.start :].startswith(marked), str(problem)


def test_views_are_read_in_the_dialect_of_the_script(folder: Path) -> None:
    (folder / "job.sql").write_text(
        "SET 'dialect' = 'spark';\nCREATE TABLE bid WITH ('path' = 'bids.jsonl');\n"
        'CREATE VIEW v AS SELECT "it\'s; \\"x\\"" AS s, auction FROM bid WHERE auction = 1;\n'
        "SELECT DISTINCT s FROM (SELECT * FROM v) [ROWS 1];"
    )
    read = read_script(folder / "job.sql", ENDPOINTS)
    assert list(read.queries) == ["query_1"]
    assert '"it' in read.queries["query_1"].text


def test_a_table_with_other_columns_than_the_query_is_refused(folder: Path) -> None:
    (folder / "job.sql").write_text(
        "CREATE TABLE bid WITH ('path' = 'bids.jsonl'); CREATE TABLE t (a BIGINT) WITH ('path' = 't.jsonl');"
        "INSERT INTO t SELECT auction, price FROM bid;"
    )
    found = CliRunner().invoke(app, ["run", str(folder / "job.sql")])
    assert found.exit_code == 2
    assert "has 1 columns and the query 2" in found.stderr


def run_script(folder: Path, script: str) -> list[dict[str, object]]:
    (folder / "job.sql").write_text(script)
    done = CliRunner().invoke(app, ["run", str(folder / "job.sql"), "--dialect", "flink"])
    assert done.exit_code == 0, done.output
    return read_lines(folder / "out.jsonl")


BID = """
CREATE TABLE bid (auction BIGINT, price INT, ts TIMESTAMP(3){more}, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('path' = 'bids.jsonl');
CREATE TABLE spare (a INT) WITH ('connector' = 'print');
CREATE TABLE other (a INT) WITH ('path' = 'nowhere.csv');
CREATE TABLE out (auction BIGINT, price INT) WITH ('path' = 'out.jsonl');
"""


@pytest.mark.parametrize(
    ("more", "script"),
    [
        ("", "INSERT INTO out (auction, price) SELECT auction, price FROM bid WHERE price > 40;"),
        ("", "CREATE VIEW v (a, p) AS SELECT auction, price FROM bid; INSERT INTO out SELECT * FROM v WHERE p > 40;"),
        ("", ("CREATE VIEW price AS SELECT auction, price FROM bid;"
             "INSERT INTO out SELECT * FROM price WHERE price > 40;")),
        (", dear AS price > 40", "INSERT INTO out SELECT auction, price FROM bid WHERE dear;"),
        (", p AS PROCTIME(), up AS price + 1", "INSERT INTO out SELECT auction, price FROM bid WHERE up > 41;"),
        (", h AS price / 2",
         "CREATE VIEW v AS SELECT * FROM bid; INSERT INTO out SELECT auction, price FROM v WHERE h > 20;"),
        (", half AS price / 2", ("INSERT INTO out SELECT auction, half * 2 + 1 FROM bid MATCH_RECOGNIZE (ORDER BY ts "
         "MEASURES A.auction AS auction, A.half AS half PATTERN (A) DEFINE A AS A.half > 20);")),
    ],
)  # fmt: skip
def test_columns_are_computed_and_named(folder: Path, more: str, script: str) -> None:
    assert run_script(folder, BID.replace("{more}", more) + script) == [{"auction": 2, "price": 45}]


def test_views_may_have_the_names_of_rows_that_they_read(folder: Path) -> None:
    (folder / "events.jsonl").write_text(
        '{"kind": 0, "person": {"id": 1, "name": "x"}, "bid": null, "ts": "2026-01-01 00:00:00"}\n'
        '{"kind": 2, "person": null, "bid": {"auction": 7, "price": 3}, "ts": "2026-01-01 00:00:01"}\n'
    )
    script = """
    CREATE TABLE events (kind INT, person ROW<id BIGINT, name STRING>, bid ROW<auction BIGINT, price DECIMAL(10, 2)>,
      ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('path' = 'events.jsonl');
    CREATE VIEW person AS SELECT person.id, person.name, ts FROM events WHERE kind = 0;
    CREATE VIEW bid AS SELECT bid.auction, bid.price, ts FROM events WHERE kind = 2;
    CREATE TABLE out WITH ('path' = 'out.jsonl');
    INSERT INTO out SELECT auction, CAST(price AS INT) AS price FROM bid;
    """
    assert run_script(folder, script) == [{"auction": 7, "price": 3}]
