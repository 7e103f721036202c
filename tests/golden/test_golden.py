"""A dropped-in text file is a test.  `make golden` renews what is expected; read the difference.

    matching/   query, events, rows      on both twins as a batch, and as a continuous query one event at a time
    rewrite/    query, plan              after rewriting; "= unchanged" where the rule of that name must not act
    explain/    query, explanation
    errors/     query, message

A file has cases, parted by "====".  A case has a title ("# ..."), settings ("name: value"), and parts, parted by
"----", of which the last is what we expect.  In tables, "-" is null, and times are seconds since 1970.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.compiler import compile_query
from cepheid.errors import CepheidError
from cepheid.execution.embedded.batch import run_batch
from cepheid.execution.embedded.relations import describe_sql
from cepheid.graph.json_form import read_json, write_json
from cepheid.graph.render_text import render_text
from cepheid.rewrite.rewriter import rewrite_graph
from cepheid.rewrite.rule_order import CARRYING_RULES
from cepheid.schema import TYPE_NAMES, read_schema

HERE = Path(__file__).parent
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (times without a zone, as in the tables)
STREAMS = {
    "buses": {"ts": "timestamp", "bus": "int", "delay": "double", "line": "string"},
    "stops": {"ts": "timestamp", "bus": "int", "stop": "string"},
}
SCHEMAS = {name: read_schema(name, columns) for name, columns in STREAMS.items()}


@dataclass(frozen=True)
class Case:
    """What one case asks; `head` is kept as written."""

    head: str
    settings: dict[str, str]
    query: str
    events: str
    expected: str


def read_cases(path: Path) -> list[Case]:
    return [read_case(part) for part in path.read_text().split("\n====\n")]


def read_case(text: str) -> Case:
    first, *events, expected = [part.strip("\n") for part in f"{text}\n".split("\n----\n")]
    lines = first.splitlines()
    length = next(number for number, line in enumerate(lines) if not line.startswith("#") and ": " not in line)
    settings = dict(line.split(": ", 1) for line in lines[:length] if not line.startswith("#"))
    return Case("\n".join(lines[:length]), settings, "\n".join(lines[length:]), "\n----\n".join(events), expected)


def write_cases(cases: list[Case]) -> str:
    parts = [
        [f"{case.head}\n{case.query}".lstrip(), *([case.events] if case.events else []), case.expected]
        for case in cases
    ]
    return "\n====\n".join("\n----\n".join(part) for part in parts) + "\n"


def list_files(folder: str) -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted((HERE / folder).glob("*.txt"))]


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


def read_events(text: str) -> dict[str, pa.Table]:
    """Tables, each under a line "name: column type | column type"."""
    tables: dict[str, pa.Table] = {}
    for block in text.split("\n\n"):
        head, *rows = block.splitlines()
        name, columns = head.split(":", 1)
        typed = [column.rsplit(maxsplit=1) for column in columns.split("|")]
        cells = [[cell.strip() for cell in row.split("|")] for row in rows]
        tables[name] = pa.table(
            {
                column.strip(): pa.array([read_cell(row[number], kind) for row in cells], read_type(kind))
                for number, (column, kind) in enumerate(typed)
            }
        )
    return tables


def read_type(kind: str) -> pa.DataType:
    special = {"decimal": pa.decimal128(10, 2), "dictionary": pa.dictionary(pa.int32(), pa.string())}
    return special.get(kind) or TYPE_NAMES[kind]


def read_cell(text: str, kind: str) -> Any:
    if text == "-":
        return None
    match kind:
        case "timestamp":
            return EPOCH + timedelta(seconds=float(text))
        case "date":
            return (EPOCH + timedelta(days=int(text))).date()
        case "bool":
            return text == "true"
        case "decimal":
            return Decimal(text)
        case "double" | "float":
            return float(text)
    return int(text) if "int" in kind else text


def write_rows(table: pa.Table) -> str:
    rows = [table.column_names, *([write_cell(cell) for cell in row.values()] for row in table.to_pylist())]
    widths = [max(len(row[number]) for row in rows) for number in range(table.num_columns)]
    return "\n".join(
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def write_cell(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case datetime():
            return f"{(value - EPOCH).total_seconds():g}"
        case timedelta() | pa.MonthDayNano():
            return f"{value.nanoseconds / 1e9:g} s" if isinstance(value, pa.MonthDayNano) else f"{value}"
    return str(value)


def split_rows(text: str) -> tuple[list[str], Counter[tuple[str, ...]]]:
    head, *rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    return head, Counter(map(tuple, rows))


def run_one_by_one(case: Case, tables: dict[str, pa.Table]) -> pa.Table:
    """As a continuous query; events of several streams come in the order of their times."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.UnboundedStateWarning)
        query = cep.open(case.query, **{name: table.schema for name, table in tables.items()})
    arrivals = [(name, table.slice(row, 1)) for name, table in tables.items() for row in range(len(table))]
    if len(tables) > 1:
        arrivals.sort(key=lambda arrival: arrival[1].column("ts")[0].as_py())
    parts = [query.push(**{name: event}) for name, event in arrivals]
    return pa.concat_tables([*parts, query.finish()])


@pytest.mark.parametrize("path", list_files("matching"))
def test_matching(path: Path, update: bool) -> None:
    (case,) = read_cases(path)
    tables = read_events(case.events)
    compilation = compile_query(case.query, {name: table.schema for name, table in tables.items()}, describe_sql)
    found = run_batch(compilation.placed, tables)[0]
    if update:
        check_case(path, 0, write_rows(found), update)
        return
    expected = split_rows(case.expected)
    assert split_rows(write_rows(found)) == expected, "compiled, as a batch"
    reference = run_batch(compilation.placed, tables, twin="reference")[0]
    assert split_rows(write_rows(reference)) == expected, "reference, as a batch"
    if "not continuous" in case.settings:
        with pytest.raises(CepheidError):
            run_one_by_one(case, tables)
    else:
        assert split_rows(write_rows(run_one_by_one(case, tables))) == expected, "compiled, one event at a time"


# --- the rest --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", list_files("rewrite"))
def test_rewrite(path: Path, update: bool) -> None:
    """The file bears the name of the rule; the plan is that of all rules, "unchanged" that without this one."""
    for number, case in enumerate(read_cases(path)):
        bound = compile_query(case.query, SCHEMAS, describe_sql).bound
        without, _ = rewrite_graph(bound, tuple(rule for rule in CARRYING_RULES if rule.__name__ != path.stem))
        after, _ = rewrite_graph(without, CARRYING_RULES)
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
        compilation = compile_query(case.query, schemas, describe_sql)
        for graph in (compilation.bound, compilation.rewritten):
            assert read_json(write_json(graph)) == graph
