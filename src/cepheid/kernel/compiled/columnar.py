"""Conditions that look at one event, or at events before it, evaluated on whole columns at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.errors import MatchFailure
from cepheid.kernel.columns import Column, Events, Interner
from cepheid.kernel.expression import FLOAT_FUNCTIONS, ROUNDING, Call, Cell, Constant, Expression

RANKED = ("lt", "le", "gt", "ge", "least", "greatest")
Flags = npt.NDArray[np.bool_]
Values = tuple[npt.NDArray[Any], Flags]  # values, and where they are not null


def find_true(
    condition: Expression, events: Events, interner: Interner, read_earlier: Callable[[Cell], Values] | None = None
) -> Flags:
    """bool[n]: for which events is the condition true?  `read_earlier` reads cells at events before (PREV)."""
    values, valid = _evaluate(condition, events, interner, read_earlier)
    return (values != 0) & valid


def _evaluate(
    expression: Expression, events: Events, interner: Interner, read_earlier: Callable[[Cell], Values] | None
) -> Values:
    match expression:
        case Cell(position=position) if position.shift:
            assert read_earlier is not None, "somebody knows the events before"
            return read_earlier(expression)
        case Cell(column=name):
            return _read(events.columns[name])
        case Constant():
            return _constant(expression, len(events), interner)
        case Call(function="rank"):
            raise AssertionError("ranks are looked up by comparisons")
        case Call(function=function, arguments=arguments):
            given = [_evaluate(argument, events, interner, read_earlier) for argument in arguments]
            if function in RANKED and arguments[0].kind == "string":
                given = [(interner.ranks()[values], valid) for values, valid in given]
            found = _call(function, given, expression.kind)
            if function in ("least", "greatest") and expression.kind == "string":
                return np.argsort(interner.ranks())[found[0]], found[1]
            return found
    raise AssertionError(f"not an expression: {expression!r}")


def _read(column: Column) -> Values:
    valid = np.ones(len(column.values), dtype=np.bool_) if column.valid is None else column.valid != 0
    return column.values, valid


def _constant(constant: Constant, count: int, interner: Interner) -> Values:
    value = constant.value
    if value is None:
        kind = np.float64 if constant.kind == "float" else np.int64
        return np.zeros(count, dtype=kind), np.zeros(count, dtype=np.bool_)
    if isinstance(value, str):
        value = interner.number_of(value)
    number = np.float64(value) if constant.kind == "float" else np.int64(value)
    return np.full(count, number), np.ones(count, dtype=np.bool_)


def _call(function: str, given: list[Values], kind: str) -> Values:
    if function in ("and", "or"):
        return _combine_logic(function, given)
    if function in ("coalesce", "least", "greatest"):
        return _choose(function, given, kind)
    if function == "if":
        (test, known), (yes, yes_valid), (no, no_valid) = given
        taken = (test != 0) & known
        return np.where(taken, yes, no), np.where(taken, yes_valid, no_valid)
    first, valid = given[0]
    if function in ROUNDING or function in FLOAT_FUNCTIONS or function == "to_seconds":
        return _number(function, given)
    if function == "not":
        return first == 0, valid
    if function == "is_null":
        return ~valid, np.ones(len(valid), dtype=np.bool_)
    if function == "to_float":
        return first.astype(np.float64), valid
    if function in ("neg", "abs"):
        _refuse_overflow((first == np.iinfo(np.int64).min) & valid if first.dtype == np.int64 else None)
        return (-first if function == "neg" else np.abs(first)), valid
    second, second_valid = given[1]
    return _binary(function, first, second, valid & second_valid)


def _combine_logic(function: str, given: list[Values]) -> Values:
    """Three-valued: a false decides AND, a true decides OR, whatever is null beside it."""
    decides = function == "or"
    decided = np.zeros(len(given[0][0]), dtype=np.bool_)
    known = np.ones(len(decided), dtype=np.bool_)
    for values, valid in given:
        decided |= ((values != 0) == decides) & valid
        known &= valid
    return decided == decides, decided | known


def _choose(function: str, given: list[Values], kind: str) -> Values:
    values, valid = given[0]
    if kind == "float":
        values = values.astype(np.float64)
    for other, other_valid in given[1:]:
        better = ~valid
        if function != "coalesce":
            low, high = (other, values) if function == "least" else (values, other)
            better |= other_valid & _less(low, high)
        values = np.where(better, other, values)
        valid = valid | other_valid
    return values, valid


def _binary(function: str, left: npt.NDArray[Any], right: npt.NDArray[Any], valid: Flags) -> Values:
    match function:
        case "eq":
            return _equal(left, right), valid
        case "ne":
            return ~_equal(left, right), valid
        case "lt":
            return _less(left, right), valid
        case "le":
            return ~_less(right, left), valid
        case "gt":
            return _less(right, left), valid
        case "ge":
            return ~_less(left, right), valid
    with np.errstate(all="ignore"):
        return _arithmetic(function, left, right, valid)


def _number(function: str, given: list[Values]) -> Values:
    """Rounding and functions of one number."""
    first, valid = given[0]
    if function == "to_seconds":
        return first / 1e6, valid
    if function == "round" and len(given) == 2:
        digits, digits_valid = given[1]
        return (first if first.dtype == np.int64 else _round(first, digits)), valid & digits_valid
    if function in ROUNDING and first.dtype == np.int64:
        return (np.sign(first) if function == "sign" else first), valid
    with np.errstate(all="ignore"):
        return ONE_NUMBER[function](first.astype(np.float64)), valid


def _round(values: npt.NDArray[Any], digits: npt.NDArray[Any] | int) -> npt.NDArray[Any]:
    """A half goes away from zero; see evaluate.round_away."""
    scale = 10.0 ** np.abs(digits)
    with np.errstate(all="ignore"):
        scaled = np.where(np.asarray(digits) >= 0, values * scale, values / scale)
        whole = np.where(scaled >= 0, 1.0, -1.0) * np.floor(np.abs(scaled) + 0.5)
        rounded = np.where(np.asarray(digits) >= 0, whole / scale, whole * scale)
    return np.where(np.isfinite(scaled) & (np.abs(scaled) < 2.0**52), rounded, values)


ONE_NUMBER: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "sign": np.sign, "round": lambda values: _round(values, 0),
    "sqrt": np.sqrt, "cbrt": np.cbrt, "exp": np.exp, "ln": np.log, "log2": np.log2, "log10": np.log10, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "radians": np.radians,
    "degrees": np.degrees,
}  # fmt: skip


def _arithmetic(function: str, left: npt.NDArray[Any], right: npt.NDArray[Any], valid: Flags) -> Values:
    integers = left.dtype == np.int64 and right.dtype == np.int64
    match function:
        case "add":
            total = left + right
            _refuse_overflow(valid & (((left ^ total) & (right ^ total)) < 0) if integers else None)
            return total, valid
        case "sub":
            total = left - right
            _refuse_overflow(valid & (((left ^ right) & (left ^ total)) < 0) if integers else None)
            return total, valid
        case "mul":
            product = left * right
            if integers:
                # 2^63 is 9.22e18; near it, a product that wrapped round has the other sign
                estimate = left.astype(np.float64) * right.astype(np.float64)
                wrapped = (np.abs(estimate) > 9.3e18) | ((product < 0) != (estimate < 0))
                _refuse_overflow(valid & (np.abs(estimate) > 9.2e18) & wrapped)
            return product, valid
        case "div":
            return left.astype(np.float64) / right.astype(np.float64), valid & (right != 0)
        case "mod":
            return np.fmod(left, np.where(right == 0, 1, right)), valid & (right != 0)
        case "div_whole":
            divisor = np.where(right == 0, 1, right)
            sign = np.where((left < 0) == (divisor < 0), 1, -1)
            return np.abs(left) // np.abs(divisor) * sign, valid & (right != 0)
        case "power":
            return np.power(left.astype(np.float64), right.astype(np.float64)), valid
        case "atan2":
            return np.arctan2(left.astype(np.float64), right.astype(np.float64)), valid
    raise AssertionError(f"the kernel has no function {function!r}")


def _equal(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Flags:
    return (left == right) | ((left != left) & (right != right))


def _less(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Flags:
    """NaN is greater than every other number."""
    smaller: Flags = left < right
    return smaller | ((right != right) & (left == left)) if right.dtype == np.float64 else smaller


def _refuse_overflow(overflown: Flags | None) -> None:
    if overflown is not None and overflown.any():
        raise MatchFailure(
            "an integer expression in a condition left the range of 64 bits", hint="cast one side to DOUBLE"
        )
