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

from cepheid.arrow_compute import pc
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
    null_where_zero,
    read_column,
    span_of,
    true_where,
)
from cepheid.scalars.value import NULL, Column, Literal, Operation, Part, Scalar, walk

MOST_EXACT_DIGITS = 15  # a decimal literal of so many digits is the nearest double, however it is computed


class Unsure(Exception):
    """DuckDB has to be asked."""


Evaluate = Callable[[pa.Table], Vector]
ZERO = Literal("0")


@dataclass(frozen=True, slots=True)
class Planned:
    """How a part is computed, and its type as DuckDB sees it; `family` tells which parts go together."""

    evaluate: Evaluate
    type: pa.DataType
    family: str


def list_typed_parts(value: Scalar) -> list[Scalar]:
    """The parts whose types DuckDB must be asked for, in a fixed order; the value itself comes first."""
    asked = ("add", "sub", "mul", "div", "neg", "case", "coalesce", "cast")
    inner = [part for part in walk(value) if isinstance(part, Operation) and part.kind in asked and part is not value]
    return [value, *inner]


def plan_scalar(value: Scalar, schema: pa.Schema, types: Mapping[Scalar, pa.DataType]) -> Planned:
    """The function for a value in the terms of DuckDB's SQL; `types`: of the parts above."""
    return _Planner(schema, types).plan_as(value, types[value])


