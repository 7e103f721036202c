"""Values that DuckDB, which Python workers have, computes as Spark SQL does: proved by their types, else refused.

    "a1" > 99 AND "line" = 'X'      numbers with numbers, texts with texts, times with times of one type
    "x" * 2.5                       doubles
    upper("line"), "ts" > '2026'    None: functions, zones and casts differ

Where workers run more than a pattern (direct ingest, chains on streams, conditions of joins) only such values may
stand; `None` as the type of a value means that it is not one of them.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from cepheid.errors import NotSupportedYet, Span
from cepheid.language.expressions.decimals import fits_whole, whole_value
from cepheid.scalars.show import show_scalar
from cepheid.scalars.value import NULL, Column, Literal, Operation, Part, Scalar

_COMPARISONS = ("eq", "neq", "lt", "lte", "gt", "gte")
_MOST_DIGITS = 15
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_DAY = 86400
HINT = "compute it as a column of the DataFrame first; here columns and literals of one type are compared, no more"


def check_worker_sql(value: Scalar | None, schema: pa.Schema, where: str, ansi: bool, span: Span | None = None) -> None:
    """Refuse a value that workers may compute differently."""
    if value is not None and type_in_worker(value, schema, ansi) is None:
        raise NotSupportedYet(f"{show_scalar(value)} in {where} on Spark", span=span, hint=HINT)


def type_in_worker(value: Part, schema: pa.Schema, ansi: bool) -> pa.DataType | None:
    """The type of a value over a table of this schema, if it is the same in DuckDB and in Spark SQL."""
    match value:
        case Column(name=name):
            return schema.field(name).type if name in schema.names else None
        case Literal(is_text=True):
            return pa.string()
        case Literal(text=text):
            return _type_of_number(text)
        case Operation():
            return _type_of_operation(value, schema, ansi)
    return None


def _type_of_number(text: str) -> pa.DataType | None:
    if text.isdigit():
        return pa.int32() if int(text) < 1 << 31 else pa.int64() if int(text) < 1 << 63 else None
    if "e" in text.lower():
        return pa.float64()
    whole, _, behind = text.partition(".")
    digits = len(whole) + len(behind)
    return pa.decimal128(max(digits, 1), len(behind)) if digits <= _MOST_DIGITS else None


def _type_of_operation(value: Operation, schema: pa.Schema, ansi: bool) -> pa.DataType | None:
    def type_of(part: Part) -> pa.DataType | None:
        return type_in_worker(part, schema, ansi)

    this = value.part("this")
    match value.kind:
        case "boolean":
            return pa.bool_()
        case "and" | "or":
            operands = value.part("operands")
            assert isinstance(operands, tuple), "AND and OR have operands"
            return pa.bool_() if all(type_of(operand) == pa.bool_() for operand in operands) else None
        case "not":
            return pa.bool_() if type_of(this) == pa.bool_() else None
        case "is" if value.part("expression") == NULL:
            return pa.bool_() if type_of(this) is not None else None
        case kind if kind in _COMPARISONS:
            return _compared(type_of(this), [type_of(value.part("expression"))])
        case "between" if value.part("symmetric") is None:
            return _compared(type_of(this), [type_of(value.part("low")), type_of(value.part("high"))])
        case "in" if isinstance(options := value.part("expressions"), tuple):
            return _compared(type_of(this), [type_of(option) for option in options])
        case "neg" if isinstance(this, Literal):
            return type_of(this)
        case "add" | "sub" if _is_part_of_a_day(value.part("expression")):
            moved = type_of(this)
            return moved if moved is not None and pa.types.is_timestamp(moved) else None
        case "add" | "sub" | "mul":
            return _computed(type_of(this), type_of(value.part("expression")), ansi)
        case "cast" if _is_whole_of_decimal(value, type_of):
            return pa.int64()
        case "cast" | "trycast" if _names_double(value):
            return pa.float64() if _is_number(type_of(this)) else None
        case "coalesce" | "case" | "if":
            return _chosen(value, type_of)
    return None


def _is_part_of_a_day(part: Part) -> bool:
    """An interval that is the same in any zone: days may have 23 hours."""
    if not isinstance(part, Operation) or part.kind != "interval":
        return False
    amount, unit = part.part("this"), part.part("unit")
    name = unit.part("this") if isinstance(unit, Operation) else None
    seconds = _SECONDS.get(str(name).lower().removesuffix("s"))
    return (
        isinstance(amount, Literal)
        and amount.text.isdigit()
        and seconds is not None
        and (int(amount.text) * seconds < _DAY)
    )


def _is_whole_of_decimal(value: Operation, type_of: Callable[[Part], pa.DataType | None]) -> bool:
    """CAST(price * 100 AS BIGINT) of a DECIMAL(p, 2), as decimals.py writes it: no digit is lost, and none is added."""
    product = value.part("this")
    inner = product.part("this") if isinstance(product, Operation) and product.kind == "mul" else None
    found = type_of(inner) if isinstance(inner, Column) else None
    return found is not None and fits_whole(found) and value == whole_value(inner, found)  # type: ignore[arg-type]


def _names_double(value: Operation) -> bool:
    target = value.part("to")
    return isinstance(target, Operation) and target.kind == "datatype" and target.part("this") == "DOUBLE"


def _is_number(found: pa.DataType | None) -> bool:
    return found is not None and (
        pa.types.is_integer(found) or pa.types.is_decimal(found) or found in (pa.float32(), pa.float64())
    )


def _compared(first: pa.DataType | None, others: list[pa.DataType | None]) -> pa.DataType | None:
    return pa.bool_() if all(_can_compare(first, other) for other in others) else None


def _can_compare(left: pa.DataType | None, right: pa.DataType | None) -> bool:
    if left is None or right is None or pa.types.is_nested(left):
        return False
    if pa.types.is_integer(left) and pa.types.is_integer(right):
        return True
    if pa.float64() in (left, right) and pa.float32() not in (left, right):
        return _is_number(left) and _is_number(right)
    return bool(left == right) and not pa.types.is_binary(left)


def _computed(left: pa.DataType | None, right: pa.DataType | None, ansi: bool) -> pa.DataType | None:
    if pa.float64() in (left, right) and pa.float32() not in (left, right):
        return pa.float64() if _is_number(left) and _is_number(right) else None
    wide = (pa.int32(), pa.int64())
    if ansi and left in wide and right in wide:  # beyond the type both raise an error
        return pa.int64() if pa.int64() in (left, right) else pa.int32()
    return None


def _chosen(value: Operation, type_of: Callable[[Part], pa.DataType | None]) -> pa.DataType | None:
    """CASE, IF, COALESCE of values that have one type already, behind conditions that are the same."""
    if value.kind == "case":
        if value.part("this") is not None:
            return None
        branches = [branch for branch in _as_list(value.part("ifs")) if isinstance(branch, Operation)]
        tests = [branch.part("this") for branch in branches]
        results = [branch.part("true") for branch in branches] + [value.part("default")]
    elif value.kind == "if":
        tests, results = [value.part("this")], [value.part("true"), value.part("false")]
    else:
        tests, results = [], [value.part("this"), *_as_list(value.part("expressions"))]
    types = {type_of(result) for result in results if result is not None and result != NULL}
    same = len(types) == 1 and all(type_of(test) == pa.bool_() for test in tests)
    return types.pop() if same else None


def _as_list(part: Part) -> list[Part]:
    return list(part) if isinstance(part, tuple) else []
