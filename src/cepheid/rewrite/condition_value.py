"""A kernel condition about one event as a value for the host, where SQL surely means the same.

None for what hosts treat differently: arithmetic of whole numbers (hosts raise an error when their type is too
small, the kernel counts in 64 bits), division and remainder (Spark raises an error at zero, the kernel says
null), and times and intervals (their literals depend on the session's zone).
"""

from __future__ import annotations

from cepheid.kernel.expression import Call, Cell, Constant, Expression
from cepheid.scalars.value import (
    FALSE,
    NULL,
    TRUE,
    Column,
    Literal,
    Operation,
    Scalar,
    binary,
    join_conjunction,
    join_disjunction,
    negate,
    operation,
)

_COMPARED = {"eq": "eq", "ne": "neq", "lt": "lt", "le": "lte", "gt": "gt", "ge": "gte"}
_JOINED = {"and": join_conjunction, "or": join_disjunction}
_COMPUTED = ("add", "sub", "mul")
DOUBLE = operation("datatype", this="DOUBLE", nested=False)


def condition_value(expression: Expression) -> Scalar | None:
    match expression:
        case Cell(column=column):
            return Column(column)
        case Constant():
            return _constant_value(expression)
        case Call(function="not", arguments=(inner,)):
            value = condition_value(inner)
            return None if value is None else negate(value)
        case Call(function="is_null", arguments=(inner,)):
            value = condition_value(inner)
            return None if value is None else binary("is", value, NULL)
        case Call(function=function, arguments=arguments) if function in _JOINED:
            operands = _all_known([condition_value(argument) for argument in arguments])
            return None if operands is None else _JOINED[function](operands)
        case Call(function=function, arguments=arguments) if function in _COMPARED:
            meets_float = any(argument.kind == "float" for argument in arguments)
            sides = _all_known(
                [
                    _double_value(argument) if meets_float and argument.kind == "int" else condition_value(argument)
                    for argument in arguments
                ]
            )
            return None if sides is None else binary(_COMPARED[function], *sides)
        case Call(function=function, arguments=arguments, kind="float") if function in _COMPUTED:
            sides = _all_known([_double_value(argument) for argument in arguments])
            return None if sides is None else binary(function, *sides)
    return None


def _all_known(values: list[Scalar | None]) -> list[Scalar] | None:
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _double_value(expression: Expression) -> Scalar | None:
    """As a double, whatever the column is: the kernel computes with nothing smaller."""
    value = condition_value(expression)
    return value if value is None or _is_double(value) else _as_double(value)


def _as_double(value: Scalar) -> Scalar:
    return operation("cast", this=value, to=DOUBLE)


def _is_double(value: Scalar) -> bool:
    return isinstance(value, Operation) and value.kind == "cast" and value.part("to") == DOUBLE


def _constant_value(constant: Constant) -> Scalar | None:
    value = constant.value
    if value is None or constant.kind in ("time", "duration"):
        return None
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, str):
        return Literal(value, is_text=True)
    if isinstance(value, float):
        is_finite = value == value and abs(value) != float("inf")
        return _as_double(_number_value(repr(value))) if is_finite else None
    return _number_value(str(value))


def _number_value(text: str) -> Scalar:
    return operation("neg", this=Literal(text[1:])) if text.startswith("-") else Literal(text)
