"""Scalar SQL computed here is what DuckDB would have said: values, nulls, types and refusals."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from cepheid.errors import InvalidQuery
from cepheid.execution.embedded.arrow_scalar import Unsure
from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.embedded.row_wise import plan_values, prepare_vertex
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Filter, Project
from cepheid.language.relations.sql_values import read_condition
from cepheid.scalars.value import Column, Scalar


def value_of(text: str) -> Scalar:
    value = read_condition(text)
    assert value is not None, text
    return value


COLUMNS = {
    "tiny": (pa.int8(), [0, 1, -1, 127, -128]),
    "small": (pa.int32(), [0, 1, -1, 7, 2**31 - 1, -(2**31)]),
    "big": (pa.int64(), [0, 1, -1, 12, 2**63 - 1, -(2**63), 2**53 + 1]),
    "short": (pa.float32(), [0.0, -0.0, 1.5, 0.1, math.inf, math.nan]),
    "long": (pa.float64(), [0.0, -0.0, 1.5, 0.1, 1e308, -1e308, math.inf, -math.inf, math.nan, 5e-324]),
    "more": (pa.float64(), [0.0, 2.0, -3.5, math.nan]),
    "yes": (pa.bool_(), [True, False]),
    "no": (pa.bool_(), [True, False]),
    "name": (pa.string(), ["", "x", "y", "é"]),
    "at": (pa.timestamp("us", tz="UTC"), [0, 1, 2]),
    "later": (pa.timestamp("us", tz="UTC"), [0, 1, 2]),
    "day": (pa.date32(), [0, 1, 20000]),
}
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()])
NUMBERS = ["tiny", "small", "big", "short", "long", "more"]


def make_table(random: np.random.Generator, count: int) -> pa.Table:
    columns = {}
    for name, (kind, values) in COLUMNS.items():
        missing = random.random(count) < random.choice([0.0, 0.3])
        chosen = [None if gone else values[random.integers(len(values))] for gone in missing]
        columns[name] = pa.array(chosen, kind)
    return pa.table(columns, schema=SCHEMA)


class Writer:
    """Random expressions; numbers and truths nest in one another."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random

    def pick(self, *options: str) -> str:
        return options[self.random.integers(len(options))]

    def number(self, depth: int) -> str:
        if depth == 0:
            return self.pick(*NUMBERS, *NUMBERS, "0", "3", "2147483648", "2.5", "0.1", "1e3", "NULL")
        one, other = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"({one} {self.pick('+', '-', '*', '/')} {other})",
            f"({one} {self.pick('+', '-', '*', '/')} {other})",
            f"(-{one})",
            f"COALESCE({one}, {other})",
            f"CASE WHEN {self.truth(depth - 1)} THEN {one} ELSE {other} END",
            f"CASE WHEN {self.truth(depth - 1)} THEN {one} WHEN {self.truth(0)} THEN {other} END",
            f"IF({self.truth(depth - 1)}, {one}, {other})",
            f"CAST({one} AS {self.pick('DOUBLE', 'BIGINT', 'INTEGER', 'REAL')})",
        )

    def truth(self, depth: int) -> str:
        if depth == 0:
            return self.pick("yes", "no", "TRUE", "name = 'x'", "name <> ''", "at = later", "at < later", "day IS NULL")
        one, other = self.truth(depth - 1), self.truth(depth - 1)
        left, right = self.number(depth - 1), self.number(depth - 1)
        compared = f"({left} {self.pick('=', '<>', '<', '<=', '>', '>=')} {right})"
        return self.pick(
            compared,
            compared,
            f"({one} {self.pick('AND', 'OR')} {other})",
            f"(NOT {one})",
            f"({left} IS {self.pick('NULL', 'NOT NULL')})",
            f"({left} BETWEEN {right} AND {self.number(0)})",
            f"({left} IN ({right}, {self.number(0)}))",
            f"COALESCE({one}, {other})",
        )


def outcome(run: object, table: pa.Table) -> object:
    try:
        rows = run([table])  # type: ignore[operator]
    except InvalidQuery:
        return "refused"
    return rows.schema.names, rows.schema.types, repr(rows.to_pylist())


@pytest.mark.parametrize("seed", range(40))
def test_expressions_mean_what_they_mean_to_duckdb(seed: int) -> None:
    random = np.random.default_rng(seed)
    writer = Writer(random)
    for _ in range(5):
        depth = int(random.integers(1, 4))
        written = writer.number(depth) if random.random() < 0.5 else writer.truth(depth)
        nodes: list[PlanNode] = [Project(columns=(("found", value_of(written)), ("name", Column("name"))))]
        nodes.append(Filter(predicate=value_of(writer.truth(depth))))
        for node in nodes:
            try:
                prepared = prepare_vertex(node, [SCHEMA])
            except InvalidQuery:
                continue  # not typed for DuckDB either
            for count in (0, 1, 7):
                table = make_table(random, count)
                expected = outcome(lambda given, node=node: run_relational(node, given), table)
                assert outcome(prepared.run, table) == expected, node


@pytest.mark.parametrize(
    "written",
    [
        "small + 1", "big - small", "long * 2.5", "small / 2", "-more", "long > 99.901", "small >= big",
        "yes AND NOT no", "name = 'x'", "name IS NOT NULL", "COALESCE(long, 0)", "IF(yes, at, later)",
        "CASE WHEN yes THEN small ELSE 0 END", "CAST(small AS DOUBLE)",
        "CAST(yes AS INTEGER)", "small BETWEEN 1 AND 5", "tiny IN (1, 2)", "day",
    ],
)  # fmt: skip
def test_common_expressions_need_no_duckdb(written: str) -> None:
    plan_values([value_of(written)], SCHEMA)


@pytest.mark.parametrize("written", ["upper(name)", "small % 2", "short > 0.1", "at + INTERVAL '1' DAY"])
def test_what_might_differ_is_left_to_duckdb(written: str) -> None:
    with pytest.raises(Unsure):
        plan_values([value_of(written)], SCHEMA)


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["x", "y", None]).dictionary_encode(),
        pa.array(["x", "y", None], pa.large_string()),
        pa.array([1, 2, None], pa.timestamp("s", tz="Europe/Berlin")),
        pa.array([1, 2, None], pa.timestamp("ns")),
        pa.array([[1], [], None]),
        pa.array([1, 2, None], pa.decimal128(5, 2)),
    ],
    ids=lambda values: str(values.type),
)
def test_columns_passed_on_have_the_type_that_duckdb_gives_them(values: pa.Array) -> None:
    table = pa.table({"kept": values, "x": [1, 2, 3]})
    for node in (
        Filter(predicate=value_of("x > 1")),
        Project(columns=(("kept", Column("kept")), ("y", value_of("x + 1")))),
    ):
        prepared = prepare_vertex(node, [table.schema])
        assert outcome(prepared.run, table) == outcome(lambda given, node=node: run_relational(node, given), table)
        assert prepared.run([table]).schema.equals(prepared.schema)
