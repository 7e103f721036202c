"""Conditions mean the same in both twins: register code and whole columns against the tree walk."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from cepheid.errors import MatchFailure
from cepheid.kernel.columns import Column, Events, Interner
from cepheid.kernel.compiled.cell_store import CellStore
from cepheid.kernel.compiled.columnar import find_true
from cepheid.kernel.compiled.evaluate import build_machine, check_trouble, holds
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.expression import COMPARISONS, Call, Cell, Constant, Expression, Kind, show_expression
from cepheid.kernel.reference.evaluate import evaluate

Row = dict[str, Any]
Run = Callable[[Expression, list[Row]], list[bool]]

LARGEST = 2**63 - 1
VALUES: dict[Kind, list[Any]] = {
    "bool": [True, False],
    "int": [-4, -3, -2, -1, 0, 1, 2, 3, 4],
    "float": [-2.5, -0.0, 0.0, 0.5, 1.0, 3.0, math.nan, math.inf, -math.inf, 1e300],
    "string": ["", "a", "ab", "b", "B", "é", "\uffee", "\N{GRINNING FACE}"],
    "time": [-5, -1, 0, 1, 5],
    "duration": [-5, -1, 0, 1, 5],
}
KINDS: list[Kind] = list(VALUES)
COLUMNS: dict[str, Kind] = {f"{kind}_{number}": kind for kind in KINDS for number in (0, 1)}


@dataclass(frozen=True)
class ExpressionWriter:
    """Random trees of a kind; a float may stand over ints, as the binder allows."""

    random: Random

    def write(self, kind: Kind, depth: int) -> Expression:
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf(kind)
        if kind == "bool" and self.random.random() < 0.8:
            return self.random.choice([self.comparison, self.logic])(depth - 1)
        if kind in ("int", "float") and self.random.random() < 0.7:
            return self.arithmetic(kind, depth - 1)
        if kind in ("time", "duration") and self.random.random() < 0.6:
            return self.time_arithmetic(kind, depth - 1)
        return self.choice(kind, depth - 1)

    def leaf(self, kind: Kind) -> Expression:
        if self.random.random() < 0.6:
            return Cell(self.random.choice([name for name, other in COLUMNS.items() if other == kind]), kind)
        return Constant(self.random.choice([*VALUES[kind], *VALUES[kind], None]), kind)

    def number(self, depth: int) -> Expression:
        return self.write(self.random.choice(["int", "float"]), depth)

    def comparison(self, depth: int) -> Expression:
        kind = self.random.choice(KINDS)
        sides = [self.number(depth) if kind in ("int", "float") else self.write(kind, depth) for _ in range(2)]
        return Call(self.random.choice(COMPARISONS), tuple(sides), "bool")

    def logic(self, depth: int) -> Expression:
        function = self.random.choice(["and", "or", "not", "is_null"])
        if function == "is_null":
            return Call(function, (self.write(self.random.choice(KINDS), depth),), "bool")
        count = 1 if function == "not" else self.random.randint(2, 4)
        return Call(function, tuple(self.write("bool", depth) for _ in range(count)), "bool")

    def arithmetic(self, kind: Kind, depth: int) -> Expression:
        function = self.random.choice(["add", "sub", "mul", "mod", "neg", "abs", *(["div"] if kind == "float" else [])])
        if function in ("neg", "abs"):
            return Call(function, (self.write(kind, depth),), kind)
        if function == "div":
            return Call(function, (self.number(depth), self.number(depth)), "float")
        return Call(function, self.operands(kind, 2, depth), kind)

    def time_arithmetic(self, kind: Kind, depth: int) -> Expression:
        shapes: list[tuple[str, Kind, Kind]] = (
            [("add", "time", "duration"), ("add", "duration", "time"), ("sub", "time", "duration")]
            if kind == "time"
            else [("sub", "time", "time"), ("add", "duration", "duration"), ("sub", "duration", "duration")]
        )
        function, left, right = self.random.choice(shapes)
        return Call(function, (self.write(left, depth), self.write(right, depth)), kind)

    def choice(self, kind: Kind, depth: int) -> Expression:
        functions = ["if", "coalesce", "coalesce", *(["least", "greatest"] if kind in ("int", "float") else [])]
        function = self.random.choice(functions)
        if function == "if":
            return Call("if", (self.write("bool", depth), *self.operands(kind, 2, depth)), kind)
        return Call(function, self.operands(kind, self.random.randint(2, 4), depth), kind)

    def operands(self, kind: Kind, count: int, depth: int) -> tuple[Expression, ...]:
        """Of one kind; among floats there may be ints, but not only ints."""
        found = [self.write(kind, depth) for _ in range(count)]
        if kind == "float":
            for place in self.random.sample(range(count), self.random.randint(0, count - 1)):
                found[place] = self.write("int", depth)
        return tuple(found)

    def rows(self) -> list[Row]:
        return [
            {name: self.random.choice([*VALUES[kind], None]) for name, kind in COLUMNS.items()}
            for _ in range(self.random.randint(1, 5))
        ]


def run_columnar(condition: Expression, rows: list[Row]) -> list[bool]:
    interner = Interner()
    return find_true(condition, _as_events(rows, interner), interner).tolist()


def run_register_code(condition: Expression, rows: list[Row]) -> list[bool]:
    interner = Interner()
    writer = CodeWriter(interner)
    writer.add_condition(condition)
    cells = CellStore(writer).append(_as_events(rows, interner))
    machine = build_machine(writer.finish(), interner.ranks())
    found = []
    for event in range(len(rows)):
        where = np.full(max(1, len(writer.positions)), event, dtype=np.int64)
        found.append(bool(holds(0, where, machine, cells)))
    check_trouble(machine)
    return found


def _as_events(rows: list[Row], interner: Interner) -> Events:
    times = np.zeros(len(rows), dtype=np.int64)
    columns = {name: _as_column([row[name] for row in rows], kind, interner) for name, kind in COLUMNS.items()}
    return Events(times, times, columns)


def _as_column(values: list[Any], kind: Kind, interner: Interner) -> Column:
    valid = np.array([value is not None for value in values], dtype=np.uint8)
    number: Callable[[Any], Any] = interner.number_of if kind == "string" else lambda value: value
    plain = [0 if value is None else number(value) for value in values]
    return Column(np.array(plain, dtype=np.float64 if kind == "float" else np.int64), valid)


def run_reference(condition: Expression, rows: list[Row]) -> list[bool]:
    return [evaluate(condition, lambda cell, row=row: row[cell.column]) is True for row in rows]


COMPILED = pytest.mark.parametrize("run", [run_register_code, run_columnar])


@COMPILED
def test_conditions_mean_what_the_tree_means(run: Run) -> None:
    wrong = []
    for seed in range(4000):
        writer = ExpressionWriter(Random(seed))
        condition, rows = writer.write("bool", seed % 4 + 1), writer.rows()
        if run(condition, rows) != run_reference(condition, rows):
            wrong.append((show_expression(condition), rows))
    assert not wrong, f"{len(wrong)} conditions, the shortest is {min(wrong, key=lambda found: len(found[0]))}"


@COMPILED
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_strings_that_are_all_null_compare_to_null(run: Run, comparison: str) -> None:
    condition = Call(comparison, (Cell("string_0", "string"), Cell("string_1", "string")), "bool")
    assert run(condition, [dict.fromkeys(COLUMNS)]) == [False]


EDGES = [0, 1, -1, 2, -2, 3, 2**31, -(2**31), 3_037_000_499, 3_037_000_500, 2**62, LARGEST, -LARGEST, -LARGEST - 1]


@COMPILED
@pytest.mark.parametrize("function", ["add", "sub", "mul", "mod", "neg", "abs"])
def test_integers_are_exact_or_refused(run: Run, function: str) -> None:
    row = dict.fromkeys(COLUMNS)
    for left, right in product(EDGES, EDGES):
        operands = [Constant(value, "int") for value in (left, right)][: 1 if function in ("neg", "abs") else 2]
        value = Call(function, tuple(operands), "int")
        exact = evaluate(value, {}.get)
        if exact is None or -LARGEST - 1 <= exact <= LARGEST:
            for other in (left, right, exact):
                condition = Call("eq", (value, Constant(other, "int")), "bool")
                assert run(condition, [row]) == run_reference(condition, [row]), (left, right, other)
        else:
            with pytest.raises(MatchFailure, match="64 bits"):
                run(Call("is_null", (value,), "bool"), [row])
