"""A kernel condition about one event as SQL, where SQL surely means the same.

None for what hosts treat differently: division and remainder (Spark raises an error at zero, the kernel says
null), and times and intervals (their literals depend on the session's zone).
"""

from __future__ import annotations

from cepheid.graph.operators.project import quote_name
from cepheid.kernel.expression import Call, Cell, Constant, Expression

_INFIX = {
    "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "AND", "or": "OR",
    "add": "+", "sub": "-", "mul": "*",
}  # fmt: skip


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
        case Call(function=function, arguments=arguments) if function in _INFIX:
            sides = [condition_sql(argument) for argument in arguments]
            if None in sides:
                return None
            return "(" + f" {_INFIX[function]} ".join(side for side in sides if side is not None) + ")"
    return None


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
