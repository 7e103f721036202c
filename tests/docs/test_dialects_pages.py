"""Each example of the pages about dialects is executed, with the dialect of its page."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import cepheid as cep
from cepheid.cli import app

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "nexmark"))
import nexmark_streams  # noqa: E402

PAGES = sorted((ROOT / "docs/reference/dialects").glob("*.md"))
ONE = pa.table({"one": [1]})
BIDS = nexmark_streams.make_tables(nexmark_streams.make_rows(events=200))["bid"]
SQL = re.compile(r"```sql\n(.*?)```", re.DOTALL)
BLOCKS = [(page.stem, block) for page in PAGES for block in SQL.findall(page.read_text())]
ROW = re.compile(r"^\| `(?P<written>[^|]+)` \| `(?P<gives>[^|]*)` \|", re.MULTILINE)
VALUES = [(page.stem, row["written"], row["gives"]) for page in PAGES for row in ROW.finditer(page.read_text())]


def test_there_is_a_page_for_each_dialect() -> None:
    assert {page.stem for page in PAGES} == {"trino", "flink", "risingwave", "duckdb", "spark"}
    assert {dialect for dialect, _ in BLOCKS} == {page.stem for page in PAGES}


@pytest.mark.parametrize("dialect", [page.stem for page in PAGES])
def test_expressions_give_what_the_page_says(dialect: str) -> None:
    rows = [(written, gives) for of, written, gives in VALUES if of == dialect]
    assert len(rows) > 4
    for written, gives in rows:
        (found,) = cep.sql(f"SELECT {written} AS x FROM one", dialect=dialect, one=ONE).to_pylist()
        assert str(found["x"]) == gives, written


@pytest.mark.parametrize(("dialect", "query"), BLOCKS)
def test_queries_run_over_tables_and_as_streams(dialect: str, query: str) -> None:
    whole = cep.sql(query, dialect=dialect, bid=BIDS)
    assert len(whole)
    opened = cep.open(query, dialect=dialect, bid=BIDS.schema)
    rows = pa.concat_tables([opened.push(bid=BIDS.slice(0, 70)), opened.push(bid=BIDS.slice(70)), opened.finish()])
    assert sorted(map(str, rows.to_pylist())) == sorted(map(str, whole.to_pylist()))


def test_the_script_of_the_page_runs(tmp_path: Path) -> None:
    (script,) = re.findall(r"```script\n(.*?)```", (ROOT / "docs/reference/dialects.md").read_text(), re.DOTALL)
    rows = [{"auction": n % 2, "bidder": n, "price": 10 * n, "ts": f"2026-03-08 08:00:0{n}"} for n in range(6)]
    (tmp_path / "bids.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "job.sql").write_text(script)
    found = CliRunner().invoke(app, ["run", str(tmp_path / "job.sql"), "--json"])
    assert found.exit_code == 0, found.output
    written = [json.loads(line) for line in (tmp_path / "busy.jsonl").read_text().splitlines()]
    assert sorted(map(str, written)) == ["{'auction': 0, 'bids': 1}", "{'auction': 1, 'bids': 2}"]


def test_the_table_of_what_differs_is_right() -> None:
    text = (ROOT / "docs/reference/dialects.md").read_text()
    columns = ["default", "trino", "flink", "risingwave", "duckdb", "spark"]
    lines = [line for line in text.splitlines() if re.match(r"\| `[^`]+`( \(.*\))? (\|[^|]+){6}\|", line)]
    tried = [line for line in lines if not line.startswith(("| `WITHIN", "| `MATCH_RECOGNIZE`"))]
    assert len(tried) > 12
    for line in tried:
        written, *told = (cell.strip() for cell in line.strip("|").split("|"))
        for dialect, gives in zip(columns, told, strict=True):
            assert give(written.split("`")[1], dialect) == gives, (written, dialect)


def give(written: str, dialect: str) -> str:
    try:
        chosen = None if dialect == "default" else dialect
        (found,) = cep.sql(f"SELECT {written} AS x FROM one", dialect=chosen, one=ONE).to_pylist()  # type: ignore[arg-type]
    except cep.CepheidError as problem:
        return "refused" if problem.code == "not-supported-yet" else "error"
    return str(found["x"]).replace("None", "null") or "empty"
