"""Scalar SQL over small tables, computed here instead of by DuckDB, which takes a millisecond to be asked.

    "c1" - "c0"  ─translate─▶ DuckDB's SQL ─plan─▶ a function: pa.Table ─▶ Vector

Only what surely means the same is planned: picking columns, literals, arithmetic, comparisons, AND, OR, NOT, IS NULL,
CASE, COALESCE, BETWEEN, IN and casts of numbers that cannot fail.  DuckDB itself says of which type each part is, so
that its rules of typing are not told twice.  Everything else is Unsure, when it is planned or while it runs (a whole
number might grow out of its type): then DuckDB is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from cepheid.execution.embedded.vectors import (
    BOUNDS,
    COMPARE,
    COMPARE_FLOATS,
    Vector,
    cast_vector,
    choose,
    compute,
    invert,
    join_and,
    join_or,
    negate,
    read_column,
    span_of,
    true_where,
)

MOST_EXACT_DIGITS = 15  # a decimal literal of so many digits is the nearest double, however it is computed


class Unsure(Exception):
    """DuckDB has to be asked."""


Evaluate = Callable[[pa.Table], Vector]


@dataclass(frozen=True, slots=True)
class Planned:
    """How a part is computed, and its type as DuckDB sees it; `family` tells which parts go together."""

    evaluate: Evaluate
    type: pa.DataType
    family: str


def list_typed_parts(expression: exp.Expr) -> list[exp.Expr]:
    """The parts whose types DuckDB must be asked for, in a fixed order; the expression itself comes first."""
    asked = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Case, exp.Coalesce, exp.Cast)
    inner = [node for node in expression.walk() if isinstance(node, asked) and node is not expression]
    return [expression, *inner]


def plan_scalar(expression: exp.Expr, schema: pa.Schema, types: Mapping[int, pa.DataType]) -> Planned:
    """The function for an expression in DuckDB's SQL; `types`: of the parts above, by id."""
    return _Planner(schema, types).plan_as(expression, types[id(expression)])


