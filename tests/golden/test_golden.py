"""A dropped-in text file is a test.  `make golden` renews what is expected; read the difference.

    matching/   query, events, rows      on both twins as a batch, and on three engines; as a continuous query one event
                                         at a time, and cut at random with a snapshot; on Spark in
                                         tests/spark/test_golden_on_spark.py
    rewrite/    query, plan              after rewriting; "= unchanged" where the rule of that name must not act
    explain/    query, explanation
    errors/     query, message

A file has cases, parted by "====".  A case has a title ("# ..."), settings ("name: value"), and parts, parted by
"----", of which the last is what we expect: rows, or "error: code".  In tables, "-" is null, and times are seconds
since 1970.

Settings of matching/: "not continuous: why" for what `cep.open` refuses; "updating: why" for rows that may always
change: a warning says that they come at the end, and as changes they are the same rows.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.compiler import compile_query
from cepheid.errors import CepheidError, MatchFailure, RowsAtTheEndWarning
from cepheid.execution.embedded.batch_host import run_batch
from cepheid.execution.embedded.relations import describe_sql
from cepheid.graph.attributes import Beliefs
from cepheid.graph.json_form import read_json, write_json
from cepheid.graph.render_text import render_text
from cepheid.language.catalog import Catalog
from cepheid.rewrite.rewriter import rewrite_graph
from cepheid.rewrite.rule_order import ALL_RULES
from cepheid.schema import read_schema

sys.path.append(str(Path(__file__).parent))
from golden_files import (
    HERE,
    Case,
    is_failure,
    list_files,
    read_cases,
    read_events,
    split_rows,
    write_cases,
    write_rows,
)

STREAMS = {
    "buses": {"ts": "timestamp", "bus": "int", "delay": "double", "line": "string"},
    "stops": {"ts": "timestamp", "bus": "int", "stop": "string"},
}
SCHEMAS = {name: read_schema(name, columns) for name, columns in STREAMS.items()}


def check_case(path: Path, number: int, found: str, update: bool) -> None:
    cases = read_cases(path)
    if update:
        cases[number] = replace(cases[number], expected=found)
        path.write_text(write_cases(cases))
    else:
        assert found == cases[number].expected, f"case {number + 1} of {path.relative_to(HERE)}"


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--golden-update"))


# --- matching --------------------------------------------------------------------------------------------


def list_arrivals(tables: dict[str, pa.Table]) -> list[dict[str, pa.Table]]:
    """The events one by one; those of several streams come in the order of their times."""
    arrivals = [(name, table.slice(row, 1)) for name, table in tables.items() for row in range(len(table))]
    if len(tables) > 1:
        arrivals.sort(key=lambda arrival: arrival[1].column("ts")[0].as_py())
    return [{name: event} for name, event in arrivals]


def cut_at_random(arrivals: list[dict[str, pa.Table]], random: Random) -> list[dict[str, pa.Table]]:
    """Some arrivals at a time; sometimes none."""
    batches: list[dict[str, pa.Table]] = []
    while arrivals:
        count = random.randint(0, 4)
        taken, arrivals = arrivals[:count], arrivals[count:]
        names = dict.fromkeys(name for arrival in taken for name in arrival)
        batches.append({name: pa.concat_tables([one[name] for one in taken if name in one]) for name in names})
    return batches


def run_continuously(
    case: Case,
    tables: dict[str, pa.Table],
    batches: list[dict[str, pa.Table]],
    resume_at: int | None = None,
    emit: str = "final",
) -> pa.Table:
    def start(snapshot: bytes | None = None) -> Any:
        schemas = {name: table.schema for name, table in tables.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.UnboundedStateWarning)
            if emit == "final" and "updating" in case.settings:
                with pytest.warns(RowsAtTheEndWarning):
                    return cep.open(case.query, snapshot=snapshot, emit=emit, **schemas)
            return cep.open(case.query, snapshot=snapshot, emit=emit, **schemas)

    query = start()
    parts = []
    for number, batch in enumerate(batches):
        if number == resume_at:
            query = start(query.snapshot())
        parts.append(query.push(**batch))
    return pa.concat_tables([*parts, query.finish()])


def sum_changes(changes: pa.Table) -> pa.Table:
    """The rows that are there after all changes."""
    there: Counter[int] = Counter()
    rows: list[tuple[object, ...]] = []
    plain = changes.drop_columns(["_change", "_match", "_version"])
    cells = zip(*(column.to_pylist() for column in plain.columns), strict=True)
    for change, row in zip(changes.column("_change").to_pylist(), cells, strict=True):
        if row not in rows:
            rows.append(row)
        there[rows.index(row)] += 1 if change == "insert" else -1
        assert there[rows.index(row)] >= 0, f"{row} goes before it came"
    left = [dict(zip(plain.column_names, rows[number], strict=True)) for number in there.elements()]
    return pa.Table.from_pylist(left, schema=plain.schema)


def check_rows(run: Callable[[], pa.Table], case: Case, told: str) -> None:
    if is_failure(case):
        with pytest.raises(MatchFailure):
            run()
    else:
        assert split_rows(write_rows(run())) == split_rows(case.expected), told


@pytest.mark.parametrize("path", list_files("matching"))
def test_matching(path: Path, update: bool) -> None:
    (case,) = read_cases(path)
    tables = read_events(case.events)
    compilation = compile_query(
        case.query, Catalog({name: table.schema for name, table in tables.items()}, describe_sql)
    )
    if update and not is_failure(case):
        check_case(path, 0, write_rows(run_batch(compilation.placed, tables)[0]["query"]), update)
        return
    check_rows(lambda: run_batch(compilation.placed, tables)[0]["query"], case, "compiled, as a batch")
    check_rows(
        lambda: run_batch(compilation.placed, tables, twin="reference")[0]["query"], case, "reference, as a batch"
    )
    check_rows(lambda: run_batch(compilation.placed, tables, engines=3)[0]["query"], case, "compiled, on three engines")
    arrivals = list_arrivals(tables)
    if "not continuous" in case.settings:
        with pytest.raises(CepheidError):
            run_continuously(case, tables, arrivals)
        return
    check_rows(lambda: run_continuously(case, tables, arrivals), case, "compiled, one event at a time")
    random = Random(path.stem)
    batches = cut_at_random(arrivals, random)
    resume_at = random.randint(0, len(batches))
    check_rows(lambda: run_continuously(case, tables, batches, resume_at), case, "compiled, cut and resumed")
    if "updating" in case.settings:
        check_rows(
            lambda: sum_changes(run_continuously(case, tables, batches, resume_at, "changes")), case, "as changes"
        )


# --- the rest --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", list_files("rewrite"))
def test_rewrite(path: Path, update: bool) -> None:
    """The file bears the name of the rule; the plan is that of all rules, "unchanged" that without this one."""
    for number, case in enumerate(read_cases(path)):
        bound = compile_query(case.query, Catalog(SCHEMAS, describe_sql)).bound
        without, _ = rewrite_graph(bound, tuple(rule for rule in ALL_RULES if rule.name != path.stem), Beliefs())
        after, _ = rewrite_graph(without, ALL_RULES, Beliefs())
        check_case(path, number, "= unchanged" if after == without else render_text(after), update)


@pytest.mark.parametrize("path", list_files("explain"))
def test_explain(path: Path, update: bool) -> None:
    for number, case in enumerate(read_cases(path)):
        found = cep.explain(case.query, **case.settings, **SCHEMAS)
        check_case(path, number, found, update)


@pytest.mark.parametrize("path", list_files("errors"))
def test_error(path: Path, update: bool) -> None:
    for number, case in enumerate(read_cases(path)):
        with pytest.raises(CepheidError) as caught:
            cep.sql(case.query, **{name: schema.empty_table() for name, schema in SCHEMAS.items()})
        check_case(path, number, str(caught.value), update)


@pytest.mark.parametrize("path", [*list_files("matching"), *list_files("rewrite"), *list_files("explain")])
def test_json_of_every_golden_query_reads_back_equal(path: Path) -> None:
    for case in read_cases(path):
        tables = read_events(case.events) if case.events else {}
        schemas = {name: table.schema for name, table in tables.items()} or SCHEMAS
        compilation = compile_query(case.query, Catalog(schemas, describe_sql))
        for graph in (compilation.bound, compilation.rewritten):
            assert read_json(write_json(graph)) == graph