@dataclass(frozen=True, slots=True)
class _Planner:
    schema: pa.Schema
    types: Mapping[Scalar, pa.DataType]

    def plan(self, value: Part) -> Planned:
        match value:
            case Column(name=name):
                return self.plan_column(name)
            case Literal():
                return _plan_literal(value)
            case Operation():
                return self.plan_operation(value)
        raise Unsure

    def plan_operation(self, value: Operation) -> Planned:
        this = value.part("this")
        match value.kind:
            case "boolean":
                return _constant(np.bool_(this), pa.bool_(), "bool")
            case "null":
                return Planned(_refuse, pa.null(), "null")
            case "add" | "sub" | "mul":
                return self.plan_arithmetic(value)
            case "div":
                return self.plan_division(value)
            case "neg":
                return self.plan_negation(value)
            case "is" if value.part("expression") == NULL:
                return self.plan_is_null(this)
            case "not":
                found = self.plan_as(this, pa.bool_()).evaluate
                return _boolean(lambda table: invert(found(table)))
            case "and" | "or":
                return self.plan_logic(value)
            case "eq" | "neq" | "gt" | "gte" | "lt" | "lte":
                return self.plan_comparison(value.kind, this, value.part("expression"))
            case "between" if value.part("symmetric") is None:
                low = self.plan_comparison("gte", this, value.part("low")).evaluate
                high = self.plan_comparison("lte", this, value.part("high")).evaluate
                return _boolean(lambda table: join_and(low(table), high(table)))
            case "in" if isinstance(options := value.part("expressions"), tuple):
                equal = [self.plan_comparison("eq", this, option).evaluate for option in options]
                return _boolean(lambda table: reduce(join_or, (test(table) for test in equal)))
            case "case" if this is None:
                return self.plan_case(value)
            case "coalesce":
                return self.plan_coalesce(value)
            case "cast":
                return self.plan_as(this, self.types[value], explicitly=True)
        raise Unsure

    def plan_as(self, value: Part, target: pa.DataType, explicitly: bool = False) -> Planned:
        """The part, as a value of another type."""
        return _convert(self.plan(value), target, explicitly)

    def plan_column(self, name: str) -> Planned:
        if name not in self.schema.names:
            raise Unsure
        arrow_type = self.schema.field(name).type
        family = _family_of(arrow_type)
        if family in ("text", "other"):
            return Planned(_refuse, arrow_type, family)
        return Planned(lambda table: read_column(table.column(name)), arrow_type, family)

    def plan_arithmetic(self, value: Operation) -> Planned:
        target = self.types[value]
        left, right = (self.plan_as(value.part(side), target).evaluate for side in ("this", "expression"))
        operation = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[value.kind]
        family = _family_of(target)
        if family == "float":
            return Planned(lambda table: compute(operation, left(table), right(table)), target, family)
        if family != "int":
            raise Unsure
        bounds = np.iinfo(target.to_pandas_dtype())
        combine = BOUNDS[value.kind]

        def evaluate(table: pa.Table) -> Vector:
            first, second = left(table), right(table)
            least, most = combine(span_of(first.values), span_of(second.values))
            if least < bounds.min or most > bounds.max:
                raise Unsure
            return compute(operation, first, second)

        return Planned(evaluate, target, family)

    def plan_division(self, value: Operation) -> Planned:
        target = self.types[value]
        if target != pa.float64():
            raise Unsure
        divisor = value.part("expression")
        guarded = False  # null where it is zero?
        if isinstance(divisor, Operation) and divisor.kind == "nullif" and divisor.part("expression") == ZERO:
            divisor, guarded = divisor.part("this"), True
        left, right = self.plan_as(value.part("this"), target).evaluate, self.plan_as(divisor, target).evaluate

        def evaluate(table: pa.Table) -> Vector:
            by = right(table)
            return compute(np.divide, left(table), null_where_zero(by) if guarded else by)

        return Planned(evaluate, target, "float")

    def plan_negation(self, value: Operation) -> Planned:
        target = self.types[value]
        found = self.plan(value.part("this"))
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

    def plan_is_null(self, inner: Part) -> Planned:
        found = self.plan(inner)
        if found.family in ("text", "other"):
            if not isinstance(inner, Column):
                raise Unsure
            name = inner.name
            return _boolean(lambda table: Vector(table.column(name).is_null().to_numpy()))

        def evaluate(table: pa.Table) -> Vector:
            valid = found.evaluate(table).valid
            return Vector(np.False_ if valid is None else np.logical_not(valid))

        return _boolean(evaluate)

    def plan_logic(self, value: Operation) -> Planned:
        operands = value.part("operands")
        assert isinstance(operands, tuple), "AND and OR have operands"
        tests = [self.plan_as(operand, pa.bool_()).evaluate for operand in operands]
        join = join_and if value.kind == "and" else join_or
        return _boolean(lambda table: reduce(join, (test(table) for test in tests)))

    def plan_comparison(self, kind: str, left: Part, right: Part) -> Planned:
        sides = [self.plan(left), self.plan(right)]
        if all(side.family == "text" for side in sides) and kind in ("eq", "neq"):
            return _compare_texts(kind, _text_of(left), _text_of(right))
        target = _common_type(*sides)
        first, second = (_convert(side, target).evaluate for side in sides)
        compare = (COMPARE_FLOATS if pa.types.is_floating(target) else COMPARE)[kind]
        return _boolean(lambda table: compute(compare, first(table), second(table)))

    def plan_case(self, value: Operation) -> Planned:
        target, default = self.types[value], value.part("default")
        branches = [branch for branch in walk_once(value.part("ifs")) if isinstance(branch, Operation)]
        tests = [self.plan_as(branch.part("this"), pa.bool_()).evaluate for branch in branches]
        values = [self.plan_as(branch.part("true"), target).evaluate for branch in branches]
        last = self.plan_as(NULL if default is None else default, target).evaluate

        def evaluate(table: pa.Table) -> Vector:
            found = last(table)
            for test, chosen in zip(reversed(tests), reversed(values), strict=True):
                found = choose(true_where(test(table)), chosen(table), found)
            return found

        return Planned(evaluate, target, _family_of(target))

    def plan_coalesce(self, value: Operation) -> Planned:
        target = self.types[value]
        options = [
            self.plan_as(option, target).evaluate
            for option in (value.part("this"), *walk_once(value.part("expressions")))
        ]

        def evaluate(table: pa.Table) -> Vector:
            *firsts, found = [option(table) for option in options]
            for first in reversed(firsts):
                found = first if first.valid is None else choose(first.valid, first, found)
            return found

        return Planned(evaluate, target, _family_of(target))


def walk_once(part: Part) -> tuple[Part, ...]:
    """The parts of a list; none if there is no list."""
    return part if isinstance(part, tuple) else ()


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


def _plan_literal(literal: Literal) -> Planned:
    written = literal.text
    if literal.is_text:
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


def _compare_texts(kind: str, left: Any, right: Any) -> Planned:
    compare = pc.equal if kind == "eq" else pc.not_equal

    def evaluate(table: pa.Table) -> Vector:
        sides = [table.column(side) if isinstance(side, str) else side for side in (left, right)]
        found = compare(*sides)
        if isinstance(found, pa.Scalar):
            return Vector(np.bool_(found.as_py()))
        valid = None if not found.null_count else pc.is_valid(found).to_numpy()
        return Vector(found.fill_null(False).to_numpy(), valid)

    return _boolean(evaluate)


def _text_of(value: Part) -> str | pa.Scalar:
    """The name of a column, or a literal."""
    if isinstance(value, Column):
        return value.name
    if isinstance(value, Literal):
        return pa.scalar(value.text)
    raise Unsure
