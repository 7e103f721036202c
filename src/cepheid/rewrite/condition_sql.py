"""A kernel condition about one event as SQL, where SQL surely means the same.

None for what hosts treat differently: arithmetic of whole numbers (hosts raise an error when their type is too
small, the kernel counts in 64 bits), division and remainder (Spark raises an error at zero, the kernel says
null), and times and intervals (their literals depend on the session's zone).
"""

from __future__ import annotations

from cepheid.graph.operators.project import quote_name
from cepheid.kernel.expression import Call, Cell, Constant, Expression

_COMPARED = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_JOINED = {"and": "AND", "or": "OR"}
_COMPUTED = {"add": "+", "sub": "-", "mul": "*"}


def condition_sql(expression: Expression) -> str | None:
    match expression:
        case Cell(column=column):
            return quote_name(column)
        case Constant():
            return _constant_sql(expression)
        case Call(function="not", arguments=(inner,)):
            return _wrap("NOT ({})", inner)
        case Call(function="is_null", arguments=(inner,)):
            return _wrap("({}) IS NULL", inner)
        case Call(function=function, arguments=arguments) if function in _JOINED:
            return _infix(_JOINED[function], [condition_sql(argument) for argument in arguments])
        case Call(function=function, arguments=arguments) if function in _COMPARED:
            meets_float = any(argument.kind == "float" for argument in arguments)
            return _infix(
                _COMPARED[function],
                [
                    _double_sql(argument) if meets_float and argument.kind == "int" else condition_sql(argument)
                    for argument in arguments
                ],
            )
        case Call(function=function, arguments=arguments, kind="float") if function in _COMPUTED:
            return _infix(_COMPUTED[function], [_double_sql(argument) for argument in arguments])
    return None


def _double_sql(expression: Expression) -> str | None:
    """As a double, whatever the column is: the kernel computes with nothing smaller."""
    sql = condition_sql(expression)
    return sql if sql is None or sql.endswith("AS DOUBLE)") else f"CAST({sql} AS DOUBLE)"


def _infix(operator: str, sides: list[str | None]) -> str | None:
    known = [side for side in sides if side is not None]
    return f"({f' {operator} '.join(known)})" if len(known) == len(sides) else None


def _wrap(template: str, inner: Expression) -> str | None:
    sql = condition_sql(inner)
    return None if sql is None else template.format(sql)


def _constant_sql(constant: Constant) -> str | None:
    value = constant.value
    if value is None or constant.kind in ("time", "duration"):
        return None
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float):
        return f"CAST({value!r} AS DOUBLE)" if value == value and abs(value) != float("inf") else None
    return str(value)
