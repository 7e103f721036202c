"""The scalar functions that the kernel computes, so that a condition can apply them to several events of a match.

    sqrt(a.x * b.x), round(b.x / a.x, 2), greatest(a.x, b.x), date_diff('minute', a.ts, b.ts)

Their meaning is that of Trino, on every host: least and greatest are null if one argument is; date_diff counts the
units that are complete.  What a function here cannot take (a decimal, a month) is left to the host as before.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sqlglot import exp

from cepheid.errors import TypeMismatch
from cepheid.kernel.expression import Call, Constant, Expression, Kind
from cepheid.language.parsing.interval_parser import LENGTHS, MICROSECOND
from cepheid.language.parsing.own_functions import WHOLE_UNITS
from cepheid.language.parsing.places import span_of

Bind = Callable[[exp.Expr], Expression]
"""Binds an argument of a function."""

NUMBERS = ("int", "float")
WIDEST_CALL = 64
MOST_BRANCHES = 100  # of CASE, each of which is an IF in the one before
OF_FLOATS: dict[type[exp.Expr], str] = {
    exp.Sqrt: "sqrt", exp.Cbrt: "cbrt", exp.Exp: "exp", exp.Ln: "ln", exp.Sin: "sin", exp.Cos: "cos", exp.Tan: "tan",
    exp.Asin: "asin", exp.Acos: "acos", exp.Atan: "atan", exp.Radians: "radians", exp.Degrees: "degrees",
}  # fmt: skip
OF_TWO_FLOATS: dict[type[exp.Expr], str] = {exp.Pow: "power", exp.Atan2: "atan2"}
ROUNDING: dict[type[exp.Expr], str] = {
    exp.Floor: "floor", exp.Ceil: "ceil", exp.Round: "round", exp.Trunc: "trunc", exp.Sign: "sign",
}  # fmt: skip
LOGARITHMS = {"2": "log2", "10": "log10"}
KIND_NAMES: dict[Kind, str] = {
    "bool": "true or false", "int": "a whole number", "float": "a number", "string": "text", "time": "a time",
    "duration": "a duration",
}  # fmt: skip
COMPILED = (
    "+ - * / %, comparisons, AND, OR, NOT, CASE, COALESCE, NULLIF, ABS, SIGN, ROUND, FLOOR, CEIL, TRUNCATE, LEAST, "
    "GREATEST, SQRT, CBRT, POWER, EXP, LN, LOG2, LOG10, SIN, COS, TAN, ASIN, ACOS, ATAN, ATAN2, RADIANS, DEGREES, "
    "DATE_DIFF, TO_UNIXTIME"
)


def bind_function(node: exp.Expr, bind: Bind) -> Expression | None:
    """The call of a function of the kernel; None if it has none for this."""
    if type(node) in OF_FLOATS:
        return Call(OF_FLOATS[type(node)], (_as_float(node.this, bind),), "float")
    if type(node) in OF_TWO_FLOATS:
        sides = (_as_float(node.this, bind), _as_float(node.expression, bind))
        return Call(OF_TWO_FLOATS[type(node)], sides, "float")
    if type(node) in ROUNDING:
        return _round(ROUNDING[type(node)], node, bind)
    match node:
        case exp.Log(this=exp.Literal(this=("2" | "10") as base), expression=exp.Expr() as inner):
            return Call(LOGARITHMS[base], (_as_float(inner, bind),), "float")
        case exp.Pi():
            return Constant(math.pi, "float")
        case exp.Anonymous(expressions=[]) if node.name.upper() == "E":
            return Constant(math.e, "float")
        case exp.DateDiff():
            return _date_diff(node.text("unit"), node.expression, node.this, bind)
        case exp.Anonymous(expressions=[unit, begin, end]) if node.name.upper() == WHOLE_UNITS:
            return _date_diff(unit.name, begin, end, bind)
        case exp.TimeToUnix():
            moment = bind(node.this)
            if moment.kind != "time":
                raise _describe_kind(node.this, moment.kind, "a time")
            return Call("to_seconds", (Call("sub", (moment, Constant(0, "time")), "duration"),), "float")
    return None


def join_wide(function: str, arguments: tuple[Expression, ...], kind: Kind) -> Expression:
    """A call of any number of arguments, in whatever groups: of very many a tree is made, so that it is not deep."""
    if len(arguments) <= WIDEST_CALL:
        return arguments[0] if len(arguments) == 1 else Call(function, arguments, kind)
    half = len(arguments) // 2
    halves = (join_wide(function, arguments[:half], kind), join_wide(function, arguments[half:], kind))
    return Call(function, halves, kind)


def null_if_any(function: str, bound: tuple[Expression, ...], kind: Kind) -> Expression:
    """least or greatest, null if one of the arguments is: the kernel's own leaves nulls out."""
    call = join_wide(function, bound, kind)
    doubtful = [side for side in dict.fromkeys(bound) if not isinstance(side, Constant) or side.value is None]
    nulls = tuple(Call("is_null", (side,), "bool") for side in doubtful)
    if not nulls:
        return call
    some_null = nulls[0] if len(nulls) == 1 else join_wide("or", nulls, "bool")
    return Call("if", (some_null, Constant(None, kind), call), kind)


def _as_float(written: exp.Expr, bind: Bind) -> Expression:
    bound = bind(written)
    if isinstance(bound, Constant) and (bound.value is None or bound.kind == "int"):
        return Constant(None if bound.value is None else float(bound.value), "float")
    _check_number(written, bound)
    return bound if bound.kind == "float" else Call("to_float", (bound,), "float")


def _round(function: str, node: exp.Expr, bind: Bind) -> Expression | None:
    bound = bind(node.this)
    _check_number(node.this, bound)
    digits = node.args.get("decimals")
    if digits is None:
        return Call(function, (bound,), bound.kind)
    if function != "round":
        return None
    places = bind(digits)
    if places.kind != "int":
        raise _describe_kind(digits, places.kind, "a whole number")
    return Call(function, (bound, places), bound.kind)


def _date_diff(unit: str, begin: exp.Expr, end: exp.Expr, bind: Bind) -> Expression | None:
    length = LENGTHS.get(unit.lower())
    if length is None:
        return None
    later, earlier = bind(end), bind(begin)
    for written, bound in ((end, later), (begin, earlier)):
        if bound.kind != "time":
            raise _describe_kind(written, bound.kind, "a time")
    passed = Call("sub", (later, earlier), "duration")
    return Call("div_whole", (passed, Constant(length // MICROSECOND, "duration")), "int")


def _check_number(written: exp.Expr, bound: Expression) -> None:
    if bound.kind not in NUMBERS:
        raise _describe_kind(written, bound.kind, "a number")


def _describe_kind(written: exp.Expr, kind: Kind, wanted: str) -> TypeMismatch:
    type_name = {"a time": "TIMESTAMP", "a whole number": "BIGINT"}.get(wanted, "DOUBLE")
    hint = f"write CAST({written.sql()} AS {type_name})"
    return TypeMismatch(f'"{written.sql()}" is {KIND_NAMES[kind]}, not {wanted}', span=span_of(written), hint=hint)