@dataclass(frozen=True, slots=True)
class _Planner:
    schema: pa.Schema
    types: Mapping[int, pa.DataType]

    def plan(self, node: exp.Expr) -> Planned:
        match node:
            case exp.Paren(this=inner):
                return self.plan(inner)
            case exp.Column():
                return self.plan_column(node)
            case exp.Literal():
                return _plan_literal(node)
            case exp.Boolean(this=value):
                return _constant(np.bool_(value), pa.bool_(), "bool")
            case exp.Null():
                return Planned(_refuse, pa.null(), "null")
            case exp.Add() | exp.Sub() | exp.Mul():
                return self.plan_arithmetic(node)
            case exp.Div():
                return self.plan_division(node)
            case exp.Neg(this=inner):
                return self.plan_negation(node, inner)
            case exp.Is(this=inner, expression=exp.Null()):
                return self.plan_is_null(inner)
            case exp.Not(this=inner):
                found = self.plan_as(inner, pa.bool_()).evaluate
                return _boolean(lambda table: invert(found(table)))
            case exp.And() | exp.Or():
                return self.plan_logic(node)
            case exp.EQ() | exp.NEQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
                return self.plan_comparison(type(node), node.left, node.right)
            case exp.Between(this=inner) if not node.args.get("symmetric"):
                low = self.plan_comparison(exp.GTE, inner, node.args["low"]).evaluate
                high = self.plan_comparison(exp.LTE, inner, node.args["high"]).evaluate
                return _boolean(lambda table: join_and(low(table), high(table)))
            case exp.In(this=inner, expressions=options) if options:
                equal = [self.plan_comparison(exp.EQ, inner, option).evaluate for option in options]
                return _boolean(lambda table: reduce(join_or, (test(table) for test in equal)))
            case exp.Case(this=None):
                return self.plan_case(node, node.args["ifs"], node.args.get("default"))
            case exp.Coalesce():
                return self.plan_coalesce(node)
            case exp.TryCast():
                raise Unsure
            case exp.Cast(this=inner):
                return self.plan_as(inner, self.type_of(node), explicitly=True)
        raise Unsure

    def type_of(self, node: exp.Expr) -> pa.DataType:
        return self.types[id(node)]

    def plan_as(self, node: exp.Expr, target: pa.DataType, explicitly: bool = False) -> Planned:
        """The part, as a value of another type."""
        return _convert(self.plan(node), target, explicitly)

    def plan_column(self, node: exp.Column) -> Planned:
        if node.table or node.name not in self.schema.names:
            raise Unsure
        name, arrow_type = node.name, self.schema.field(node.name).type
        family = _family_of(arrow_type)
        if family in ("text", "other"):
            return Planned(_refuse, arrow_type, family)
        return Planned(lambda table: read_column(table.column(name)), arrow_type, family)

    def plan_arithmetic(self, node: exp.Binary) -> Planned:
        target = self.type_of(node)
        left, right = (self.plan_as(side, target).evaluate for side in (node.left, node.right))
        operation = {exp.Add: np.add, exp.Sub: np.subtract, exp.Mul: np.multiply}[type(node)]
        family = _family_of(target)
        if family == "float":
            return Planned(lambda table: compute(operation, left(table), right(table)), target, family)
        if family != "int":
            raise Unsure
        bounds = np.iinfo(target.to_pandas_dtype())
        combine = BOUNDS[type(node)]

        def evaluate(table: pa.Table) -> Vector:
            first, second = left(table), right(table)
            least, most = combine(span_of(first.values), span_of(second.values))
            if least < bounds.min or most > bounds.max:
                raise Unsure
            return compute(operation, first, second)

        return Planned(evaluate, target, family)

    def plan_division(self, node: exp.Binary) -> Planned:
        target = self.type_of(node)
        if target != pa.float64():
            raise Unsure
        left, right = (self.plan_as(side, target).evaluate for side in (node.left, node.right))
        return Planned(lambda table: compute(np.divide, left(table), right(table)), target, "float")

    def plan_negation(self, node: exp.Neg, inner: exp.Expr) -> Planned:
        target = self.type_of(node)
        found = self.plan(inner)
        if found.family == "decimal":  # a literal
            return Planned(lambda table: negate(found.evaluate(table)), target, "decimal")
        evaluate, family = _convert(found, target).evaluate, _family_of(target)
        if family == "float":
            return Planned(lambda table: negate(evaluate(table)), target, family)
        if family != "int":
            raise Unsure
        bounds = np.iinfo(target.to_pandas_dtype())

        def evaluate_whole(table: pa.Table) -> Vector:
            vector = evaluate(table)
            least, most = span_of(vector.values)
            if -most < bounds.min or -least > bounds.max:
                raise Unsure
            return negate(vector)

        return Planned(evaluate_whole, target, family)

    def plan_is_null(self, inner: exp.Expr) -> Planned:
        while isinstance(inner, exp.Paren):
            inner = inner.this
        found = self.plan(inner)
        if found.family in ("text", "other"):
            name = inner.name
            return _boolean(lambda table: Vector(table.column(name).is_null().to_numpy()))

        def evaluate(table: pa.Table) -> Vector:
            valid = found.evaluate(table).valid
            return Vector(np.False_ if valid is None else np.logical_not(valid))

        return _boolean(evaluate)

    def plan_logic(self, node: exp.Connector) -> Planned:
        left, right = (self.plan_as(side, pa.bool_()).evaluate for side in (node.left, node.right))
        join = join_and if isinstance(node, exp.And) else join_or
        return _boolean(lambda table: join(left(table), right(table)))

    def plan_comparison(self, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> Planned:
        sides = [self.plan(left), self.plan(right)]
        if all(side.family == "text" for side in sides) and kind in (exp.EQ, exp.NEQ):
            return _compare_texts(kind, _text_of(left), _text_of(right))
        target = _common_type(*sides)
        first, second = (_convert(side, target).evaluate for side in sides)
        compare = (COMPARE_FLOATS if pa.types.is_floating(target) else COMPARE)[kind]
        return _boolean(lambda table: compute(compare, first(table), second(table)))

    def plan_case(self, node: exp.Case, branches: list[exp.If], default: exp.Expr | None) -> Planned:
        target = self.type_of(node)
        tests = [self.plan_as(branch.this, pa.bool_()).evaluate for branch in branches]
        values = [self.plan_as(branch.args["true"], target).evaluate for branch in branches]
        last = self.plan_as(default or exp.Null(), target).evaluate

        def evaluate(table: pa.Table) -> Vector:
            found = last(table)
            for test, value in zip(reversed(tests), reversed(values), strict=True):
                found = choose(true_where(test(table)), value(table), found)
            return found

        return Planned(evaluate, target, _family_of(target))

    def plan_coalesce(self, node: exp.Coalesce) -> Planned:
        target = self.type_of(node)
        options = [self.plan_as(option, target).evaluate for option in (node.this, *node.expressions)]

        def evaluate(table: pa.Table) -> Vector:
            *firsts, found = [option(table) for option in options]
            for first in reversed(firsts):
                found = first if first.valid is None else choose(first.valid, first, found)
            return found

        return Planned(evaluate, target, _family_of(target))


def _family_of(arrow_type: pa.DataType) -> str:
    """Families that meet in no operation: times of another unit or zone are another family."""
    types = pa.types
    if types.is_boolean(arrow_type):
        return "bool"
    if types.is_integer(arrow_type) and not types.is_uint64(arrow_type):
        return "int"
    if types.is_float32(arrow_type) or types.is_float64(arrow_type):
        return "float"
    if types.is_timestamp(arrow_type) or types.is_date32(arrow_type):
        return f"time {arrow_type}"
    return "text" if types.is_string(arrow_type) or types.is_large_string(arrow_type) else "other"


def _plan_literal(node: exp.Literal) -> Planned:
    written = node.this
    if node.is_string:
        return Planned(_refuse, pa.string(), "text")
    if written.isdigit():
        if int(written) > np.iinfo(np.int64).max:
            raise Unsure
        return _constant(np.int64(int(written)), pa.int64(), "int")
    if "e" in written.lower():
        return _constant(np.float64(written), pa.float64(), "float")
    if sum(map(str.isdigit, written)) > MOST_EXACT_DIGITS:
        raise Unsure
    return _constant(np.float64(written), pa.float64(), "decimal")


def _constant(value: Any, arrow_type: pa.DataType, family: str) -> Planned:
    vector = Vector(value)
    return Planned(lambda _: vector, arrow_type, family)


def _boolean(evaluate: Evaluate) -> Planned:
    return Planned(evaluate, pa.bool_(), "bool")


def _refuse(_: pa.Table) -> Vector:
    raise Unsure


# --- types meet ------------------------------------------------------------------------------------------


def _common_type(left: Planned, right: Planned) -> pa.DataType:
    """What DuckDB compares two parts as."""
    families = {left.family, right.family}
    types = (left.type, right.type)
    if families == {"int"}:
        return pa.int64()  # wide enough for both; equal numbers stay equal
    if families <= {"int", "float", "decimal"} and any(
        side.family == "float" and pa.types.is_float64(side.type) for side in (left, right)
    ):
        return pa.float64()
    if len(families) == 1 and types[0] == types[1] and not families & {"text", "other", "null", "decimal"}:
        return types[0]
    raise Unsure


def _convert(part: Planned, target: pa.DataType, explicitly: bool = False) -> Planned:
    """The part in another type, where that cannot fail; `explicitly`: bools become numbers, too."""
    evaluate, family = part.evaluate, _family_of(target)
    if family in ("text", "other"):
        raise Unsure
    if part.family == "null":
        zero = target.to_pandas_dtype()(0) if family in ("bool", "float") else np.int64(0)
        nothing = Vector(zero, np.False_)
        return Planned(lambda _: nothing, target, family)
    if part.family == "decimal":
        return _exactly(evaluate, target)
    if part.type == target:
        return part
    from_bool = explicitly and part.family == "bool"
    if family == "int" and (part.family == "int" or from_bool):
        return Planned(_keep_in_range(evaluate, target), target, family)
    widens = part.family == "float" and pa.types.is_float64(target)
    if family == "float" and (part.family == "int" or from_bool or widens):
        dtype = target.to_pandas_dtype()
        return Planned(lambda table: cast_vector(evaluate(table), dtype), target, family)
    raise Unsure


def _exactly(evaluate: Evaluate, target: pa.DataType) -> Planned:
    """A decimal literal where a double is wanted; as anything else it would be rounded in ways of DuckDB's own."""
    if not pa.types.is_float64(target):
        raise Unsure
    return Planned(evaluate, target, "float")


def _keep_in_range(evaluate: Evaluate, target: pa.DataType) -> Evaluate:
    bounds = np.iinfo(target.to_pandas_dtype())

    def check(table: pa.Table) -> Vector:
        values, valid = evaluate(table)
        values = np.asarray(values).astype(np.int64, copy=False)
        least, most = span_of(values)
        if least < bounds.min or most > bounds.max:
            raise Unsure
        return Vector(values, valid)

    return check


def _compare_texts(kind: type[exp.Expr], left: Any, right: Any) -> Planned:
    compare = pc.equal if kind is exp.EQ else pc.not_equal

    def evaluate(table: pa.Table) -> Vector:
        sides = [table.column(side) if isinstance(side, str) else side for side in (left, right)]
        found = compare(*sides)
        if isinstance(found, pa.Scalar):
            return Vector(np.bool_(found.as_py()))
        valid = None if not found.null_count else pc.is_valid(found).to_numpy()
        return Vector(found.fill_null(False).to_numpy(), valid)

    return _boolean(evaluate)


def _text_of(node: exp.Expr) -> str | pa.Scalar:
    """The name of a column, or a literal."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node.name if isinstance(node, exp.Column) else pa.scalar(node.this)
